"""Faithful items with their corrupted versions, as the rows of a data set."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from shroom.core.datapoint import Datapoint, Label
from shroom.core.problems import ShroomError
from shroom.evaluation.corruption.corrupt import (
    MAX_P,
    METHODS,
    Corruption,
    balanced,
    corruptions,
    is_faithful,
)
from shroom.evaluation.corruption.items import Item
from shroom.evaluation.corruption.reading import InputFile
from shroom.scoring.in_memory import row_of
from shroom.scoring.result import Result
from shroom.scoring.tables import Table


@dataclass(frozen=True, repr=False)
class CorruptedData(Result):
    """Faithful items, each followed by its corrupted versions, and how many there are.

    Attributes
    ----------
    rows : list of dict
        The items in SHROOM's form; ``corruption`` records the method, the edit and the origin.
    items, faithful, foreign : int
        The numbers of all items, of faithful ones, and of those that seem not to be English.
    by_method : dict of int
        The number of corrupted items of each method.
    seed : int
        Random seed for the corruptions.
    """

    rows: list[dict[str, Any]]
    items: int
    faithful: int
    foreign: int
    by_method: dict[str, int]
    seed: int
    keys = ("items", "faithful", "kept", "seed", "inconsistent", "by_method")

    def __repr__(self) -> str:
        return f"CorruptedData({self.kept} faithful, {self.inconsistent} inconsistent)"

    @property
    def inconsistent(self) -> int:
        """Number of corrupted items."""
        return sum(self.by_method.values())

    @property
    def kept(self) -> int:
        """Number of faithful items that are written."""
        return len(self.rows) - self.inconsistent

    def tables(self) -> list[Table]:
        rows = [*self.by_method.items(), None, ("all", self.inconsistent)]
        settings = f"seed {self.seed}; faithful items: {self.faithful} of {self.items}"
        return [Table(heads=("method", "corrupted"), rows=rows), Table(notes=[settings])]

    @property
    def text(self) -> str:
        """The rows as a JSON list, one row per line."""
        return "[\n" + ",\n".join(map(json.dumps, self.rows)) + "\n]\n"


def corrupted_data(
    files: Sequence[InputFile],
    methods: Sequence[str] = tuple(METHODS),
    seed: int = 0,
    *,
    even: bool = False,
    max_p: float = MAX_P,
    assume_faithful: bool = False,
) -> CorruptedData:
    """Return the faithful items of files with their corrupted versions.

    Parameters
    ----------
    files : sequence of InputFile
        See :func:`shroom.evaluation.corruption.reading.read`.
    methods : sequence of str
        Names of :data:`~shroom.evaluation.corruption.corrupt.METHODS`.
    seed : int
        Random seed for the corruptions.
    even : bool
        Whether to keep only items that can be corrupted, each with one of its corruptions.
    max_p : float
        Largest p of an item that counts as faithful.
    assume_faithful : bool
        Whether unlabelled items count as faithful.

    Raises
    ------
    ShroomError
        If no item is faithful, or none can be corrupted.
    """
    every = [
        (point, knowledge, {"file": file.base, "index": index, "id": point.id})
        for file in files
        for index, (point, knowledge) in enumerate(zip(file.datapoints, file.knowledge))
    ]
    faithful = [
        one for one in every if is_faithful(one[0], max_p=max_p, assume_faithful=assume_faithful)
    ]
    if not faithful:
        unlabelled = sum(point.p is None and point.label is None for point, _, _ in every)
        way_out = (
            f"to use the unlabelled items ({unlabelled}) as faithful items, add --assume-faithful"
            if unlabelled and not assume_faithful
            else "choose data whose hypotheses are supported by their premises, or raise --max-p"
        )
        raise ShroomError(f"none of the {len(every)} items is known to be faithful; {way_out}")
    points, knowledge, origins = map(list, zip(*faithful))
    corrupted = corruptions(points, methods, seed, knowledge=knowledge)
    if not corrupted:
        raise ShroomError(
            f"none of the {len(points)} faithful items can be corrupted by "
            f"{' or '.join(methods)}; choose other methods or other data"
        )
    if even:
        corrupted = balanced(corrupted, points, seed)
    counts = Counter(corruption.method for corruption in corrupted)
    return CorruptedData(
        _rows(points, origins, corrupted, even=even),
        len(every),
        len(points),
        sum(not Item(point).is_english for point in points),
        {name: counts[name] for name in methods},
        seed,
    )


def _rows(
    points: Sequence[Datapoint],
    origins: Sequence[dict[str, Any]],
    corrupted: Sequence[Corruption],
    *,
    even: bool,
) -> list[dict[str, Any]]:
    of_item: dict[int, list[Corruption]] = defaultdict(list)
    for corruption in corrupted:
        of_item[corruption.of].append(corruption)
    rows = []
    for place, (point, origin) in enumerate(zip(points, origins)):
        if place not in of_item and even:
            continue
        rows.append(_row(point, {"method": None, "edit": None, "of": origin}))
        for one in of_item.get(place, []):
            record = {"method": one.method, "edit": asdict(one.edit), "of": origin}
            rows.append(_row(one.datapoint, record))
    return rows


def _row(point: Datapoint, corruption: dict[str, Any]) -> dict[str, Any]:
    """Return a datapoint in SHROOM's form, without an id, because two rows cannot share one."""
    p = 0.0 if point.p is None else point.p
    label = point.label or (Label.HALLUCINATION if p > 0.5 else Label.NOT_HALLUCINATION)
    return {**row_of(replace(point, id=None, label=label, p=p)), "corruption": corruption}
