"""Names in English texts: by rules and a short list, or by a spaCy pipeline that is installed."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from shroom.evaluation.corruption.items import Edit, like
from shroom.evaluation.corruption.wordlists import kinds, words

if TYPE_CHECKING:
    from collections.abc import Callable

#: Words with a capital, one after the other.
_RUN = re.compile(r"(?<![\w'’/&(\"“-])[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*(?![\w/&\"”])")
#: "Dr" without a point also begins the names of things that are sold.
_TITLED = re.compile(r"\b(?:(?:mr|mrs|ms)\.?|(?:dr|prof)\.) $", re.IGNORECASE)
_OFFICES = frozenset({"President", "Speaker", "Chairman", "Commissioner", "Minister"})
#: Before and after a run that is only a part of a longer name, as in "Bank of England".
_PART_BEFORE = re.compile(r"(?:[A-Z][\w'’-]* (?:of|and|de)(?: the)?|\b[A-Z]\w?\w?\.) $")
_PART_AFTER = re.compile(r" (?:of|and|de) (?:the )?[A-Z]|\. [A-Z]\w*\.|, [A-Z]")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;…\n\"“]\s*)$")
#: Known names that begin a sentence as other words do, too.
_AMBIGUOUS = frozenset({"May", "March", "August", "Frank", "Polish", "Jack", "Harry", "Turkey"})
#: A text with more capitals than that, among its words, does not show names by them.
_MAX_CAPITALS = 0.6


class Name(NamedTuple):
    """A name in a text, and the kind of thing that it names."""

    start: int
    end: int
    text: str
    kind: str


class Recogniser(Hashable, Protocol):
    """An object that finds names and verbs in English text.

    Attributes
    ----------
    about : str
        Its name, for a note to the user.
    """

    about: str

    def names(self, text: str) -> list[Name]:
        """Return the names in a text."""
        ...

    def negated_verbs(self, text: str) -> list[Edit]:
        """Return edits that negate a verb without an auxiliary, as "plays", "does not play"."""
        ...


class Rules:
    """Finds names by their capitals and a list, without any model."""

    about = "rules"

    def names(self, text: str) -> list[Name]:
        """Return the names whose kind the list gives: known ones, and persons by first name.

        Examples
        --------
        >>> [name[2:] for name in Rules().names("They say that Ann Lee left in May.")]
        [('Ann Lee', 'woman name'), ('May', 'month')]
        """
        rest = text.split()[1:]  # any text may begin with a capital
        if sum(word[0].isupper() for word in rest) > max(2, _MAX_CAPITALS * len(rest)):
            return []
        named = (_name(text, match.start(), match[0]) for match in _RUN.finditer(text))
        return [name for name in named if name is not None]

    def negated_verbs(self, text: str) -> list[Edit]:
        """Return an empty list: rules do not recognise verbs."""
        del text
        return []


def kind_of(name: str) -> str:
    """Return the kind of a name, empty if it is unknown.

    Examples
    --------
    >>> kind_of("Rome"), kind_of("Ann Frobb"), kind_of("Frobb")
    ('city', 'woman name', '')
    """
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


#: Types of spaCy that are not names; numbers have their own method.
_NUMBERS = frozenset({"CARDINAL", "ORDINAL", "DATE", "TIME", "MONEY", "PERCENT", "QUANTITY"})
_NEGATED = {"VBZ": "does not", "VBP": "do not", "VBD": "did not"}
#: spaCy refuses a million characters, and takes about a gigabyte for this many.
_LONGEST = 100_000
_SURROGATES = re.compile("[\ud800-\udfff]")
_SUBJECTS = frozenset({"nsubj", "nsubjpass", "expl"})


class Pipeline:
    """Finds names and verbs by a spaCy pipeline.

    Parameters
    ----------
    name : str
        The pipeline's.
    parse : callable
        Makes a text into a spaCy document.
    """

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.about = f"spaCy's {name}"
        self._parse = functools.lru_cache(maxsize=4096)(
            lambda text: parse(_SURROGATES.sub("\ufffd", text[:_LONGEST]))
        )

    def names(self, text: str) -> list[Name]:
        """Return the entities that are not numbers; a known name has the kind of the list."""
        named = []
        for entity in self._parse(text).ents:
            start, end = entity.start_char, entity.end_char
            article = re.match(r"(?:the|an?) (?=.)", text[start:end], re.IGNORECASE)
            start += article.end() if article else 0
            end -= 2 if text[start:end].lower().endswith(("'s", "’s")) else 0
            listed_kind = kind_of(text[start:end])
            if start < end and (listed_kind or entity.label_ not in _NUMBERS):
                named.append(Name(start, end, text[start:end], listed_kind or entity.label_))
        return named

    def negated_verbs(self, text: str) -> list[Edit]:
        """Return edits such as "plays", "does not play", of verbs that have no auxiliary."""
        negated = []
        for token in self._parse(text):
            children = {child.dep_ for child in token.children}
            auxiliary = _NEGATED.get(token.tag_)
            if token.pos_ != "VERB" or token.dep_ != "ROOT" or auxiliary is None:
                continue
            if {"aux", "auxpass", "neg"} & children or not _SUBJECTS & children:
                continue
            after = like(f"{auxiliary} {token.lemma_}", token.text)
            negated.append(Edit(token.idx, token.idx + len(token.text), token.text, after))
        return negated


@functools.lru_cache(maxsize=1)
def installed() -> Recogniser:
    """Return the first English pipeline that loads, or the rules if none does."""
    try:
        spacy = importlib.import_module("spacy")
    except (ImportError, ValueError):  # ValueError: built for another numpy
        return Rules()
    for name in sorted(spacy.util.get_installed_models()):
        if name.startswith("en_"):
            try:
                return Pipeline(name, spacy.load(name))
            except (ImportError, OSError, ValueError):  # of another version of spaCy
                continue
    return Rules()
