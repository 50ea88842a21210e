"""One row per item of the gold, with the predictions of all systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shroom.evaluation.board import Board, Item, every_item
from shroom.scoring.result import alike
from shroom.scoring.tables import as_csv


def item_rows(boards: Sequence[Board]) -> list[dict[str, Any]]:
    """Return a row for each item of each track, in the order of the gold."""
    return [_row(board, item) for board in boards for item in every_item(board)]


def _row(board: Board, item: Item) -> dict[str, Any]:
    return {
        "split": board.name.split,
        "track": board.name.track,
        "row": item.row,
        "id": item.id,
        "task": item.task,
        "gold_label": item.label.value,
        "gold_p": item.p,
        "difficulty": item.difficulty,
        "systems": {
            name: {
                "label": prediction.label.value,
                "p": prediction.p,
                "right": prediction.right,
                "in_sample": board.tracks[name].in_sample,
            }
            for name, prediction in item.systems.items()
        },
    }


def to_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows as CSV, with a column for each value of each system."""
    flat = []
    for row in rows:
        plain = {key: value for key, value in row.items() if key != "systems"}
        for name, prediction in row["systems"].items():
            values = {**prediction, "right": int(prediction["right"])}
            plain |= {f"{name} {key}": value for key, value in values.items()}
        flat.append(plain)
    table = alike(flat)
    return as_csv([[*table[0]], *([*row.values()] for row in table)])
