"""Hard items: of one system, of all systems, and items on which two systems differ.

A label is right where it is the annotators' majority's. An order that is broken by nothing else
is that of the gold's rows, so it is the same in every run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, Label
from shroom.core.paths import Source
from shroom.core.problems import Problems, ShroomError, UnknownName, nearest
from shroom.evaluation.contest import Contest
from shroom.scoring.datapoint_files import read_files
from shroom.scoring.file_choice import latest
from shroom.scoring.input_files import Document
from shroom.scoring.table import Table

#: What sorts items is rounded to so many digits: 0.8 - 0.2 is to tie with 0.6 - 0.0.
_DIGITS = 9
_LABELS = {1: Label.HALLUCINATION, 0: Label.NOT_HALLUCINATION}


@dataclass(frozen=True)
class Prediction:
    """The prediction of one system for an item.

    Attributes
    ----------
    label : Label
        The predicted label.
    p : float
        The predicted p(Hallucination).
    right : bool
        Whether the label is that of most annotators.
    """

    label: Label
    p: float
    right: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the values for JSON."""
        return {**vars(self), "label": self.label.value}


@dataclass(frozen=True)
class Item:
    """An item with its gold and the predictions of the systems.

    Attributes
    ----------
    row : int
        The place in the gold, from 0.
    id : int, str or None
        The id, where the gold has ids.
    label : Label
        The label that most annotators gave.
    p : float
        The share of annotators whose label is Hallucination, in [0, 1].
    systems : dict of Prediction
        The predictions by the names of the systems.
    point : Datapoint or None
        The texts; ``None`` where they have not been read.
    """

    row: int
    id: int | str | None
    label: Label
    p: float
    systems: dict[str, Prediction]
    point: Datapoint | None = None

    @property
    def difficulty(self) -> float:
        """The share of systems whose label is wrong, in [0, 1]."""
        return sum(not prediction.right for prediction in self.systems.values()) / len(self.systems)

    def to_dict(self) -> dict[str, Any]:
        """Return the values for JSON, without the texts."""
        return {
            "row": self.row,
            "id": self.id,
            "label": self.label.value,
            "p": self.p,
            "difficulty": self.difficulty,
            "systems": {name: prediction.to_dict() for name, prediction in self.systems.items()},
        }


def hardest(contest: Contest, system: str | None = None, n: int | None = None) -> list[Item]:
    """Return the items on which a system, or all of them, are most wrong.

    Wrong labels come before right ones; among either, the items are sorted by how far p is from
    the annotators' proportion, the farthest first. For all systems it is the share of them that
    is wrong, and then the mean distance.

    Parameters
    ----------
    contest : Contest
        One or more systems on one track.
    system : str, optional
        The one to ask about; all by default.
    n : int, optional
        How many items; all by default.

    Raises
    ------
    ShroomError
        If no system has this name.

    Examples
    --------
    >>> from shroom.evaluation.contest import contests, read
    >>> contest = contests(read(["shroom/sample"], "shroom/sample")[0])[0]
    >>> [item.row for item in hardest(contest, "sample", 3)]  # all are right: by the order
    [0, 1, 2]
    """
    systems = contest.systems if system is None else [system]
    distance = np.mean(
        [np.abs(_columns(contest, name)[1] - contest.gold.p) for name in systems], axis=0
    )
    share = np.mean([wrong(contest, name) for name in systems], axis=0)
    rows = _sorted(distance, share, among=np.ones(contest.gold.n, bool))
    return _items(contest, rows[:n])


def unsolved(contest: Contest) -> list[Item]:
    """Return the items whose label no system gets right, those of the surest annotators first.

    Parameters
    ----------
    contest : Contest
        One or more systems on one track.
    """
    p = contest.gold.p
    return _items(contest, _sorted(np.maximum(p, 1 - p), among=difficulty(contest) == 1))


def differing(contest: Contest, a: str, b: str) -> list[Item]:
    """Return the items whose label exactly one of two systems gets right.

    They are sorted by how far the two p are apart, the farthest first.

    Parameters
    ----------
    contest : Contest
        Two or more systems on one track.
    a, b : str
        The two of them.

    Raises
    ------
    ShroomError
        If no system has one of these names, or both are one.
    """
    one_is_right = wrong(contest, a) != wrong(contest, b)
    if a == b:
        raise ShroomError(f"{a}: does not differ from itself; name two systems")
    rows = _sorted(np.abs(_columns(contest, a)[1] - _columns(contest, b)[1]), among=one_is_right)
    return _items(contest, rows)


