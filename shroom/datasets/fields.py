"""The fields of a record type, whose types are the validation of a row.

A field without a default is required. A default replaces absent and odd values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
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

#: By type: the expected value, its plural, and the code of any other value.
_TYPES: dict[Any, tuple[str, str, str]] = {
    str: ("a text", "texts", "text-odd"),
    bool: ("true or false", "true or false", "word-odd"),
    int: ("a whole number", "whole numbers", "number-odd"),
    float: ("a finite number", "finite numbers", "number-odd"),
    tuple: ("a list", "lists", "list-odd"),
    dict: ("an object", "objects", "object-odd"),
}
_OTHERWISE = {(): "read as empty", "": "read as empty", None: "treated as missing"}


@dataclass(frozen=True)
class Rule:
    """How a field is read, in addition to its type.

    Attributes
    ----------
    otherwise : object
        The replacement for an invalid value, and for a missing value if there is no default.
    null : bool
        Whether an optional field may be null.
    words : tuple of str
        Known texts. Other texts are reported and kept.
    code : str
        The code of an invalid value; by default, the code of the type.
    unknown : str
        The code of an unknown word.
    often : bool
        Whether an unknown word is reported only once for each file.
    expected : str
        The expected value in words; by default, the type.
    parse : callable, optional
        ``(value, report, key) -> value``, used instead of the type. It may raise :class:`Odd`.
    lenient : bool
        Whether to leave out list items that are not objects. Otherwise, the list is invalid.
    item : str
        The name of an object of a list in messages; by default, its key and place.
    """

    otherwise: Any = NODEFAULT
    null: bool = True
    words: tuple[str, ...] = ()
    code: str = ""
    unknown: str = "word-odd"
    often: bool = False
    expected: str = ""
    parse: Callable[[Any, Report, str], Any] | None = None
    lenient: bool = False
    item: str = ""


#: A text; an absent or odd value is reported and read as empty, or as ``None``.
Text = Annotated[str, Rule("")]
TextOrNone = Annotated[Optional[str], Rule(None, null=False)]
#: A list of texts; an absent or odd value is reported and read as empty.
Texts = Annotated[tuple[str, ...], Rule(())]
#: A text that is not blank; other rows are dropped.
Filled = Annotated[str, Meta(pattern=r"\S", title="a text that is not blank")]
#: A finite number.
Number = Union[int, Annotated[float, Meta(ge=-1.7e308, le=1.7e308)]]
#: A place in a text.
Index = Annotated[int, Meta(ge=0, title="a whole number that is not negative")]


class Odd(ValueError):  # noqa: N818 - a value, which the reader replaces and reports
    """A value does not fit its field."""


class Unusable(Exception):  # noqa: N818 - a row without what every record needs
    """A row cannot be a record; ``args`` are key or ``None``, expected and found value."""


class _Field(NamedTuple):
    """A field of a record type, with replacements for absent and for odd values."""

    name: str
    key: str
    hint: Any
    rule: Rule
    default: Any
    otherwise: Any
    record: type[Struct] | None  # of the objects in its list
    expected: str
    code: str


@cache
def _fields(kind: type[Struct]) -> list[_Field]:
    return [_field(info) for info in msgspec.structs.fields(kind) if info.name != "extra"]


def _field(info: msgspec.structs.FieldInfo) -> _Field:
    metadata = getattr(info.type, "__metadata__", ())
    rule = next((it for it in metadata if isinstance(it, Rule)), Rule())
    plain = _plain(info.type)
    inner = _plain(get_args(plain)[0]) if get_origin(plain) is tuple else None
    expected, _, code = _in_words(plain)
    title = next((it.title for it in metadata if isinstance(it, Meta) and it.title), expected)
    default = info.default if info.default_factory is NODEFAULT else info.default_factory()
    return _Field(
        info.name,
        info.encode_name,
        info.type,
        rule,
        default,
        default if rule.otherwise is NODEFAULT else rule.otherwise,
        inner if isinstance(inner, type) and issubclass(inner, Struct) else None,
        rule.expected or title,
        rule.code or code,
    )


def _plain(hint: Any) -> Any:
    """Return a type without annotations and without ``None``."""
    if get_origin(hint) is Annotated:
        return _plain(get_args(hint)[0])
    if get_origin(hint) is Union:
        *_, last = (part for part in get_args(hint) if part is not type(None))
        return _plain(last)
    return hint


def _in_words(plain: Any) -> tuple[str, str, str]:
    if get_origin(plain) is tuple:
        return f"a list of {_in_words(_plain(get_args(plain)[0]))[1]}", "lists", "list-odd"
    if isinstance(plain, type) and issubclass(plain, Enum):
        words = " or ".join(show(word.value) for word in plain)
        return words, words, "word-odd"
    if get_origin(plain) is Literal:
        words = " or ".join(map(show, get_args(plain)))
        return words, words, "word-odd"
    return _TYPES.get(get_origin(plain) or plain, _TYPES[dict])


def columns(kind: type[Struct]) -> dict[str, bool]:
    """Return the keys of a record type, each with whether a row needs it."""
    return {field.key: field.default is NODEFAULT for field in _fields(kind)}


def build(kind: type[R], item: dict[str, Any], report: Report, above: str = "") -> R:
    """Return an object of a row as a record; ``above`` is its path in the row."""
    if id(item) in report.read:
        return report.read[id(item)][1]  # type: ignore[no-any-return]
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
    record = kind(**values)
    report.read[id(item)] = item, record
    return record


def _instead(field: _Field, row: Mapping[str, Any], report: Report, place: str) -> Any:
    """Return the replacement of an odd or absent value, and report the value."""
    got = show(row[field.key]) if field.key in row else "no such key"
    if field.otherwise is NODEFAULT:
        raise Unusable(place, field.expected, got)
    code, expected, value = field.code, field.expected, row.get(field.key)
    if code == "text-odd" and isinstance(value, float) and not math.isfinite(value):
        code = "value-finite"
    if "(" not in expected:
        otherwise = _OTHERWISE.get(field.otherwise, f"read as {show(field.otherwise)}")
        expected += f" (otherwise {otherwise})"
    report.add(code, place, expected, got)
    return field.otherwise


def _read(field: _Field, value: Any, report: Report, place: str) -> Any:
    """Return the value of a field; raise ``ValueError``, such as :class:`Odd`, if it is odd."""
    rule = field.rule
    if rule.parse is not None:
        return rule.parse(value, report, place)
    if value is None and not rule.null:
        raise Odd
    if field.record is not None and value is not None:
        return tuple(_records(field, value, report, place))
    read = msgspec.convert(value, field.hint)
    if rule.words and read not in rule.words:
        expected = f"one of {', '.join(rule.words)}"
        report.add(rule.unknown, place, expected, show(read), often=rule.often)
    return read


def _records(field: _Field, value: Any, report: Report, place: str) -> Iterator[Struct]:
    record = field.record or Struct
    if not isinstance(value, list):
        raise Odd
    if not field.rule.lenient and not all(isinstance(item, dict) for item in value):
        raise Odd
    for number, item in enumerate(value):
        name = f"{field.rule.item} {number}" if field.rule.item else f"{place}[{number}]"
        if isinstance(item, dict):
            above = name + (": " if field.rule.item else ".")
            yield build(record, item, report, above)
        else:
            report.add("object-odd", name, "an object (any other value is left out)", show(item))
