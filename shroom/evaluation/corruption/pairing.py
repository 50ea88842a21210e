"""Pairing: the hypothesis of another item, of the same task and of about the same length."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from shroom.evaluation.corruption.items import Edit, Item, draws
from shroom.evaluation.corruption.pool import Pool

#: A hypothesis with so many times more words, or fewer, is too easily distinguished.
MAX_RATIO = 1.5
#: The share of its content words that may be in the item's own texts.
MAX_OVERLAP = 0.2
#: The share of the premise's content words that may be in the other item's premise.
MAX_PREMISE_OVERLAP = 0.5
#: How many items are tried; where none of them fits, hardly any other will.
REACH = 1000


def edits(item: Item, pool: Pool) -> list[Edit]:
    """Return the edit that replaces the hypothesis by a fitting one of another item."""
    for other in islice(_others(item, pool), REACH):
        if _fits(item, other) and not pool.is_faithful(item, other.hyp):
            return [Edit(0, len(item.hyp), item.hyp, other.hyp)]
    return []


def _others(item: Item, pool: Pool) -> Iterator[Item]:
    """Yield the items of the same task in order, starting where the seed says."""
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
