"""Antonym: a word gives way to one that means the opposite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.corrupt.base import like, replacing
from shroom.corrupt.wordlists import antonyms, words

if TYPE_CHECKING:
    from shroom.corrupt.base import Edit, Item
    from shroom.corrupt.pool import Pool


class Antonym:
    """A word for its opposite, by a list of pairs."""

    name = "antonym"
    about = "a word for one that means the opposite, such as hot for cold"

    def edits(self, item: Item, pool: Pool) -> list[Edit]:
        """Return an edit for each word and antonym, where neither text has the antonym.

        Opposites may both be false, so that nothing beside a negation is touched; and both may be
        true of some things, or sometimes.
        """
        del pool
        known, found = antonyms(), []
        words_that_hinder = words("hedges") | words("negations")
        hindering = [
            place
            for place, word in enumerate(item.tokens)
            if word.low in words_that_hinder or word.low.endswith("n't")
        ]
        for place, word in enumerate(item.tokens):
            in_a_name = word.text != word.low and not _begins(item, place)
            if word.low not in known or in_a_name or place < item.first:
                continue
            if hindering and hindering != [place]:
                continue
            found += [
                replacing(item.hyp, item.tokens, place, word.end, like(after, word.text))
                for after in known[word.low]
                if after not in item.vocabulary
            ]
        return found


def _begins(item: Item, place: int) -> bool:
    """Return whether a word begins a sentence; elsewhere, a capital makes it a part of a name."""
    following = item.tokens[place + 1].text if place + 1 < len(item.tokens) else ""
    if following[:1].isupper() and not item.tokens[place].text.isupper():  # a title
        return False
    return place == item.first or item.tokens[place - 1].text[-1] in ".!?"
