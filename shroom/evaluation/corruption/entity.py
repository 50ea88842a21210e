"""Replacement of a name by another name of the same kind.

Names are recognised by capitals and a short list.
"""

from __future__ import annotations

import functools
import re
from itertools import islice
from typing import NamedTuple

from shroom.evaluation.corruption.items import Edit, Item, Pool, draws, like, tokens
from shroom.evaluation.corruption.wordlists import (
    groups_of,
    kinds,
    same_names,
    with_article,
    words,
)

#: How many names are offered for one.
_OFFERED = 8
#: Consecutive words with a capital.
_RUN = re.compile(r"(?<![\w'’/&(\"“-])[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*(?![\w/&\"”])")
#: "Dr" without a point also begins names of products.
_TITLED = re.compile(r"\b(?:(?:mr|mrs|ms)\.?|(?:dr|prof)\.) $", re.IGNORECASE)
_OFFICES = frozenset({"President", "Speaker", "Chairman", "Commissioner", "Minister"})
#: What precedes or follows a part of a longer name, as in "Bank of England".
_PART_BEFORE = re.compile(r"(?:[A-Z][\w'’-]* (?:of|and|de)(?: the)?|\b[A-Z]\w?\w?\.) $")
_PART_AFTER = re.compile(r" (?:of|and|de) (?:the )?[A-Z]|\. [A-Z]\w*\.|, [A-Z]")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;…\n\"“]\s*)$")
#: Known names that are also ordinary words at the beginning of a sentence.
_AMBIGUOUS = frozenset({"May", "March", "August", "Frank", "Polish", "Jack", "Harry", "Turkey"})
#: If a larger share of words has a capital, capitals do not indicate names.
_MAX_CAPITALS = 0.6


class Name(NamedTuple):
    start: int
    end: int
    text: str
    kind: str


def edits(item: Item, pool: Pool) -> list[Edit]:
    """Return edits that replace a name of the hypothesis by a name that is in neither text."""
    near = {word.removesuffix("'s") for word in item.vocabulary}

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
        fitting = [it for it in known if _is_alike(it, name.text) and is_new(it)]
        offered = fitting or islice(filter(is_new, _listed(item, name, pool)), _OFFERED)
        name_edits += [_edit(item, place, name, other) for other in offered]
    return name_edits


def _is_alike(name: str, other: str) -> bool:
    """Return whether both names need an article, or neither does."""
    return (name in with_article()) == (other in with_article())


def _has_article(item: Item, name: Name) -> bool:
    """Return whether a name that needs an article has one."""
    before = item.hyp[: name.start].casefold()
    return name.text in with_article() and before.endswith("the ")


def _listed(item: Item, name: Name, pool: Pool) -> list[str]:
    """Return the listed names of a kind in random order; they need an article if the name does."""
    is_free = _has_article(item, name)
    others = [group[0] for group in groups_of(name.kind) if name.text not in group]
    fitting = [other for other in others if is_free or _is_alike(other, name.text)]
    return draws(pool.seed, name.text, *item.key).sample(fitting, len(fitting))


def _edit(item: Item, place: int, name: Name, other: str) -> Edit:
    if not _has_article(item, name):
        return item.replacing(place, name.end, other)
    article = item.tokens[place - 1]
    after = f"{article.text} {other}" if other in with_article() else like(other, article.text)
    return Edit(article.start, name.end, item.hyp[article.start : name.end], after)


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
    while first.casefold() in words("function_words") and first not in kinds():  # May, the month
        start, run = start + len(first) + 1, rest
        first, _, rest = run.partition(" ")
    run = re.sub(r"['’]s?$", "", run)
    before, after = text[:start], text[start + len(run) :]
    kind = _kind_of(run)
    is_titled = _TITLED.search(before) and run.isalpha() and run not in _OFFICES
    if is_titled:
        kind = "surname"
    begins = _SENTENCE_START.search(before)
    is_part = kind != "surname" and _PART_BEFORE.search(before) and not begins
    if not kind or (begins and run in _AMBIGUOUS) or is_part or _PART_AFTER.match(after):
        return None
    return Name(start, start + len(run), run, kind)


def _kind_of(name: str) -> str:
    """Return the kind of a name; empty if unknown."""
    first, _, last = name.partition(" ")
    kind = kinds().get(first, "")
    is_full = kind in ("man", "woman") and re.fullmatch(r"[A-Z][a-z]{2,}", last)
    return kinds().get(name, f"{kind} name" if is_full else "")
