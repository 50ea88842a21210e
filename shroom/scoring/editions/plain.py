"""Editions as plain values: from a TOML or JSON file, and as JSON for the scoring program."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import typing
from collections.abc import Mapping, Sequence
from enum import EnumMeta
from pathlib import Path
from typing import Any

from shroom.core.problems import ShroomError, nearest, show
from shroom.scoring.editions.edition import Edition

#: The largest file of settings in bytes, and its most dots in a line.
MAX_BYTES, MAX_DOTS = 1 << 20, 200


class WrongEdition(ShroomError):  # noqa: N818 - like other errors of the kit
    """An edition with mistakes; ``problems`` lists all of them."""

    def __init__(self, problems: Sequence[str], path: Path | None = None) -> None:
        self.problems = [f"{path}: {it}" for it in problems] if path else [*problems]
        super().__init__("; ".join([*self.problems[:1], *problems[1:]]))


def read_plain(path: Path) -> Any:
    """Return the values of a TOML file, or of a JSON file if its name ends in ``.json``."""
    import tomllib  # missing in Python 3.9; the scoring program reads its edition as JSON

    deep = f"{path} is nested too deeply; use at most 10 levels of tables and lists"
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ShroomError(f"{path} is larger than {MAX_BYTES} bytes; is it the right file?")
        text = content.decode("utf-8-sig")
        if any(line.count(".") > MAX_DOTS for line in text.splitlines()):
            raise ShroomError(deep)  # parsing a key with thousands of dots takes gigabytes
        return json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise ShroomError(f"{path}: {error.strerror}") from error
    except RecursionError as error:
        raise ShroomError(deep) from error
    except ValueError as error:
        form = "JSON" if path.suffix == ".json" else "TOML"
        raise ShroomError(f"{path} is not valid {form}: {error}") from error


def from_plain(plain: Any) -> Edition:
    """Return the edition of plain values; raise an error with every wrong key and value."""
    problems: list[str] = []
    edition: Edition = _typed(Edition, plain, "", problems)
    if problems:
        raise WrongEdition(problems)
    return edition


def to_plain(edition: Edition) -> dict[str, Any]:
    """Return an edition as plain values for JSON; the inverse of :func:`from_plain`."""
    plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(edition), default=str))
    return plain


def given(value: Any) -> Any:
    """Return an edition, or a part of one, as plain values without its default values."""
    if isinstance(value, dict):
        return {key: given(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [given(part) for part in value]
    if not dataclasses.is_dataclass(value):
        return value
    parts = {}
    for field in dataclasses.fields(value):
        makes = field.default_factory
        default = field.default if makes is dataclasses.MISSING else makes()
        part = given(getattr(value, field.name))
        if part != given(default):
            parts[field.name] = part
    return parts


def day_or_time(text: str) -> dt.date:
    """Return the date, or the date and time, that a text contains; else raise ``ValueError``."""
    if len(text) <= len("2027-01-31"):
        return dt.date.fromisoformat(text)
    return dt.datetime.fromisoformat(text.replace("Z", "+00:00"))


def _typed(kind: Any, value: Any, place: str, problems: list[str]) -> Any:
    """Return a plain value converted to a type; what is wrong with it goes to ``problems``."""
    base, arguments = typing.get_origin(kind) or kind, typing.get_args(kind)
    if base is typing.Union:  # of a type and None
        return None if value is None else _typed(arguments[0], value, place, problems)
    if dataclasses.is_dataclass(base) and isinstance(value, Mapping):
        return _object(base, value, place, problems)
    if base is dict and isinstance(value, Mapping):
        parts = value.items()
        return {key: _typed(arguments[1], it, f"{place}.{key}", problems) for key, it in parts}
    if base is tuple and isinstance(value, (list, tuple)):
        places = (f"{place}[{index}]" for index in range(len(value)))
        return tuple(_typed(arguments[0], it, at, problems) for it, at in zip(value, places))
    try:
        if base is dt.date and isinstance(value, (dt.date, str)):
            return day_or_time(value) if isinstance(value, str) else value
        if base is typing.Literal and isinstance(value, str):
            return arguments[arguments.index(value)]
        if isinstance(base, EnumMeta) and isinstance(value, str):
            return base(value)
    except ValueError:
        expected = "a date such as 2027-01-31 or a time such as 2027-01-31T23:59:59-12:00"
        if base is not dt.date:
            choices = arguments if base is typing.Literal else [each.value for each in base]
            expected = f"one of {', '.join(choices)}"
        problems.append(f"{place}: expected {expected}, got {show(value)}")
        return None
    if type(value) is not base and not (base is float and type(value) is int):
        got = show(str(value) if isinstance(value, (dt.date, dt.time)) else value)
        problems.append(f"{place or 'the file'}: expected {_name_of(base)}, got {got}")
    return value


def _object(kind: Any, value: Mapping[str, Any], place: str, problems: list[str]) -> Any:
    """Return a table as a dataclass; ``None`` if it has a mistake."""
    types, above, before = typing.get_type_hints(kind), f"{place}." if place else "", len(problems)
    parts = {}
    for key, part in value.items():
        if key in types:
            parts[key] = _typed(types[key], part, f"{above}{key}", problems)
        else:
            hint = nearest(key, types) or f" the keys are {', '.join(types)}"
            problems.append(f"{above}{key}: unknown key;{hint}")
    for field in dataclasses.fields(kind):
        is_needed = field.default is field.default_factory is dataclasses.MISSING
        if is_needed and field.name not in value:
            problems.append(f"{above}{field.name}: missing; this key is required")
    return kind(**parts) if len(problems) == before else None


def _name_of(kind: Any) -> str:
    """Return the words for a type in a file."""
    names = {int: "a whole number", float: "a number", bool: "true or false", tuple: "a list"}
    names |= {dt.date: "a date", dict: "a table"}
    return "a table" if dataclasses.is_dataclass(kind) else names.get(kind, "a text")
