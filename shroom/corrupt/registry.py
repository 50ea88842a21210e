"""The methods by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.corrupt.antonym import Antonym
from shroom.corrupt.entity import Entity
from shroom.corrupt.negation import Negation
from shroom.corrupt.number import Number
from shroom.corrupt.pairing import Pairing
from shroom.problems import ShroomError, nearest

if TYPE_CHECKING:
    from shroom.corrupt.base import Method

#: Every way of corrupting, in the order in which the documentation has them.
METHODS: dict[str, Method] = {
    method.name: method for method in (Pairing(), Entity(), Number(), Negation(), Antonym())
}


def method(name: str) -> Method:
    """Return a method by its name.

    Raises
    ------
    ShroomError
        Where there is no such method.

    Examples
    --------
    >>> method("number").about
    'a number, in digits or in words, for one that is worth something else'
    """
    if name not in METHODS:
        listed = ", ".join(METHODS)
        raise ShroomError(
            f"there is no method '{name}';{nearest(name, METHODS)} there are: {listed}"
        )
    return METHODS[name]
