"""Corruption of faithful items by several methods.

Conv-FEVER: Santhanam et al. (2021), "Rome was built in 1776".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shroom.core.datapoint import Datapoint, Label
from shroom.core.extras import require
from shroom.core.registry import Entry, Registry
from shroom.evaluation.corruption.items import Edit, Item, Pool, draws, normalised

#: A method is a function from an item and the pool to the edits of the item's hypothesis.
METHODS = Registry(
    "method",
    {
        name: Entry(f"shroom.evaluation.corruption.{name}:edits")
        for name in ("pairing", "entity", "number", "negation")
    },
)
#: The method that does not depend on the language.
ANY_LANGUAGE = "pairing"
#: The largest p of a faithful datapoint: at most one of five annotators objects.
MAX_P = 0.2


@dataclass(frozen=True)
class Corruption:
    """A corrupted datapoint; undoing ``edit`` restores the faithful one."""

    method: str
    edit: Edit
    datapoint: Datapoint


def is_faithful(point: Datapoint, *, max_p: float = MAX_P, assume_faithful: bool = False) -> bool:
    """Return whether a datapoint has texts and is known to be faithful."""
    if not point.hyp.strip() or not (point.src.strip() or point.tgt.strip()):
        return False
    if point.label is None and point.p is None:
        return assume_faithful
    return point.label is not Label.HALLUCINATION and (point.p is None or point.p <= max_p)


def corruptions(
    items: Sequence[Item],
    methods: Sequence[str] = tuple(METHODS),
    seed: int = 0,
    *,
    even: bool = False,
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
    same = normalised(hyp) == normalised(item.hyp)
    return bool(hyp.strip()) and not same and not pool.is_faithful(item, hyp)
