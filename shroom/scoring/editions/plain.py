"""Editions as plain values, for JSON: the form in which the scoring program gets one."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import json
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any

from shroom.scoring.editions.edition import Edition


def from_plain(plain: Mapping[str, Any]) -> Edition:
    """Return the edition of plain values that have been validated."""
    edition: Edition = _built(Edition, plain)
    return edition


def to_plain(edition: Edition) -> dict[str, Any]:
    """Return an edition as plain values for JSON; :func:`from_plain` reads them."""
    plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(edition), default=str))
    return plain


def day_or_time(text: str) -> dt.date:
    """Return the date of a text, or the time if it has one.

    Raises
    ------
    ValueError
        If it has neither.

    Examples
    --------
    >>> print(day_or_time("2027-02-28"), day_or_time("2027-02-28T23:59:59-12:00"))
    2027-02-28 2027-02-28 23:59:59-12:00
    """
    if len(text) <= len("2027-01-31"):
        return dt.date.fromisoformat(text)
    return dt.datetime.fromisoformat(text.replace("Z", "+00:00"))


@functools.cache
def types_of(kind: Any) -> dict[str, Any]:
    """Return the types of a dataclass's fields by name."""
    return typing.get_type_hints(kind)


def _built(kind: Any, value: Any) -> Any:
    """Return plain values as what a type says: dataclasses, tuples, enums, dates."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union:
        return None if value is None else _built(arguments[0], value)
    if origin is tuple:
        return tuple(_built(arguments[0], part) for part in value)
    if origin is dict:
        return {key: _built(arguments[1], part) for key, part in value.items()}
    if hasattr(kind, "__dataclass_fields__"):
        types = types_of(kind)
        return kind(**{key: _built(types[key], part) for key, part in value.items()})
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if kind is dt.date and isinstance(value, str):
        return day_or_time(value)
    return value
