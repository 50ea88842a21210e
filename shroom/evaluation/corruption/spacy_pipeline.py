"""Names and verbs found by a spaCy pipeline, where one for English is installed."""

from __future__ import annotations

import functools
import importlib
import re
from typing import TYPE_CHECKING, Any

from shroom.evaluation.corruption.base import like
from shroom.evaluation.corruption.items import Edit, Name, Recogniser
from shroom.evaluation.corruption.names import Rules, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

#: What spaCy finds beside names: numbers have their own method.
_NUMBERS = frozenset({"CARDINAL", "ORDINAL", "DATE", "TIME", "MONEY", "PERCENT", "QUANTITY"})
_NEGATED = {"VBZ": "does not", "VBP": "do not", "VBD": "did not"}
#: spaCy refuses a million characters, and takes about a gigabyte for this many.
_LONGEST = 100_000
_SURROGATES = re.compile("[\ud800-\udfff]")
_SUBJECTS = frozenset({"nsubj", "nsubjpass", "expl"})


class Pipeline:
    """Names and verbs by a pipeline.

    Parameters
    ----------
    name : str
        The pipeline's.
    parse : callable
        What makes a text into a spaCy document.
    """

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.about = f"spaCy's {name}"
        self._parse = functools.lru_cache(maxsize=4096)(lambda text: parse(_fit_to_parse(text)))

    def names(self, text: str, context: str) -> list[Name]:
        """Return the entities that are not numbers; a known name has the kind of the list."""
        del context
        found = []
        for entity in self._parse(text).ents:
            if entity.label_ in _NUMBERS and not kind_of(entity.text):
                continue
            start, end = entity.start_char, entity.end_char
            article = text[start:end].split(" ", 1)
            if article[0].lower() in ("the", "a", "an") and len(article) == 2:
                start += len(article[0]) + 1
            if text[start:end].lower().endswith(("'s", "’s")):
                end -= 2
            if start < end:
                kind = kind_of(text[start:end]) or entity.label_
                found.append(Name(start, end, text[start:end], kind))
        return found

    def negated_verbs(self, text: str) -> list[Edit]:
        """Return edits such as "plays", "does not play", of verbs that have no auxiliary."""
        found = []
        for token in self._parse(text):
            children = [child.dep_ for child in token.children]
            negated = _NEGATED.get(token.tag_)
            if token.pos_ != "VERB" or token.dep_ != "ROOT" or negated is None:
                continue
            if {"aux", "auxpass", "neg"} & set(children) or not _SUBJECTS & set(children):
                continue
            start, end = token.idx, token.idx + len(token.text)
            after = like(f"{negated} {token.lemma_}", token.text)
            found.append(Edit(start, end, text[start:end], after))
        return found


def _fit_to_parse(text: str) -> str:
    """Return a text as spaCy takes it, with every character at its place: it refuses others."""
    return _SURROGATES.sub("\ufffd", text[:_LONGEST])


@functools.lru_cache(maxsize=1)
def recogniser() -> Recogniser:
    """Return the first English pipeline that loads, or the rules where there is none."""
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
