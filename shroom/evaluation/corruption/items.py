"""A datapoint taken apart into words, and the edits of its hypothesis."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

from shroom.core.datapoint import Datapoint
from shroom.core.word_spans import spans
from shroom.evaluation.corruption.wordlists import words

#: A longer text is hardly English without any of the commonest English words.
_FEW = 6
#: The beginnings of words that take "an".
_VOWEL = re.compile(
    r"(?!eu|one\b|once|uni(?!m)|us[aeiu]|ut[ei]|u\.|u[kns]\b)[aeiou]|hour|hono|hones|heir|8|1[18]\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Edit:
    """One change of a text.

    Attributes
    ----------
    start, end : int
        Position in the text before the change, in characters.
    before, after : str
        The replaced text, and its replacement.

    Examples
    --------
    >>> edit = Edit(3, 6, "two", "four")
    >>> edit.apply("My two cats.")
    'My four cats.'
    """

    start: int
    end: int
    before: str
    after: str

    def apply(self, text: str) -> str:
        """Return the text with the change."""
        if text[self.start : self.end] != self.before:
            raise ValueError(f"the text does not have {self.before!r} at {self.start}")
        return text[: self.start] + self.after + text[self.end :]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for json."""
        return asdict(self)


class Token(NamedTuple):
    """A word or a run of signs with its position; ``low`` is in lower case, to compare."""

    start: int
    end: int
    text: str
    low: str


def at(listed: Sequence[Token], place: int) -> Token:
    """Return the token at a place; an empty one before and after the text."""
    return listed[place] if 0 <= place < len(listed) else Token(-1, -1, "", "")


def tokens(text: str) -> list[Token]:
    """Return the words and signs of a text, in order.

    Examples
    --------
    >>> [token.low for token in tokens("Don’t go!")]
    ["don't", 'go', '!']
    """
    return [
        Token(start, end, text[start:end], text[start:end].casefold().replace("’", "'"))
        for start, end in spans(text)
    ]


@dataclass(frozen=True)
class Item:
    """A datapoint and the tokens of its texts.

    Attributes
    ----------
    point : Datapoint
        With its premise (``src`` and ``tgt``) and its hypothesis.
    knowledge : str
        What else the hypothesis may take names and numbers from when it is edited: the other
        passages of a dialogue. Empty where there are none.
    """

    point: Datapoint
    knowledge: str = ""

    @property
    def hyp(self) -> str:
        """The hypothesis."""
        return self.point.hyp

    @property
    def premise(self) -> str:
        """Everything that the hypothesis may be compared with."""
        return f"{self.point.src}\n{' '.join(self.point.tgts)}"

    @cached_property
    def tokens(self) -> list[Token]:
        """The words and signs of the hypothesis."""
        return tokens(self.hyp)

    @cached_property
    def first(self) -> int:
        """The place of the first token after a label in brackets, as dictionaries have them."""
        if not self.tokens or self.tokens[0].text != "(":
            return 0
        closing = (n for n, token in enumerate(self.tokens) if token.text == ")")
        return next(closing, -1) + 1

    @cached_property
    def premise_tokens(self) -> list[Token]:
        """The words and signs of the premise."""
        return tokens(self.premise)

    @cached_property
    def knowledge_tokens(self) -> list[Token]:
        """The words and signs of the knowledge."""
        return tokens(self.knowledge)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """All words of the premise and the hypothesis, for comparing."""
        return frozenset(token.low for token in [*self.tokens, *self.premise_tokens])

    @cached_property
    def content(self) -> frozenset[str]:
        """The content words of the hypothesis."""
        return _content(self.tokens)

    @cached_property
    def premise_content(self) -> frozenset[str]:
        """The content words of the premise."""
        return _content(self.premise_tokens)

    @cached_property
    def premises(self) -> list[str]:
        """The texts that the hypothesis may be compared with, normalised."""
        return [normalised(text) for text in (self.point.src, *self.point.tgts) if text.strip()]

    @cached_property
    def is_english(self) -> bool:
        """Whether the hypothesis seems to be English: in Latin letters, and in no other language.

        The most frequent words of English and of other languages are counted. A short text with
        neither, such as a definition, counts as English.
        """
        letters = [char for char in self.hyp if char.isalpha()]
        latin = sum(char < "\u0250" for char in letters)
        lows = [token.low for token in self.tokens if token.text[0].isalpha()]
        english_vocabulary = (words("function_words") | words("cardinals")) - words("shared_words")
        english_words = sum(low in english_vocabulary for low in lows)
        foreign_words = sum(low in words("foreign_words") for low in lows)
        return (
            2 * latin >= len(letters)
            and foreign_words <= english_words
            and (english_words > 0 or len(lows) <= _FEW)
        )

    @property
    def key(self) -> tuple[str, ...]:
        """The texts that identify the item."""
        return (self.point.task.name, self.point.src, *self.point.tgts, self.point.hyp)

    def replacing(self, place: int, end: int, after: str) -> Edit:
        """Return the edit that puts ``after`` in place of the text from a token's start to ``end``.

        An article before it is changed where ``after`` takes the other form.

        Examples
        --------
        >>> from shroom.core.datapoint import Datapoint, Task
        >>> item = Item(Datapoint("It was an old house.", src="", tgt="", task=Task.PG))
        >>> item.replacing(3, 13, "new").apply(item.hyp)
        'It was a new house.'
        """
        start = self.tokens[place].start
        if place and self.tokens[place - 1].low in ("a", "an"):
            article = self.tokens[place - 1]
            fitting = like("an" if _VOWEL.match(after) else "a", article.text)
            if article.low != fitting.lower():
                after = fitting + self.hyp[article.end : start] + after
                start = article.start
        return Edit(start, end, self.hyp[start:end], after)


def _content(listed: Sequence[Token]) -> frozenset[str]:
    plain = words("function_words")
    return frozenset(
        token.low for token in listed if token.low not in plain and token.low[0].isalnum()
    )


def draws(*key: object) -> random.Random:
    """Return a generator of random numbers that depend only on the key.

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


def like(word: str, model: str) -> str:
    """Return a word in the case of another one.

    Examples
    --------
    >>> like("cold", "Hot"), like("cold", "HOT"), like("Rome", "Paris")
    ('Cold', 'COLD', 'Rome')
    """
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word
