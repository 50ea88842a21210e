"""The methods by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.core.problems import ShroomError, nearest
from shroom.evaluation.corruption.antonym import Antonym
from shroom.evaluation.corruption.entity import Entity
from shroom.evaluation.corruption.negation import Negation
from shroom.evaluation.corruption.number import Number
from shroom.evaluation.corruption.pairing import Pairing

if TYPE_CHECKING:
    from shroom.evaluation.corruption.base import Method

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
