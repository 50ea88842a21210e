"""Corruption of faithful datapoints by several methods.

Conv-FEVER: Santhanam et al. (2021), "Rome was built in 1776".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shroom.core.datapoint import Datapoint, Label
from shroom.core.extras import require
from shroom.core.registry import Entry, Registry
from shroom.evaluation.corruption.items import Edit, Item, draws, normalised
from shroom.evaluation.corruption.pool import Pool

#: A method is a function from an item and the pool to the edits of the item's hypothesis.
METHODS = Registry(
    "method",
    {
        "pairing": Entry("shroom.evaluation.corruption.pairing:edits"),
        "entity": Entry("shroom.evaluation.corruption.entity:edits"),
        "number": Entry("shroom.evaluation.corruption.number:edits"),
        "negation": Entry("shroom.evaluation.corruption.negation:edits"),
    },
)
#: The method that does not depend on the language.
ANY_LANGUAGE = "pairing"
#: The largest p of a faithful datapoint: at most one of five annotators objects.
MAX_P = 0.2


@dataclass(frozen=True)
class Corruption:
    """A corrupted datapoint; undoing ``edit`` restores the faithful one."""

    of: int
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
    datapoints: Sequence[Datapoint],
    methods: Sequence[str] = tuple(METHODS),
    seed: int = 0,
    *,
    knowledge: Sequence[str] = (),
) -> list[Corruption]:
    """Return the corruptions by each method; a draw depends only on the seed and the texts."""
    chosen = {name: METHODS.load(name) for name in methods}
    if chosen.keys() - {ANY_LANGUAGE}:
        require("data", "num2words", "text2num")
    texts = knowledge or [""] * len(datapoints)
    items = [Item(point, text) for point, text in zip(datapoints, texts)]
    pool = Pool(items, seed)
    corrupted = []
    for place, item in enumerate(items):
        for name, edits in chosen.items():
            if name != ANY_LANGUAGE and not item.is_english:
                continue
            fitting = [edit for edit in edits(item, pool) if _changes(edit, item, pool)]
            if fitting:
                edit = draws(seed, name, *item.key).choice(fitting)
                datapoint = replace(
                    item.point,
                    hyp=edit.apply(item.hyp),
                    id=None,
                    labels=(),
                    label=Label.HALLUCINATION,
                    p=1.0,
                )
                corrupted.append(Corruption(place, name, edit, datapoint))
    return corrupted


def balanced(
    corrupted: Sequence[Corruption], datapoints: Sequence[Datapoint], seed: int = 0
) -> list[Corruption]:
    """Return one randomly drawn corruption of each datapoint that has any."""
    by_datapoint: dict[int, list[Corruption]] = {}
    for corruption in corrupted:
        by_datapoint.setdefault(corruption.of, []).append(corruption)
    return [
        draws(seed, "method", *Item(datapoints[place]).key).choice(choices)
        for place, choices in by_datapoint.items()
    ]


def _changes(edit: Edit, item: Item, pool: Pool) -> bool:
    hyp = edit.apply(item.hyp)
    same = normalised(hyp) == normalised(item.hyp)
    return bool(hyp.strip()) and not same and not pool.is_faithful(item, hyp)
