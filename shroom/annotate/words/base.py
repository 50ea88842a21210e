"""The interface of a language: it finds the words of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(frozen=True)
class Words:
    """The words of a text.

    Attributes
    ----------
    tokens : list of str
        All tokens, in the order of the text.
    known : collection of str
        The tokens that the text counts as containing, when another text's tokens are looked up.
    keywords : list of str
        The tokens that say what the text is about; some languages keep repeats.
    """

    tokens: list[str]
    known: Collection[str]
    keywords: list[str]


class Language(Protocol):
    """Finds the words of texts in one language."""

    @property
    def identity(self) -> str:
        """The library that finds the words, and its version."""
        ...

    def words(self, text: str) -> Words:
        """Return the words of a text."""
        ...
