"""What every way of corrupting has: it lists edits of a hypothesis, each of which can be undone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from shroom.evaluation.corruption.items import Edit

if TYPE_CHECKING:
    from shroom.evaluation.corruption.items import Item, Token
    from shroom.evaluation.corruption.pool import Pool


#: How a word begins that wants "an" before it.
_VOWEL = re.compile(
    r"(?!eu|one\b|once|uni(?!m)|us[aeiu]|ut[ei]|u\.|u[kns]\b)[aeiou]|hour|hono|hones|heir|8|1[18]\b",
    re.IGNORECASE,
)


class Method(Protocol):
    """One way of making a faithful hypothesis inconsistent.

    Attributes
    ----------
    name : str
        Its name in the registry.
    about : str
        What it does, in one line.
    of_english : bool
        Whether its rules are those of English, so that other texts are left alone.
    """

    name: str
    about: str
    of_english: bool

    def edits(self, item: Item, pool: Pool) -> list[Edit]:
        """Return the edits that it can make of a hypothesis; one of them is drawn."""
        ...


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


def replacing(text: str, found: list[Token], place: int, end: int, after: str) -> Edit:
    """Return the edit that puts ``after`` for what goes from a token's start to ``end``.

    An article before it is made to fit, and is then a part of the edit.

    Examples
    --------
    >>> from shroom.evaluation.corruption.items import tokens
    >>> text = "It was an old house."
    >>> replacing(text, tokens(text), 3, 13, "new").apply(text)
    'It was a new house.'
    """
    start = found[place].start
    if place and found[place - 1].low in ("a", "an"):
        article = found[place - 1]
        fitting = like("an" if _VOWEL.match(after) else "a", article.text)
        if article.low != fitting.lower():
            after = fitting + text[article.end : start] + after
            start = article.start
    return Edit(start, end, text[start:end], after)
