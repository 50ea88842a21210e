"""Pairing with the hypothesis of another item of the same task and similar length."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from shroom.evaluation.corruption.items import Edit, Item, Pool, draws

#: The largest ratio of lengths; a larger one would give the corruption away.
MAX_RATIO = 1.5
#: The largest share of its content words that may be in the item's own texts.
MAX_OVERLAP = 0.2
#: The largest share of the premise's content words that the other premise may contain.
MAX_PREMISE_OVERLAP = 0.5
#: The number of items that are tried; if none fits, more are unlikely to help.
REACH = 1000


def edits(item: Item, pool: Pool) -> list[Edit]:
    """Return the edit that replaces the hypothesis by that of another item."""
    for other in islice(_others(item, pool), REACH):
        if _fits(item, other) and not pool.is_faithful(item, other.hyp):
            return [Edit(0, len(item.hyp), item.hyp, other.hyp)]
    return []


def _others(item: Item, pool: Pool) -> Iterator[Item]:
    """Yield the items of the same task, starting at a random place."""
    items = pool.by_task[item.point.task.name]
    start = draws(pool.seed, *item.key).randrange(len(items))
    yield from islice(items, start, None)
    yield from islice(items, start)


def _fits(item: Item, other: Item) -> bool:
    length, other_length = len(item.tokens), len(other.tokens)
    if not length <= MAX_RATIO * other_length <= MAX_RATIO**2 * length:
        return False
    if not other.content or _share(other.content, item.vocabulary) > MAX_OVERLAP:
        return False
    about = item.premise_content
    return not about or _share(about, other.premise_content) <= MAX_PREMISE_OVERLAP


def _share(some: frozenset[str], among: frozenset[str]) -> float:
    return len(some & among) / len(some)
