"""What a recipe or the command line gives a detector, as the detector wants it."""

from __future__ import annotations

import math
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.datapoint import Rule
from shroom.core.problems import ShroomError, nearest, show

if TYPE_CHECKING:
    from collections.abc import Iterable


def number(name: str, value: Any, least: float = 0.0, most: float = math.inf) -> float:
    """Return a number between two bounds.

    Examples
    --------
    >>> number("timeout", "1.5")
    1.5
    >>> number("temperature", 3, 0, 2)
    Traceback (most recent call last):
    shroom.core.problems.ShroomError: temperature: expected a number from 0 to 2, got 3
    """
    found = _read(value)
    if not least <= found <= most:
        raise ShroomError(f"{name}: expected a number {_range(least, most)}, got {show(value)}")
    return found


def whole(name: str, value: Any, least: int = 0, most: float = math.inf) -> int:
    """Return a whole number between two bounds.

    Examples
    --------
    >>> whole("shots", 4)
    4
    >>> whole("folds", 2.5, 2)
    Traceback (most recent call last):
    shroom.core.problems.ShroomError: folds: expected a whole number of at least 2, got 2.5
    """
    found = _read(value)
    if not least <= found <= most or found != int(found):
        expected = f"expected a whole number {_range(least, most)}"
        raise ShroomError(f"{name}: {expected}, got {show(value)}")
    return int(value) if isinstance(value, int) else int(found)  # else the last digits may go


def share(name: str, value: object) -> float:
    """Return a number from 0 to 1.

    Examples
    --------
    >>> share("threshold", "0.25")
    0.25
    """
    return number(name, value, 0, 1)


def _read(value: Any) -> float:
    """Return what is a finite number as one, and else not a number."""
    try:
        found = float(value) if isinstance(value, (Real, str)) else math.nan
    except (ValueError, OverflowError):
        return math.nan
    return found if math.isfinite(found) and not isinstance(value, bool) else math.nan


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
    if not isinstance(value, str) or not value.strip():
        raise ShroomError(f"{name}: expected a text, got {show(value)}")
    return value


def flag(name: str, value: object) -> bool:
    """Return true or false.

    Examples
    --------
    >>> flag("multilingual", "true")
    True
    """
    found = {"true": True, "false": False}.get(str(value).lower())
    if found is None:
        raise ShroomError(f"{name}: expected true or false, got {show(value)}")
    return found


def one_of(name: str, value: object, known: Iterable[str]) -> str:
    """Return one of the values that are known.

    Examples
    --------
    >>> one_of("pooling", "mean", ["mean", "cls"])
    'mean'
    >>> one_of("pooling", "men", ["mean", "cls"])
    Traceback (most recent call last):
    shroom.core.problems.ShroomError: pooling: expected one of mean, cls, got "men"; did you ...
    """
    known = list(known)
    if not isinstance(value, str) or value not in known:
        hint = nearest(value, known) if isinstance(value, str) else ""
        listed = ", ".join(known)
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
    return Rule(one_of("reference", value, (known.value for known in Rule)))


def names(name: str, value: object) -> tuple[str, ...]:
    """Return one name or several as a tuple.

    Examples
    --------
    >>> names("model", "one"), names("model", ["one", "two"])
    (('one',), ('one', 'two'))
    """
    listed = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    if not listed or not all(isinstance(one, str) and one.strip() for one in listed):
        raise ShroomError(f"{name}: expected a name or a list of names, got {show(value)}")
    return listed


def path(name: str, value: object) -> Path:
    """Return the place of a file or folder.

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