def difficulty(contest: Contest) -> NDArray[np.float64]:
    """Return the share of systems whose label is wrong, for each item: shape [n], in [0, 1]."""
    return np.asarray(np.mean([wrong(contest, name) for name in contest.systems], axis=0))


def wrong(contest: Contest, system: str) -> NDArray[np.bool_]:
    """Return whether a system's label is not the annotators', for each item: shape [n].

    Raises
    ------
    ShroomError
        If no system has this name.
    """
    label, _, gold_label, _ = _columns(contest, system)
    return np.asarray(label != gold_label)


def _columns(contest: Contest, system: str) -> tuple[NDArray[Any], ...]:
    if system not in contest.tracks:
        raise UnknownName(
            f"{system}: no system has this name on {contest.name}; there are "
            f"{', '.join(contest.systems)};{nearest(system, contest.systems)}".rstrip(";")
        )
    return contest.tracks[system].columns


def _sorted(*values: NDArray[np.float64], among: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the rows of ``among`` by falling values, by the last ones first; ties by row."""
    rows = np.flatnonzero(among)
    falling = [-value[rows].round(_DIGITS) for value in values]
    return np.asarray(rows[np.lexsort([rows, *falling])])


def _items(contest: Contest, rows: NDArray[np.intp]) -> list[Item]:
    gold = contest.gold
    predictions = {}
    for system, track in contest.tracks.items():
        columns = (column[rows].tolist() for column in track.columns[:3])
        predictions[system] = [Prediction(_LABELS[a], p, a == b) for a, p, b in zip(*columns)]
    return [
        Item(
            row,
            gold.id_at(row),
            _LABELS[int(gold.label[row])],
            float(gold.p[row]),
            {system: of_system[place] for system, of_system in predictions.items()},
        )
        for place, row in enumerate(rows.tolist())
    ]


def with_texts(items: list[Item], points: list[Datapoint]) -> list[Item]:
    """Return items with their texts, from the datapoints of all items of the gold."""
    return [replace(item, point=points[item.row]) for item in items]


def datapoints(contest: Contest, source: Source) -> list[Datapoint]:
    """Return the datapoints of a contest's items, in the order of its gold.

    Parameters
    ----------
    contest : Contest
        Contest of the items.
    source : path
        The gold itself, or the data that it was made from: a file, a folder or a zip. Of several
        files, the gold's own is read, else the one of its split and track.

    Raises
    ------
    InvalidInput
        With every problem, if the rows have no texts or have errors.
    ShroomError
        If the rows are not those of the gold.

    Examples
    --------
    >>> from shroom.evaluation.contest import contests, read
    >>> contest = contests(read(["shroom/sample"], "shroom/sample")[0])[0]
    >>> datapoints(contest, "shroom/sample")[2].task.name
    'TS'
    """
    files = read_files(source, choose=lambda documents: _chosen(contest, documents))
    if not files:
        raise ShroomError(f"{source}: has no file of {contest.name}, for the texts of its items")
    points = _aligned(files[0].datapoints, contest.gold, source)
    pairs = zip(points, contest.gold.p.tolist())
    if any(point.p is not None and point.p != p for point, p in pairs):
        raise ShroomError(
            f"{source}: has other p(Hallucination) than {contest.gold.file}, so these are other "
            "items; name the data that the gold is of"
        )
    return points


def _aligned(points: list[Datapoint], gold: Table, source: Source) -> list[Datapoint]:
    """Return the datapoints in the order of the gold: by id where both have ids, else as it is."""
    if gold.ids is not None and all(point.id is not None for point in points):
        by_id = {point.id: point for point in points}
        missing = [number for number in gold.ids.tolist() if number not in by_id]
        if missing:
            raise ShroomError(
                f"{source}: has no texts for {len(missing)} ids of {gold.file}, such as "
                f"{missing[0]}; name the data that the gold is of"
            )
        return [by_id[number] for number in gold.ids.tolist()]
    if len(points) != gold.n:
        raise ShroomError(
            f"{source}: has {len(points)} items, but {gold.file} has {gold.n}; name the data that "
            "the gold is of"
        )
    return points


def _chosen(contest: Contest, documents: list[Document]) -> list[Document]:
    gold_documents = [document for document in documents if document.file == contest.gold.file]
    if gold_documents or len(documents) == 1:
        return gold_documents or documents
    fitting = latest(documents, Problems()).get((contest.name.split, contest.name.track))
    return [] if fitting is None else [fitting]
