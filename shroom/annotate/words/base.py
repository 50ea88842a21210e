"""What every language's way of finding words gives."""

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
        All, in their order.
    known : collection of str
        What the text is held to contain, when another's tokens are looked for in it.
    keywords : list of str
        What tells what the text is about; repeats stay where the language's way keeps them.
    """

    tokens: list[str]
    known: Collection[str]
    keywords: list[str]


class Language(Protocol):
    """A way to find words."""

    @property
    def identity(self) -> str:
        """What tells it from others: the library, and its version."""
        ...

    def words(self, text: str) -> Words:
        """Return the words of a text."""
        ...
