"""A datapoint taken apart into words, and the edits of its hypothesis."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from shroom.core.word_spans import spans
from shroom.evaluation.corruption.wordlists import words

if TYPE_CHECKING:
    from shroom.core.datapoint import Datapoint

#: A longer text is hardly English without any of the commonest English words.
_FEW = 6


@dataclass(frozen=True)
class Edit:
    """One change of a text.

    Attributes
    ----------
    start, end : int
        Where it was, in characters of the text before the change.
    before, after : str
        What stood there, and what stands there now.

    Examples
    --------
    >>> edit = Edit(3, 6, "two", "four")
    >>> edit.apply("My two cats.")
    'My four cats.'
    >>> edit.undo("My four cats.")
    'My two cats.'
    """

    start: int
    end: int
    before: str
    after: str

    def apply(self, text: str) -> str:
        """Return the text with the change.

        Raises
        ------
        ValueError
            Where the text does not have there what was changed.
        """
        return _replaced(text, self.start, self.before, self.after)

    def undo(self, text: str) -> str:
        """Return the text without the change.

        Raises
        ------
        ValueError
            Where the text does not have there what it was changed to.
        """
        return _replaced(text, self.start, self.after, self.before)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for json."""
        return asdict(self)


def _replaced(text: str, start: int, old: str, new: str) -> str:
    if not text.startswith(old, start):
        raise ValueError(f"the text does not have {old!r} at {start}")
    return text[:start] + new + text[start + len(old) :]


class Token(NamedTuple):
    """A word or a run of signs, and where it stands; ``low`` is for comparing."""

    start: int
    end: int
    text: str
    low: str


def tokens(text: str) -> list[Token]:
    """Return the words and signs of a text, in order.

    Examples
    --------
    >>> [token.low for token in tokens("Don’t go!")]
    ["don't", 'go', '!']
    """
    found = []
    for start, end in spans(text):
        word = text[start:end]
        found.append(Token(start, end, word, word.casefold().replace("’", "'")))
    return found


class Name(NamedTuple):
    """A name in a text; ``kind`` is empty where it is unknown."""

    start: int
    end: int
    text: str
    kind: str


class Recogniser(Protocol):
    """What finds names and verbs in English text: rules, or a pipeline that is installed.

    Attributes
    ----------
    about : str
        Its name, for a note to the user.
    """

    about: str

    def names(self, text: str, context: str) -> list[Name]:
        """Return the names in a text; ``context`` is another text about the same things."""
        ...

    def negated_verbs(self, text: str) -> list[Edit]:
        """Return edits that negate a verb without an auxiliary, as "plays", "does not play"."""
        ...


@dataclass(frozen=True)
class Item:
    """A datapoint, and its texts taken apart."""

    point: Datapoint

    @property
    def hyp(self) -> str:
        """The hypothesis."""
        return self.point.hyp

    @property
    def premise(self) -> str:
        """Everything that the hypothesis may be compared with."""
        return f"{self.point.src}\n{self.point.tgt}"

    @cached_property
    def tokens(self) -> list[Token]:
        """The words and signs of the hypothesis."""
        return tokens(self.hyp)

    @cached_property
    def first(self) -> int:
        """The place of the first token after a label in brackets, as dictionaries have them."""
        found = self.tokens
        if not found or found[0].text != "(":
            return 0
        closing = (n for n, token in enumerate(found[:-1]) if token.text == ")")
        return next(closing, -1) + 1

    @cached_property
    def premise_tokens(self) -> list[Token]:
        """The words and signs of the premise."""
        return tokens(self.premise)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """All words of the premise and the hypothesis, for comparing."""
        return frozenset(token.low for token in [*self.tokens, *self.premise_tokens])

    @cached_property
    def content(self) -> frozenset[str]:
        """The words of the hypothesis that say what it is about."""
        return _content(self.tokens)

    @cached_property
    def premise_content(self) -> frozenset[str]:
        """The words of the premise that say what it is about."""
        return _content(self.premise_tokens)

    @cached_property
    def premises(self) -> list[str]:
        """The texts that the hypothesis may be compared with, normalised."""
        return [normalised(text) for text in (self.point.src, self.point.tgt) if text.strip()]

    @cached_property
    def is_english(self) -> bool:
        """Whether the hypothesis seems to be English: in Latin letters, and in no other language.

        The commonest words of English and of other languages are counted; a few words with none
        of either, such as a definition has, are taken as English.
        """
        letters = [char for char in self.hyp if char.isalpha()]
        latin = sum(char < "\u0250" for char in letters)
        lows = [token.low for token in self.tokens if token.text[0].isalpha()]
        english = (words("function_words") | words("cardinals")) - words("shared_words")
        own = sum(low in english for low in lows)
        other = sum(low in words("foreign_words") for low in lows)
        return 2 * latin >= len(letters) and other <= own and (own > 0 or len(lows) <= _FEW)

    @property
    def key(self) -> tuple[str, ...]:
        """What identifies the item."""
        return (self.point.task.value, self.point.src, self.point.tgt, self.point.hyp)


def _content(found: list[Token]) -> frozenset[str]:
    plain = words("function_words")
    return frozenset(
        token.low for token in found if token.low not in plain and token.low[0].isalnum()
    )


def draws(*key: object) -> random.Random:
    """Return a generator of random numbers that depend on the key alone.

    Examples
    --------
    >>> draws(0, "a").choice("xyz") == draws(0, "a").choice("xyz")
    True
    """
    return random.Random(ascii(key))  # noqa: S311 - reproducible, and not a secret


def normalised(text: str) -> str:
    """Return a text without differences of case and of white space.

    Examples
    --------
    >>> normalised(" A  Cat ") == normalised("a cat")
    True
    """
    return " ".join(text.casefold().split())
