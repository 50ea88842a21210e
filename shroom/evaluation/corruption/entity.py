"""Replacement of a name by another name of the same kind.

Names are recognised by capitals and a short list.
"""

from __future__ import annotations

import functools
import re
from itertools import islice
from typing import NamedTuple

from shroom.evaluation.corruption.items import Edit, Item, Pool, draws, tokens
from shroom.evaluation.corruption.wordlists import kinds, names_of, same_names, words

#: How many names are offered for one.
_OFFERED = 8
#: Consecutive words with a capital.
_RUN = re.compile(r"(?<![\w'’/&(\"“-])[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*(?![\w/&\"”])")
#: What precedes or follows a part of a longer name, as in "Bank of England".
_PART_BEFORE = re.compile(r"[A-Z][\w'’-]* (?:of|and|de)(?: the)? $")
_PART_AFTER = re.compile(r" (?:of|and|de) (?:the )?[A-Z]|\. [A-Z]\w*\.|, [A-Z]")
#: If a larger share of words has a capital, capitals do not indicate names.
_MAX_CAPITALS = 0.6


class Name(NamedTuple):
    start: int
    end: int
    text: str
    kind: str


def edits(item: Item, pool: Pool) -> list[Edit]:
    """Return edits that replace a name of the hypothesis by a name that is in neither text."""
    near = {word.removesuffix("'s") for word in item.vocabulary} - {"the"}

    def is_new(other: str) -> bool:
        """Return whether no word of a name, or of its other names, is in the texts."""
        texts = " ".join([other, *same_names().get(other, ())])
        return near.isdisjoint(word.low for word in tokens(texts))

    places = {word.start: place for place, word in enumerate(item.tokens)}
    name_edits: list[Edit] = []
    for name in names_in(item.hyp):
        place = places.get(name.start, -1)
        if place < item.first or item.hyp.count(name.text) > 1:
            continue
        known = dict.fromkeys(it.text for it in names_in(item.knowledge) if it.kind == name.kind)
        others = [it for it in names_of(name.kind) if name.text not in same_names().get(it, (it,))]
        listed = draws(pool.seed, name.text, *item.key).sample(others, len(others))
        offered = [*filter(is_new, known)] or islice(filter(is_new, listed), _OFFERED)
        name_edits += [item.replacing(place, name.end, other) for other in offered]
    return name_edits


@functools.lru_cache(maxsize=64)  # the turns of a dialogue share one text of knowledge
def names_in(text: str) -> list[Name]:
    """Return the listed names of a text, and persons with a listed first name."""
    rest = text.split()[1:]  # any text may begin with a capital
    if sum(word[0].isupper() for word in rest) > max(2, _MAX_CAPITALS * len(rest)):
        return []
    named = (_name(text, match.start(), match[0]) for match in _RUN.finditer(text))
    return [name for name in named if name]


def _name(text: str, start: int, run: str) -> Name | None:
    """Return the name in a run of capitalised words, or ``None`` if its kind is unknown."""
    first, _, rest = run.partition(" ")
    while first.casefold() in words("function_words"):
        start, run = start + len(first) + 1, rest
        first, _, rest = run.partition(" ")
    run = re.sub(r"['’]s?$", "", run)
    before, after = text[:start], text[start + len(run) :]
    kind = _kind_of(run)
    is_part = (kind != "surname" and _PART_BEFORE.search(before)) or _PART_AFTER.match(after)
    return None if not kind or is_part else Name(start, start + len(run), run, kind)


def _kind_of(name: str) -> str:
    """Return the kind of a name; empty if unknown."""
    first, _, last = name.partition(" ")
    kind = kinds().get(first, "")
    is_full = kind in ("man", "woman") and re.fullmatch(r"[A-Z][a-z]{2,}", last)
    return kinds().get(name, f"{kind} name" if is_full else "")
