"""Replacement of a name by another name of the same kind.

Names are recognised by capitals and a short list.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from itertools import chain, islice
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


def edits(item: Item, pool: Pool) -> list[Edit]:
    """Return edits that replace a name of the hypothesis by a name that is in neither text."""
    near = {word.removesuffix("'s") for word in item.vocabulary}
    name_edits: list[Edit] = []
    for name in names_in(item.hyp):
        place = next((n for n, word in enumerate(item.tokens) if word.start == name.start), None)
        if place is None or place < item.first or item.hyp.count(name.text) > 1:
            continue
        fitting = [other for other in _from_knowledge(item, name) if _is_new(other, near)]
        listed = (other for other in _listed(item, name, pool) if _is_new(other, near))
        offered = fitting or islice(listed, _OFFERED)
        name_edits += [_edit(item, place, name, other) for other in offered]
    return name_edits


def _from_knowledge(item: Item, name: Name) -> list[str]:
    named = dict.fromkeys(it.text for it in names_in(item.knowledge) if it.kind == name.kind)
    articles = with_article()
    return [other for other in named if (other in articles) == (name.text in articles)]


def _listed(item: Item, name: Name, pool: Pool) -> Iterator[str]:
    """Yield the listed names of a kind in random order; they need an article if the name does."""
    groups, articles = groups_of(name.kind), with_article()
    free = _has_article(item.hyp, name.start) and name.text in articles
    everyone = [
        group[0]
        for group in groups
        if name.text not in group and (free or (group[0] in articles) == (name.text in articles))
    ]
    yield from draws(pool.seed, name.text, *item.key).sample(everyone, len(everyone))


def _has_article(text: str, start: int) -> bool:
    return text[:start].casefold().endswith("the ")


def _edit(item: Item, place: int, name: Name, other: str) -> Edit:
    if name.text in with_article() and _has_article(item.hyp, name.start):
        article = item.tokens[place - 1]
        after = f"{article.text} {other}" if other in with_article() else like(other, article.text)
        return Edit(article.start, name.end, item.hyp[article.start : name.end], after)
    return item.replacing(place, name.end, other)


def _is_new(other: str, near: set[str]) -> bool:
    """Return whether no word of a name, or of its other names, is in the texts."""
    texts = chain([other], same_names().get(other, ()))
    return not {word.low for text in texts for word in tokens(text)} & near


class Name(NamedTuple):
    start: int
    end: int
    text: str
    kind: str


@functools.lru_cache(maxsize=64)  # the turns of a dialogue share one text of knowledge
def names_in(text: str) -> list[Name]:
    """Return the listed names of a text, and persons with a listed first name."""
    rest = text.split()[1:]  # any text may begin with a capital
    if sum(word[0].isupper() for word in rest) > max(2, _MAX_CAPITALS * len(rest)):
        return []
    named = (_name(text, match.start(), match[0]) for match in _RUN.finditer(text))
    return [name for name in named if name]


def _kind_of(name: str) -> str:
    """Return the kind of a name; empty if unknown."""
    first, _, last = name.partition(" ")
    if name in kinds():
        return kinds()[name]
    is_full = kinds().get(first) in ("man", "woman") and re.fullmatch(r"[A-Z][a-z]{2,}", last)
    return f"{kinds()[first]} name" if is_full else ""


def _name(text: str, start: int, run: str) -> Name | None:
    """Return the name in a run of capitalised words, or ``None`` if its kind is unknown."""
    while (first := run.partition(" ")[0]).casefold() in words("function_words"):
        if first in kinds():  # May, the month
            break
        start += len(first) + 1
        run = run[len(first) + 1 :]
    run = re.sub(r"['’]s?$", "", run)
    before, after = text[:start], text[start + len(run) :]
    is_titled = _TITLED.search(before) and run.isalpha() and run not in _OFFICES
    kind = "surname" if is_titled else _kind_of(run)
    begins = _SENTENCE_START.search(before)
    if not kind or (begins and run in _AMBIGUOUS):
        return None
    is_part = kind != "surname" and _PART_BEFORE.search(before) and not begins
    return None if is_part or _PART_AFTER.match(after) else Name(start, start + len(run), run, kind)
