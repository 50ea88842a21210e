"""Slices of items by keys of the gold, and by the annotators' agreement."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from shroom.core.problems import ShroomError, nearest, printable
from shroom.metrics.correlation import levels
from shroom.scoring.rows import GROUPS, Group, Rows

#: Default keys to slice scores by.
SLICES = (*GROUPS, "agreement")
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
    places = range(len(items)) if gold.places is None else gold.places
    rows = [items[place] if isinstance(items[place], dict) else {} for place in places]
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
    no_votes = f"in some items, p(Hallucination) is not a fraction of {MAX_VOTES} or fewer votes"
    sentences = {}
    for key in asked:
        if group_of(gold, key) is None:
            name, near = printable(key), ""
            if key == "agreement":
                why = no_votes
            elif key in gold.keys:
                why = f"{name} is neither a string, a number nor a boolean"
            else:
                why, near = f"no item has {name}", nearest(key, gold.keys)
            sentences[key] = f"{printable(gold.file)}: {why}, so there are no slices by {name}" + (
                f";{near}" if near else ""
            )
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
    nearest = np.min(np.abs(counts.round() - counts) / votes, axis=1)
    rounding = np.where(distinct == distinct.round(2), 0.005, 0.0005)
    if np.any(nearest > rounding + 1e-9):
        return None
    return Group([repr(share) for share in distinct.tolist()], place)
