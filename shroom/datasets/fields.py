"""The fields of a record type, whose types are the validation of a row.

A field without a default is required. A default replaces absent and odd values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Optional,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import msgspec
from msgspec import NODEFAULT, Meta, Struct

from shroom.core.problems import show
from shroom.datasets.collection import Report

R = TypeVar("R", bound=Struct)

#: By type: the expected value, and the code of any other value.
_TYPES: dict[Any, tuple[str, str]] = {
    str: ("a text", "text-odd"),
    bool: ("true or false", "word-odd"),
    int: ("a whole number", "number-odd"),
    float: ("a finite number", "number-odd"),
    dict: ("an object", "object-odd"),
}
_OTHERWISE = {(): "read as empty", "": "read as empty", None: "treated as missing"}


@dataclass(frozen=True)
class Rule:
    """How a field is read, in addition to its type.

    Attributes
    ----------
    otherwise : object
        The replacement for an invalid value, and for a missing value if there is no default.
    words : tuple of str
        Known texts. Other texts are reported and kept.
    code : str
        The code of an invalid value; by default, the code of the type.
    expected : str
        The expected value in words; by default, the type.
    parse : callable, optional
        ``(value, report, key) -> value``, used instead of the type. It may raise :class:`Odd`.
    """

    otherwise: Any = NODEFAULT
    words: tuple[str, ...] = ()
    code: str = ""
    expected: str = ""
    parse: Callable[[Any, Report, str], Any] | None = None


#: A text; an absent or odd value is reported and read as empty, or as ``None``.
Text = Annotated[str, Rule("")]
TextOrNone = Annotated[Optional[str], Rule(None)]
#: A list of texts; an absent or odd value is reported and read as empty.
Texts = Annotated[tuple[str, ...], Rule(())]
#: A text that is not blank; other rows are dropped.
Filled = Annotated[str, Meta(pattern=r"\S", title="a text that is not blank")]
#: A finite number.
Finite = Annotated[float, Meta(ge=-1.7e308, le=1.7e308)]
Number = Union[int, Finite]
#: A place in a text.
Index = Annotated[int, Meta(ge=0, title="a whole number that is not negative")]


class Odd(ValueError):  # noqa: N818 - a value, which the reader replaces and reports
    """A value does not fit its field."""


class Unusable(Exception):  # noqa: N818 - a row without what every record needs
    """A row cannot be a record; ``args`` are key or ``None``, expected and found value."""


class _Field(NamedTuple):
    """A field of a record type; its rule has the replacement of odd values, and the messages."""

    name: str
    key: str
    hint: Any
    default: Any
    record: type[Struct] | None  # of the objects in its list
    rule: Rule


@cache
def _fields(kind: type[Struct]) -> list[_Field]:
    return [_field(info) for info in msgspec.structs.fields(kind) if info.name != "extra"]


def _field(info: msgspec.structs.FieldInfo) -> _Field:
    metadata = getattr(info.type, "__metadata__", ())
    rule = next((it for it in metadata if isinstance(it, Rule)), Rule())
    plain = _plain(info.type)
    inner = _plain(get_args(plain)[0]) if get_origin(plain) is tuple else None
    is_record = isinstance(inner, type) and issubclass(inner, Struct)
    expected, code = _in_words(plain)
    expected = next((it.title for it in metadata if isinstance(it, Meta) and it.title), expected)
    default = info.default if info.default_factory is NODEFAULT else info.default_factory()
    rule = replace(
        rule,
        otherwise=default if rule.otherwise is NODEFAULT else rule.otherwise,
        expected=rule.expected or expected,
        code=rule.code or code,
    )
    record = inner if is_record else None
    return _Field(info.name, info.encode_name, info.type, default, record, rule)


def _plain(hint: Any) -> Any:
    """Return a type without annotations and without ``None``."""
    if get_origin(hint) is Annotated:
        return _plain(get_args(hint)[0])
    if get_origin(hint) is Union:
        return _plain([part for part in get_args(hint) if part is not type(None)][-1])
    return hint


def _in_words(plain: Any) -> tuple[str, str]:
    """Return the expected value of a type, and the code of any other value."""
    if get_origin(plain) is tuple:
        item, _ = _in_words(_plain(get_args(plain)[0]))
        items = re.sub("^an? (.*)", r"\1s", item)
        return f"a list of {items}", "list-odd"
    if get_origin(plain) is Literal:
        return " or ".join(map(show, get_args(plain))), "word-odd"
    return _TYPES.get(get_origin(plain) or plain, _TYPES[dict])


def from_cells(kind: type[Struct], row: Mapping[str, str]) -> dict[str, Any]:
    """Return a row of a CSV file with values of the types of the fields, where cells fit them."""
    values: dict[str, Any] = dict(row)
    for field in _fields(kind):
        if field.key in row and _plain(field.hint) is not str:
            cell = row[field.key].strip() or None
            with suppress(msgspec.ValidationError):
                values[field.key] = msgspec.convert(cell, field.hint, strict=False)
    return values


def build(kind: type[R], item: dict[str, Any], report: Report, above: str = "") -> R:
    """Return an object of a row as a record; ``above`` is its path in the row."""
    prepare = getattr(kind, "prepare", None)
    row = prepare(item, report) if prepare else item
    values: dict[str, Any] = {}
    left = dict(item)
    for field in _fields(kind):
        place = above + field.key
        if field.key in row:
            try:
                values[field.name] = _read(field, row[field.key], report, place)
                left.pop(field.key, None)
            except ValueError:
                values[field.name] = _instead(field, row, report, place)
        elif field.default is NODEFAULT:
            values[field.name] = _instead(field, row, report, place)
    if "extra" in kind.__struct_fields__:
        values["extra"] = left
    return kind(**values)


def _instead(field: _Field, row: Mapping[str, Any], report: Report, place: str) -> Any:
    """Return the replacement of an odd or absent value, and report the value."""
    code, expected, otherwise = field.rule.code, field.rule.expected, field.rule.otherwise
    got = show(row[field.key]) if field.key in row else "no such key"
    if otherwise is NODEFAULT:
        raise Unusable(place, expected, got)
    if code == "text-odd" and got in ("NaN", "Infinity", "-Infinity"):
        code = "value-finite"
    if "(" not in expected:
        replaced = _OTHERWISE.get(otherwise, f"read as {show(otherwise)}")
        expected += f" (otherwise {replaced})"
    report.add(code, place, expected, got)
    return otherwise


def _read(field: _Field, value: Any, report: Report, place: str) -> Any:
    """Return the value of a field; raise ``ValueError``, such as :class:`Odd`, if it is odd."""
    rule = field.rule
    if rule.parse is not None:
        return rule.parse(value, report, place)
    if field.record is not None and value is not None:
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise Odd
        items = enumerate(value)
        return tuple(build(field.record, it, report, f"{place}[{at}].") for at, it in items)
    read = msgspec.convert(value, field.hint)
    if rule.words and read is not None and read not in rule.words:
        expected = f"one of {', '.join(rule.words)}"
        report.add("word-odd", place, expected, show(read))
    return read
