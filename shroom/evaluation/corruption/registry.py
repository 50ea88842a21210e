"""The methods of corruption by name, each imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.core.registry import Entry, Registry

if TYPE_CHECKING:
    from shroom.evaluation.corruption.base import Method

#: In the order in which the documentation has them.
METHODS = Registry(
    "method",
    {
        name: Entry(f"shroom.evaluation.corruption.{name}:{name.capitalize()}")
        for name in ("pairing", "entity", "number", "negation", "antonym")
    },
)


def method(name: str) -> Method:
    """Return a method by its name.

    Raises
    ------
    ShroomError
        If there is no such method; the message suggests the nearest.

    Examples
    --------
    >>> method("number").about
    'a number, in digits or in words, for one that is worth something else'
    """
    made: Method = METHODS.make(name)
    return made
