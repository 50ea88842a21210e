"""Antonym: a word gives way to one that means the opposite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.evaluation.corruption.base import like, replacing
from shroom.evaluation.corruption.wordlists import antonyms, phrases, units, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.evaluation.corruption.items import Edit, Item, Token
    from shroom.evaluation.corruption.pool import Pool

#: After a unit these say only what is measured: "ten years old" is not the opposite of young.
_MEASURED = frozenset({"long", "old", "tall", "high", "deep", "wide", "thick"})


class Antonym:
    """A word for its opposite, by a list of pairs."""

    name = "antonym"
    about = "a word for one that means the opposite, such as hot for cold"
    of_english = True

    def edits(self, item: Item, pool: Pool) -> list[Edit]:
        """Return an edit for each word and antonym, where neither text has the antonym.

        Opposites may both be false, so that nothing beside a negation is touched; and both may be
        true of some things, or sometimes. Words of fixed phrases, as in "how long", stay.
        """
        del pool
        known, found = antonyms(), []
        words_that_hinder = words("hedges") | words("negations")
        hindering = [
            place
            for place, word in enumerate(item.tokens)
            if word.low in words_that_hinder or word.low.endswith("n't")
        ]
        fixed = _in_phrases(item.tokens)
        for place, word in enumerate(item.tokens):
            in_a_name = word.text != word.low and not _begins(item, place)
            if word.low not in known or in_a_name or place < item.first or place in fixed:
                continue
            if hindering and hindering != [place]:
                continue
            found += [
                replacing(item.hyp, item.tokens, place, word.end, like(after, word.text))
                for after in known[word.low]
                if after not in item.vocabulary
            ]
        return found


def _in_phrases(found: Sequence[Token]) -> set[int]:
    """Return the places of words that have no opposite where they stand."""
    lows = [token.low for token in found]
    longest = max(map(len, phrases()))
    fixed = {
        place
        for start in range(len(lows))
        for end in range(start + 2, min(len(lows), start + longest) + 1)
        if tuple(lows[start:end]) in phrases()
        for place in range(start, end)
    }
    pairs = zip(lows, lows[1:])
    return fixed | {
        n + 1 for n, (unit, low) in enumerate(pairs) if low in _MEASURED and unit in units()
    }


def _begins(item: Item, place: int) -> bool:
    """Return whether a word begins a sentence; elsewhere, a capital makes it a part of a name."""
    following = item.tokens[place + 1].text if place + 1 < len(item.tokens) else ""
    if following[:1].isupper() and not item.tokens[place].text.isupper():  # a title
        return False
    return place == item.first or item.tokens[place - 1].text[-1] in ".!?"
