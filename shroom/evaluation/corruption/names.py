"""Names in English texts, recognised by capitals and a short list."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from shroom.evaluation.corruption.wordlists import kinds, words

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
    """A name in a text, and the kind of thing that it names."""

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


def kind_of(name: str) -> str:
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
    kind = "surname" if is_titled else kind_of(run)
    begins = _SENTENCE_START.search(before)
    if not kind or (begins and run in _AMBIGUOUS):
        return None
    is_part = kind != "surname" and _PART_BEFORE.search(before) and not begins
    return None if is_part or _PART_AFTER.match(after) else Name(start, start + len(run), run, kind)
