"""Pairing: the hypothesis of another item, of the same task and of about the same length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.evaluation.corruption.items import Edit
from shroom.evaluation.corruption.pool import from_drawn_place

if TYPE_CHECKING:
    from shroom.evaluation.corruption.items import Item
    from shroom.evaluation.corruption.pool import Pool

#: A hypothesis with so many times more words, or fewer, is too easily distinguished.
MAX_RATIO = 1.5
#: The share of its content words that may be in the item's own texts.
MAX_OVERLAP = 0.2
#: The share of the premise's content words that may be in the other item's premise.
MAX_PREMISE_OVERLAP = 0.5


class Pairing:
    """The hypothesis of another item."""

    name = "pairing"
    about = "the hypothesis of another item of the same task, like in length, unlike in words"
    of_english = False

    def edits(self, item: Item, pool: Pool) -> list[Edit]:
        """Return the one edit that puts the nearest fitting hypothesis in place of the item's."""
        others = pool.hypotheses[item.point.task.value]
        for other in from_drawn_place(others, pool.seed, *item.key):
            if _fits(item, other) and not pool.says(item, other.hyp):
                return [Edit(0, len(item.hyp), item.hyp, other.hyp)]
        return []


def _fits(item: Item, other: Item) -> bool:
    own, new = len(item.tokens), len(other.tokens)
    if not own <= MAX_RATIO * new <= MAX_RATIO**2 * own:
        return False
    if not other.content or _share(other.content, item.vocabulary) > MAX_OVERLAP:
        return False
    about = item.premise_content
    return not about or _share(about, other.premise_content) <= MAX_PREMISE_OVERLAP


def _share(some: frozenset[str], among: frozenset[str]) -> float:
    return len(some & among) / len(some)
