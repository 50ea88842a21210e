"""Antonyms: a word is replaced by its opposite, a rule of which the shipped model has learnt."""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path

from shroom.evaluation.corruption.items import Edit, Item, Pool, Token, like
from shroom.evaluation.corruption.negation import (
    begins_a_sentence,
    is_beside_the_premise,
    negated,
)
from shroom.evaluation.corruption.wordlists import units, words

#: After a unit these only name what is measured: "ten years old" is not the opposite of young.
_MEASURED = frozenset({"long", "old", "tall", "high", "deep", "wide", "thick"})


def edits(item: Item, pool: Pool) -> list[Edit]:
    """Return an edit for each word and each antonym of it that neither text has.

    Opposites may both be false, so that words next to a negation are not touched; and both may be
    true of some things, or sometimes. A clause with a reason or a condition would contradict
    itself. Words of fixed phrases, as in "how long", stay.
    """
    del pool
    candidates: list[Edit] = []
    if ";" in item.hyp:  # the other glosses would still say the same
        return candidates
    unfit = words("hedges") | words("subordinators")
    hindering = negated(item) + [
        place for place, word in enumerate(item.tokens) if word.low in unfit
    ]
    fixed = _in_phrases(item.tokens)
    counts = Counter(word.low for word in item.tokens)
    for place, word in enumerate(item.tokens):
        in_a_name = word.text != word.low and not begins_a_sentence(item, place)
        beside = {token.low for token in item.tokens[max(0, place - 1) : place + 2]}
        # In "stupid, foolish" and "old or outdated" the next word says the same.
        is_alone = not beside & {",", "or", "and"} and word.low not in words("stances")
        if in_a_name or not is_alone or place < item.first or place in fixed:
            continue
        if counts[word.low] > 1:  # the other one would still say it
            continue
        if set(hindering) - {place}:
            continue
        candidates += [
            item.replacing(place, word.end, like(after, word.text))
            for after in antonyms().get(word.low, ())
            if after not in item.vocabulary
        ]
    return [edit for edit in candidates if not is_beside_the_premise(item, edit.start)]


@functools.cache
def antonyms() -> dict[str, tuple[str, ...]]:
    """Return the antonyms of each word that has any."""
    listed: dict[str, list[str]] = {}
    for line in _lines("antonyms"):
        left, sign, right = line.split()
        listed.setdefault(left, []).append(right)
        if sign == "=":
            listed.setdefault(right, []).append(left)
    return {word: tuple(others) for word, others in listed.items()}


@functools.cache
def phrases() -> frozenset[tuple[str, ...]]:
    """Return the fixed phrases, each as its words."""
    return frozenset(tuple(line.split()) for line in _lines("phrases"))


def _lines(name: str) -> list[str]:
    text = Path(__file__).with_name(f"{name}.txt").read_text(encoding="utf-8")
    return [line.strip() for line in text.split("\n") if line.strip() and line[0] != "#"]


def _in_phrases(listed: list[Token]) -> set[int]:
    """Return the places of words that have no opposite in their context."""
    lows = [token.low for token in listed]
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
