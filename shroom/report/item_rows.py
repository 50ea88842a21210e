"""One row per item of the gold, with the predictions of all systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shroom.evaluation.board import Board, items
from shroom.scoring.result import alike
from shroom.scoring.tables import as_csv


def item_rows(boards: Sequence[Board]) -> list[dict[str, Any]]:
    """Return a row for each item of each track, in the order of the gold."""
    return [item for board in boards for item in items(board)]


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
