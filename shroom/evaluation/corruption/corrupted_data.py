"""Faithful items with their corrupted versions, as the rows of a data set."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from shroom.core.datapoint import Datapoint, Label
from shroom.core.problems import ShroomError
from shroom.evaluation.corruption.corrupt import MAX_P, METHODS, corruptions, is_faithful
from shroom.evaluation.corruption.items import Edit, Item
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
    items: Sequence[Item],
    methods: Sequence[str] = tuple(METHODS),
    seed: int = 0,
    *,
    even: bool = False,
    max_p: float = MAX_P,
    assume_faithful: bool = False,
) -> CorruptedData:
    """Return the faithful ones of some items with their corrupted versions.

    Parameters
    ----------
    items : sequence of Item
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
    is_kept = partial(is_faithful, max_p=max_p, assume_faithful=assume_faithful)
    faithful = [item for item in items if is_kept(item.point)]
    if not faithful:
        unlabelled = sum(item.point.p is None and item.point.label is None for item in items)
        way_out = (
            f"to use the unlabelled items ({unlabelled}) as faithful items, add --assume-faithful"
            if unlabelled and not assume_faithful
            else "choose data whose hypotheses are supported by their premises, or raise --max-p"
        )
        raise ShroomError(f"none of the {len(items)} items is known to be faithful; {way_out}")
    corrupted = corruptions(faithful, methods, seed, even=even)
    counts = Counter(one.method for of_item in corrupted for one in of_item)
    if not counts:
        raise ShroomError(
            f"none of the {len(faithful)} faithful items can be corrupted by "
            f"{' or '.join(methods)}; choose other methods or other data"
        )
    rows = []
    for item, of_item in zip(faithful, corrupted):
        if of_item or not even:
            rows.append(_row(item, item.point))
        rows += [_row(item, one.datapoint, one.method, one.edit) for one in of_item]
    return CorruptedData(
        rows,
        len(items),
        len(faithful),
        sum(not item.is_english for item in faithful),
        {name: counts[name] for name in methods},
        seed,
    )


def _row(
    origin: Item, point: Datapoint, method: str | None = None, edit: Edit | None = None
) -> dict[str, Any]:
    """Return a datapoint in SHROOM's form, without an id, because two rows cannot share one."""
    p = 0.0 if point.p is None else point.p
    label = point.label or (Label.HALLUCINATION if p > 0.5 else Label.NOT_HALLUCINATION)
    place = {"file": origin.file, "index": origin.index, "id": origin.point.id}
    corruption = {"method": method, "edit": edit and asdict(edit), "of": place}
    return {**row_of(replace(point, id=None, label=label, p=p)), "corruption": corruption}
