"""From bytes to items, the slow way: with the standard library, explaining every problem."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from shroom.problems import show

if TYPE_CHECKING:
    from shroom.problems import Problems

_BOM = b"\xef\xbb\xbf"
#: Longer whole numbers are no ids, and Python refuses to read them from 3.11 on.
_MAX_DIGITS = 4000


def items(data: bytes, file: str, problems: Problems, *, lines: bool = False) -> list[Any] | None:
    """Return the items of a document, or ``None`` where it cannot be read.

    In JSON Lines, a line that cannot be read leaves :data:`BROKEN` in its place.

    Parameters
    ----------
    data : bytes
        A JSON list, or JSON Lines.
    file : str
        How to name the file in messages.
    problems : Problems
        Gets ``not-utf8``, ``not-json``, ``not-a-list`` and ``empty``.
    lines : bool
        Whether it is JSON Lines.
    """
    text = _text(data.removeprefix(_BOM), file, problems)
    if text is None:
        return None
    found = _json_lines(text, file, problems) if lines else _json_list(text, file, problems)
    if found is not None and not found:
        problems.add("empty", file, "at least one item", "none")
        return None
    return found


def _text(data: bytes, file: str, problems: Problems) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        found = f"byte 0x{data[error.start]:02x} at line {line}, byte {column}"
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            found += " (this looks like UTF-16)"
        problems.add("not-utf8", file, "UTF-8", found)
        return None


def _json_list(text: str, file: str, problems: Problems) -> list[Any] | None:
    if not text.strip():
        problems.add("empty", file, "a JSON list", "an empty file")
        return None
    value = _load(text, file, problems)
    if isinstance(value, list):
        return value
    if value is not BROKEN:
        found = "an object" if isinstance(value, dict) else show(value)
        problems.add("not-a-list", file, "a list of items", found)
    return None


def _json_lines(text: str, file: str, problems: Problems) -> list[Any] | None:
    # Not splitlines(): it would also split at U+0085 and U+2028, which may stand in a string.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if text.lstrip().startswith("[") and is_json(text):
        problems.add("not-json", file, "JSON Lines", "one JSON list (name it .json)")
        return None
    return [_load(line, file, problems, line=number) for number, line in lines]


def is_json(text: str) -> bool:
    """Return whether a text is one JSON value."""
    try:
        json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError):
        return False
    return True


class Doubled(dict[str, Any]):
    """An object that has had keys more than once; of each it holds the last value."""

    keys_doubled: list[str]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    doubled = Doubled(found)
    counts = Counter(key for key, _ in pairs)
    doubled.keys_doubled = [key for key, times in counts.items() if times > 1]
    return doubled


def report_doubled(item: dict[str, Any], file: str, problems: Problems, **place: Any) -> None:
    """Report the keys that an object has had more than once, as one ``key-doubled``."""
    if isinstance(item, Doubled):
        found = f"{' and '.join(map(show, item.keys_doubled))} again (the last counts)"
        problems.add("key-doubled", file, "each key once", found, **place)


#: Stands for what could not be read and has been reported, so that later items keep their place.
BROKEN = object()


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else float(digits)


def _load(text: str, file: str, problems: Problems, line: int | None = None) -> Any:
    try:
        return json.loads(text, parse_int=_integer, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        place = f"line {line or error.lineno}, column {error.colno}"
        problems.add("not-json", file, "JSON", f"{_reason(error, line)} at {place}")
    except RecursionError:
        problems.add("not-json", file, "JSON", "brackets that nest too deeply")
    return BROKEN


def _reason(error: json.JSONDecodeError, line: int | None) -> str:
    if error.msg == "Extra data":
        return "more text after the end" + ("" if line else " (name JSON Lines .jsonl)")
    return error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
