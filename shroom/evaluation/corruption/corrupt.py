"""Corruption of faithful items by several methods, and the rows of a data set with both.

Conv-FEVER: Santhanam et al. (2021), "Rome was built in 1776".
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from shroom.core.datapoint import Datapoint, Label
from shroom.core.extras import require
from shroom.core.problems import ShroomError
from shroom.core.registry import Entry, Registry
from shroom.evaluation.corruption.items import Edit, Item, Pool, draws, normalised
from shroom.scoring.in_memory import row_of
from shroom.scoring.tables import Table

#: The method that does not depend on the language.
ANY_LANGUAGE = "pairing"
#: A method is a function from an item and the pool to the edits of the item's hypothesis.
METHODS = Registry(
    "method",
    {ANY_LANGUAGE: Entry("shroom.evaluation.corruption.corrupt:pairing")}
    | {
        name: Entry(f"shroom.evaluation.corruption.{name}:edits")
        for name in ("entity", "number", "negation")
    },
)
#: The largest p of a faithful datapoint: at most one of five annotators objects.
_MAX_P = 0.2
#: The largest ratio of the lengths of a pairing; a larger one would give the corruption away.
_MAX_RATIO = 1.5
#: The largest share of its content words that may be in the item's own texts.
_MAX_OVERLAP = 0.2
#: The largest share of the premise's content words that the other premise may contain.
_MAX_PREMISE_OVERLAP = 0.5
#: The number of items that are tried; if none fits, more are unlikely to help.
_REACH = 1000


@dataclass(frozen=True)
class Corruption:
    """A corrupted datapoint; undoing ``edit`` restores the faithful one."""

    method: str
    edit: Edit
    datapoint: Datapoint


def is_faithful(point: Datapoint, *, assume_faithful: bool = False) -> bool:
    """Return whether a datapoint has texts and is known to be faithful."""
    if not point.hyp.strip() or not (point.src.strip() or point.tgt.strip()):
        return False
    if point.label is None and point.p is None:
        return assume_faithful
    return point.label is not Label.HALLUCINATION and (point.p is None or point.p <= _MAX_P)


def corruptions(
    items: Sequence[Item], methods: Sequence[str], seed: int, *, even: bool
) -> list[list[Corruption]]:
    """Return the corruptions of each item, one by each method, or with ``even`` one at most.

    A draw depends only on the seed and the texts.
    """
    chosen = {name: METHODS.load(name) for name in methods}
    if chosen.keys() - {ANY_LANGUAGE}:
        require("data", "num2words", "text2num")
    pool = Pool(items, seed)
    corrupted = []
    for item in items:
        of_item = []
        for name, edits in chosen.items():
            if name != ANY_LANGUAGE and not item.is_english:
                continue
            fitting = [edit for edit in edits(item, pool) if _changes(edit, item, pool)]
            if fitting:
                edit = draws(seed, name, *item.key).choice(fitting)
                hyp, label = edit.apply(item.hyp), Label.HALLUCINATION
                point = replace(item.point, hyp=hyp, id=None, labels=(), label=label, p=1.0)
                of_item.append(Corruption(name, edit, point))
        if even and of_item:
            of_item = [draws(seed, "method", *item.key).choice(of_item)]
        corrupted.append(of_item)
    return corrupted


def _changes(edit: Edit, item: Item, pool: Pool) -> bool:
    hyp = edit.apply(item.hyp)
    is_new = normalised(hyp) not in ("", normalised(item.hyp))
    return is_new and not pool.is_faithful(item, hyp)


def pairing(item: Item, pool: Pool) -> list[Edit]:
    """Return the edit to the hypothesis of another item of the same task and similar length."""
    others = pool.by_task[item.point.task.name]
    start = draws(pool.seed, *item.key).randrange(len(others))
    for place in range(start, start + min(_REACH, len(others))):
        other = others[place % len(others)]
        if _fits(item, other) and not pool.is_faithful(item, other.hyp):
            return [Edit(0, len(item.hyp), item.hyp, other.hyp)]
    return []


def _fits(item: Item, other: Item) -> bool:
    length, other_length = len(item.tokens), len(other.tokens)
    if not length <= _MAX_RATIO * other_length <= _MAX_RATIO**2 * length:
        return False
    if not other.content or _share(other.content, item.vocabulary) > _MAX_OVERLAP:
        return False
    about = item.premise_content
    return not about or _share(about, other.premise_content) <= _MAX_PREMISE_OVERLAP


def _share(some: frozenset[str], among: frozenset[str]) -> float:
    return len(some & among) / len(some)


@dataclass(frozen=True)
class CorruptedData:
    """The rows of faithful items, each followed by its corrupted versions, and their numbers."""

    rows: list[dict[str, Any]]
    items: int
    faithful: int
    by_method: dict[str, int]
    seed: int

    @property
    def inconsistent(self) -> int:
        return sum(self.by_method.values())

    @property
    def kept(self) -> int:
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
    items: Sequence[Item], methods: Sequence[str], seed: int, *, even: bool, assume_faithful: bool
) -> CorruptedData:
    """Return the faithful ones of some items with their corrupted versions.

    With ``even``, only items that can be corrupted are kept, each with one of its corruptions.
    """
    faithful = [item for item in items if is_faithful(item.point, assume_faithful=assume_faithful)]
    if not faithful:
        unlabelled = sum(item.point.p is None and item.point.label is None for item in items)
        way_out = "choose data whose hypotheses are supported by their premises"
        if unlabelled and not assume_faithful:
            use = f"use the unlabelled items ({unlabelled}) as faithful items"
            way_out = f"to {use}, add --assume-faithful"
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
            rows.append(_row(item, item.point, None, None))
        rows += [_row(item, one.datapoint, one.method, asdict(one.edit)) for one in of_item]
    by_method = {name: counts[name] for name in methods}
    return CorruptedData(rows, len(items), len(faithful), by_method, seed)


def _row(item: Item, point: Datapoint, method: str | None, edit: Any) -> dict[str, Any]:
    """Return a datapoint in SHROOM's form, without an id, because two rows cannot share one."""
    p = 0.0 if point.p is None else point.p
    label = point.label or (Label.HALLUCINATION if p > 0.5 else Label.NOT_HALLUCINATION)
    place = {"file": item.file, "index": item.index, "id": item.point.id}
    corruption = {"method": method, "edit": edit, "of": place}
    return {**row_of(replace(point, id=None, label=label, p=p)), "corruption": corruption}
