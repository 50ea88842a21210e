"""Editions as plain values: those of a file, and the JSON that the scoring program gets."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import json
import re
import typing
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from shroom.core.problems import ShroomError
from shroom.scoring.editions.edition import Edition

#: The most bytes of a file of settings, and levels of tables and lists in it.
MAX_BYTES, MAX_LEVELS = 1 << 20, 10
#: Comments and texts of TOML, and the texts of JSON; one that does not end lasts to the end.
_TEXTS = re.compile(
    r"#[^\n]*"
    r'|"""[^\\"]*(?:(?:\\.|"(?!""))[^\\"]*)*(?:"""|\Z)'
    r"|'''.*?(?:'''|\Z)"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"?'
    r"|'[^'\n]*'?",
    re.DOTALL,
)


def read_plain(path: Path) -> Any:
    """Return the values of a TOML file, or of a JSON file, which its ending shows.

    Raises
    ------
    ShroomError
        If it cannot be read, or is too large or too deep: a key with a thousand dots takes
        gigabytes.
    """
    import tomllib  # which Python 3.9 has not; the scoring program gets its edition as JSON

    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ShroomError(f"{path}: is larger than {MAX_BYTES} bytes; name a file of settings")
        text = content.decode("utf-8-sig")
        if _levels(text) > MAX_LEVELS:
            raise ShroomError(
                f"{path}: nests too deeply; use at most {MAX_LEVELS} levels of tables and lists"
            )
        return json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise ShroomError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        form = "JSON" if path.suffix == ".json" else "TOML"
        raise ShroomError(f"{path}: is not {form}: {error}") from error


def _levels(text: str) -> int:
    """Return at least the number of levels of a file, without reading its values."""
    bare, most, depth = _TEXTS.sub("", text), 0, 0
    for piece in re.split(r"([\[\]{}])|[=,\n]", bare):
        if piece and piece in "[{":
            depth += 1
        elif piece and piece in "]}":
            depth = max(depth - 1, 0)
        most = max(most, depth, (piece or "").count("."))
    return most


def from_plain(plain: Mapping[str, Any]) -> Edition:
    """Return the edition of plain values that have been validated."""
    edition: Edition = _built(Edition, plain)
    return edition


def to_plain(edition: Edition) -> dict[str, Any]:
    """Return an edition as plain values for JSON; :func:`from_plain` reads them."""
    plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(edition), default=str))
    return plain


def given(value: Any) -> Any:
    """Return an edition, or a part of one, as plain values without those that are the default.

    Examples
    --------
    >>> given(Edition("own", "Own", 2027, languages=("es",), average=False))
    {'name': 'own', 'title': 'Own', 'year': 2027, 'languages': ['es']}
    """
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
