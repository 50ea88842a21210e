"""Checked settings: what a recipe or the command line gives, as the detector's own types."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from numbers import Number
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import msgspec
from msgspec import Meta

from shroom.core.datapoint import Rule
from shroom.core.problems import ShroomError, nearest, show

T = TypeVar("T")
_TEXT = cast("type[str]", Annotated[str, Meta(pattern=r"\S")])
_TEXTS = cast(
    "type[tuple[str, ...]]",
    Annotated[tuple[Annotated[str, Meta(pattern=r"\S")], ...], Meta(min_length=1)],
)


def number(name: str, value: Any, least: float = 0.0, most: float = math.inf) -> float:
    """Return a finite number between two bounds, from a number or from its text.

    Examples
    --------
    >>> number("timeout", "1.5")
    1.5
    >>> number("temperature", 3, 0, 2)
    Traceback (most recent call last):
    shroom.core.problems.ShroomError: temperature: expected a number from 0 to 2, got 3
    """
    bounds = Meta(ge=least, le=min(most, sys.float_info.max))
    kind = cast("type[float]", Annotated[float, bounds])
    return _converted(name, value, kind, f"a number {_range(least, most)}")


def integer(name: str, value: Any, least: int = 0, most: float = math.inf) -> int:
    """Return a whole number between two bounds, from a number or from its text.

    Examples
    --------
    >>> integer("shots", 4)
    4
    >>> integer("folds", 2.5, 2)
    Traceback (most recent call last):
    shroom.core.problems.ShroomError: folds: expected a whole number of at least 2, got 2.5
    >>> integer("seed", 10**19)
    Traceback (most recent call last):
    shroom.core.problems.ShroomError: seed: expected a whole number from 0 to ...
    """
    bounds = Meta(ge=least, le=int(min(most, sys.maxsize)))
    kind = cast("type[int]", Annotated[int, bounds])
    if most == math.inf and isinstance(value, int) and value > sys.maxsize:
        most = sys.maxsize
    return _converted(name, value, kind, f"a whole number {_range(least, most)}")


def share(name: str, value: object) -> float:
    """Return a number from 0 to 1.

    Examples
    --------
    >>> share("threshold", "0.25")
    0.25
    """
    return number(name, value, 0, 1)


def _converted(name: str, value: Any, kind: type[T], expected: str) -> T:
    """Return a value as one of a type; texts, as the command line has them, are parsed."""
    python_value = value.item() if isinstance(value, Number) and hasattr(value, "item") else value
    try:
        return msgspec.convert(python_value, kind, strict=False)
    except msgspec.ValidationError as error:
        raise ShroomError(f"{name}: expected {expected}, got {show(value)}") from error


def _range(least: float, most: float) -> str:
    if math.isfinite(most):
        return f"from {_shown(least)} to {_shown(most)}"
    return f"of at least {_shown(least)}"


def _shown(bound: float) -> str:
    return str(int(bound)) if bound == int(bound) else f"{bound:g}"


def text(name: str, value: Any) -> str:
    """Return a text that is not empty.

    Examples
    --------
    >>> text("model", "")
    Traceback (most recent call last):
    shroom.core.problems.ShroomError: model: expected a text, got ""
    """
    return _converted(name, value, _TEXT, "a text")


def flag(name: str, value: Any) -> bool:
    """Return true or false.

    Examples
    --------
    >>> flag("multilingual", "true")
    True
    """
    return _converted(name, value, bool, "true or false")


def one_of(name: str, value: object, allowed: Iterable[str]) -> str:
    """Return a value that is among those allowed.

    Examples
    --------
    >>> one_of("pooling", "mean", ["mean", "cls"])
    'mean'
    >>> one_of("pooling", "men", ["mean", "cls"])
    Traceback (most recent call last):
    shroom.core.problems.ShroomError: pooling: expected one of mean, cls, got "men"; did you ...
    """
    allowed = list(allowed)
    if not isinstance(value, str) or value not in allowed:
        hint = nearest(value, allowed) if isinstance(value, str) else ""
        listed = ", ".join(allowed)
        raise ShroomError(
            f"{name}: expected one of {listed}, got {show(value)}{hint and ';' + hint}"
        )
    return value


def rule(value: object) -> Rule:
    """Return a rule for choosing the reference.

    Examples
    --------
    >>> rule("src").name
    'SRC'
    """
    if isinstance(value, Rule):
        return value
    return Rule(one_of("reference", value, (member.value for member in Rule)))


def names(name: str, value: Any) -> tuple[str, ...]:
    """Return one name or several as a tuple.

    Examples
    --------
    >>> names("model", "one"), names("model", ["one", "two"])
    (('one',), ('one', 'two'))
    """
    expected = "a name or a list of names"
    if isinstance(value, (list, tuple)):
        return _converted(name, value, _TEXTS, expected)
    return (_converted(name, value, _TEXT, expected),)


def path(name: str, value: object) -> Path:
    """Return the path of a file or folder.

    Examples
    --------
    >>> path("model", "model.json").name
    'model.json'
    >>> path("model", 3)
    Traceback (most recent call last):
    shroom.core.problems.ShroomError: model: expected a path, got 3
    """
    if isinstance(value, Path) or (isinstance(value, str) and value.strip()):
        return Path(value)
    raise ShroomError(f"{name}: expected a path, got {show(value)}")
