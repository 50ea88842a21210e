"""Groups of items: slices by keys of the gold or by agreement, and units of dependent items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.problems import Problems, ShroomError, nearest, printable
from shroom.metrics.cluster_bootstrap import places
from shroom.metrics.correlation import levels
from shroom.metrics.intervals import Intervals
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_choice import latest
from shroom.scoring.input_files import Document
from shroom.scoring.rows import SLICES, Group, Role, Rows

#: The slice of the items without a value for a key that is not among these.
NONE = "none"
#: The maximum number of values of a key to slice by.
MAX_VALUES = 50

#: With more annotators, p would slice the items too finely.
MAX_VOTES = 10


def slice_keys(by: str | Sequence[str]) -> tuple[str, ...]:
    """Return the keys to slice by as a tuple."""
    return (by,) if isinstance(by, str) else tuple(by)


def add_groups(gold: Rows, items: Sequence[Any], by: Sequence[str]) -> None:
    """Add groups by other keys of the gold, whose values are strings, numbers or booleans."""
    kept = range(len(items)) if gold.places is None else gold.places
    rows = [items[place] if isinstance(items[place], dict) else {} for place in kept]
    gold.keys = tuple(dict.fromkeys(key for row in rows for key in row))
    for key in by:
        words = [_word(row.get(key)) for row in rows]
        if any(words):
            gold.groups[key] = Group.of([word or NONE for word in words])


def _word(value: object) -> str:
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    return value if isinstance(value, str) else ""


def group_of(gold: Rows, key: str) -> Group | None:
    """Return the groups by a key; ``None`` if the gold does not have it."""
    if key == "agreement":
        return agreement(gold)
    group = gold.groups.get(key)
    if group and key not in SLICES and len(group.words) > MAX_VALUES:
        raise ShroomError(
            f"{printable(gold.file)}: '{printable(key)}' has {len(group.words)} values, too many "
            f"for slices; choose a key with at most {MAX_VALUES} values"
        )
    return group if group and any(group.words) else None


def missing(gold: Rows, asked: Sequence[str]) -> dict[str, str]:
    """Return a sentence for each requested key by which the items cannot be sliced."""
    sentences = {}
    for key in (key for key in asked if group_of(gold, key) is None):
        name, near = printable(key), ""
        if key == "agreement":
            share = f"a share of {MAX_VOTES} or fewer votes"
            why = f"in some items, p(Hallucination) cannot be {share}"
        elif key in gold.keys:
            why = f"{name} is not a string, a number or a boolean"
        else:
            why, near = f"no item has {name}", nearest(key, gold.keys)
        none = f"{printable(gold.file)}: {why}, so there are no slices by {name}"
        sentences[key] = f"{none};{near}" if near else none
    return sentences


def agreement(gold: Rows) -> Group | None:
    """Return the items by the share of annotators in the majority; 1.0 is unanimous."""
    # p must be a share of up to ``MAX_VOTES`` votes; a model's p has a value for each item.
    if gold.p.dtype.kind != "f" or np.isnan(gold.p).any():
        return None
    shares = np.maximum(gold.p, 1 - gold.p).round(3)
    place = levels(shares)
    distinct = np.empty(int(place.max()) + 1)
    distinct[place] = shares
    votes = np.arange(1, MAX_VOTES + 1)
    counts = np.outer(distinct, votes)
    distance = np.min(np.abs(counts.round() - counts) / votes, axis=1)
    rounding = np.where(distinct == distinct.round(2), 0.005, 0.0005)
    if np.any(distance > rounding + 1e-9):
        return None
    return Group([repr(share) for share in distinct.tolist()], place)


# Items of a unit, such as answers to the same question, are not independent, so intervals and
# paired tests resample whole units.


def unit_of(gold: Rows, edition: Edition) -> NDArray[np.intp] | None:
    """Return the unit of each item, from 0; ``None`` if every item is its own unit."""
    group = gold.groups.get(edition.item.unit) if edition.item.unit else None
    if group is None:
        return None
    words = (group.words[place] for place in group.place.tolist())
    # An item without a value is its own unit.
    units = places([row if word == NONE else word for row, word in enumerate(words)])
    return units if len(units) and int(units.max()) + 1 < len(units) else None


def add_keys(
    gold: Rows, document: Document, by: Sequence[str], others: Sequence[Document], edition: Edition
) -> None:
    """Add groups by other keys and by units to gold, from its rows or its data file."""
    key = edition.item.unit
    add_groups(gold, document.items(Problems(None)) or [], [*by, *([key] if key else [])])
    if not key or key in gold.groups:
        return
    name = edition.guess(document.base)
    if gold.ids is None or name is None or not edition.files.data:
        return
    if isinstance(document.content, Path) and not document.member:
        paths = sorted(document.content.parent.iterdir())
        others = [
            Document(str(it), it.name, it, names=document.names) for it in paths if it.is_file()
        ]
    data = latest(list(others), Problems(), edition, Role.DATA).get(name.key)
    rows = None if data is None else data.items(Problems(), edition.item)
    by_id = {row.get(edition.item.id_key): row for row in rows or () if isinstance(row, dict)}
    keys = gold.keys
    add_groups(gold, [by_id.get(it) for it in gold.ids.tolist()], (key,))
    gold.keys = keys  # messages only list keys of the gold itself


def with_unit(intervals: Intervals, golds: Iterable[Rows], edition: Edition) -> Intervals:
    """Return settings with the edition's units, or with the key of missing units."""
    key, golds = edition.item.unit, list(golds)
    return replace(
        intervals,
        unit=key if any(unit_of(gold, edition) is not None for gold in golds) else "",
        missing_unit=key if any(missing_units(gold, edition) for gold in golds) else "",
    )


def share_items(golds: Iterable[Rows], edition: Edition) -> bool:
    """Return whether several golds share an id, a text or a unit, as languages may."""
    seen: set[object] = set()
    for gold in golds:
        units = gold.groups.get(edition.item.unit)
        own: set[object] = set() if gold.ids is None else set(gold.ids.tolist())
        own |= {text for texts in gold.texts or () for text in texts if text}
        own |= {("unit", word) for word in units.words if word != NONE} if units else set()
        if seen & own:
            return True
        seen |= own
    return False


def missing_units(gold: Rows, edition: Edition) -> str:
    """Return a sentence if the gold lacks the edition's units; otherwise nothing."""
    key = edition.item.unit
    if not key or key in gold.groups:
        return ""
    return (
        f"{printable(gold.file)}: no item has {printable(key)}, so the intervals treat the items "
        "as independent; put the data file next to the gold"
    )
