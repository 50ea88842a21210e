"""Items sorted by difficulty; ties keep the order of the gold."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, Label
from shroom.core.paths import Source
from shroom.evaluation.board import Board
from shroom.scoring.datapoint_files import read_files
from shroom.scoring.input_files import Document

#: Digits of the sort keys, so that 0.8 - 0.2 ties with 0.6 - 0.0.
_DIGITS = 9
_LABELS = {1: Label.HALLUCINATION, 0: Label.NOT_HALLUCINATION}


@dataclass(frozen=True)
class Prediction:
    """One system's prediction for an item."""

    label: Label
    p: float
    right: bool


@dataclass(frozen=True)
class Item:
    """An item with its gold and the predictions of the systems by name."""

    row: int
    id: int | str | None
    label: Label
    p: float
    task: str
    systems: dict[str, Prediction]
    point: Datapoint | None = None

    @property
    def difficulty(self) -> float:
        """The share of systems whose label is wrong, in [0, 1]."""
        return sum(not prediction.right for prediction in self.systems.values()) / len(self.systems)


def hardest(board: Board, n: int | None = None) -> list[Item]:
    """Return items by the number of systems with a wrong label, then by the error of p."""
    columns = [track.columns for track in board.tracks.values()]
    share = np.mean([label != gold_label for label, _, gold_label, _ in columns], axis=0)
    distance = np.mean([np.abs(p - gold_p) for _, p, _, gold_p in columns], axis=0)
    rows = np.lexsort((-distance.round(_DIGITS), -share.round(_DIGITS)))  # it is stable
    return _items(board, rows[:n])


def every_item(board: Board) -> list[Item]:
    """Return all items of a board, in the order of the gold."""
    return _items(board, np.arange(board.gold.n))


def _items(board: Board, rows: NDArray[np.intp]) -> list[Item]:
    gold = board.gold
    tasks = gold.groups.get("task")
    predictions = {}
    for system, track in board.tracks.items():
        columns = (column[rows].tolist() for column in track.columns[:3])
        predictions[system] = [Prediction(_LABELS[a], p, a == b) for a, p, b in zip(*columns)]
    return [
        Item(
            row,
            gold.id_at(row),
            _LABELS[int(gold.label[row])],
            float(gold.p[row]),
            tasks.words[tasks.place[row]] if tasks else "",
            {system: of_system[place] for system, of_system in predictions.items()},
        )
        for place, row in enumerate(rows.tolist())
    ]


def with_texts(items: list[Item], board: Board, gold: Source) -> list[Item]:
    """Return items of a board with their texts, which are read from its gold."""

    def own(documents: list[Document]) -> list[Document]:
        files = [document for document in documents if document.file == board.gold.file]
        return files or documents[:1]

    points = read_files(gold, choose=own)[0].datapoints
    return [replace(item, point=points[item.row]) for item in items]
