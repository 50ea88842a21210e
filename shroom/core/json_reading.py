"""Decoding of JSON with the standard library, item by item, with a report of every problem."""

# A window of text contains a whole item, so the longest item limits the memory.

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NoReturn, Union

from shroom.core import frame_json
from shroom.core.printing import counted, show
from shroom.core.problems import Problems, Stopped

#: The longest item, in bytes.
MAX_ITEM = 1 << 22
#: Longer integers are not ids, and Python 3.11 refuses to read them.
_MAX_DIGITS = 4000
#: The number of repeated keys that a message lists.
_NAMED = 5
#: The number of bytes that are decoded at once.
_BLOCK = 1 << 20
_BLANKS = re.compile(rb"[ \t\n\r]*")
_past_blanks = re.compile(r"[ \t\n\r]*").match
_LINE = re.compile(rb"[^ \t\n\r\f\v][^\n]*")
#: The rest of a number or a word at the end of a truncated file.
_BEGUN = re.compile(r"[\w.+-]{0,5}\s*")
_Error = Union[json.JSONDecodeError, RecursionError]

#: Replaces an unreadable item that was reported, so that later items keep their index.
BROKEN = object()


def iter_items(data: bytes, file: str, problems: Problems, *, lines: bool = False) -> Iterator[Any]:
    """Yield the items of a document; :data:`BROKEN` for an unreadable line."""
    reader = _Reader(data, file, problems)
    items = reader.lines() if lines else reader.items()
    yield from reader.some(items, "at least one item", "none")


class Doubled(dict[str, Any]):
    """An object in which keys occurred more than once; it has the last value of each key."""

    keys_doubled: list[str]


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object from its keys and values; it remembers repeated keys."""
    values = dict(pairs)
    if len(values) == len(pairs):
        return values
    doubled = Doubled(values)
    counts = Counter(key for key, _ in pairs)
    doubled.keys_doubled = [key for key, times in counts.items() if times > 1]
    return doubled


def report_doubled(item: dict[str, Any], file: str, problems: Problems, **place: Any) -> None:
    """Report the repeated keys of an object as one ``key-doubled``."""
    if isinstance(item, Doubled):
        problems.add("key-doubled", file, "each key only once", partial(again, item), **place)


def again(item: Doubled) -> str:
    """Return the description of repeated keys in a problem."""
    return f"{named_doubled(item)} more than once (the last value is used)"


def named_doubled(item: Doubled) -> str:
    """Return the first few repeated keys of an object, as text."""
    keys = item.keys_doubled
    rest = len(keys) - _NAMED
    named = [*map(show, keys[:_NAMED]), *([counted(rest, "other key")] if rest > 0 else [])]
    return " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))


class Reading:
    """A file that is being read, and the report of an error that stops the reading."""

    def __init__(self, file: str, problems: Problems) -> None:
        self.file, self.problems = file, problems

    def stop(self, code: str, expected: str, found: str) -> NoReturn:
        """Report a problem and stop reading."""
        self.problems.add(code, self.file, expected, found)
        raise Stopped(self.problems)

    def some(self, items: Iterable[Any], expected: str, found: str) -> Iterator[Any]:
        """Yield the items; stop if there are none."""
        is_empty = True
        for item in items:
            is_empty = False
            yield item
        if is_empty:
            self.stop("empty", expected, found)


def not_utf8_at(data: bytes) -> int | None:
    """Return the position of the first byte that is not UTF-8, or ``None``."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in () if data.isascii() else range(0, len(data), _BLOCK):
        end, pending = start + _BLOCK, len(decoder.getstate()[0])
        try:
            decoder.decode(data[start:end], final=end >= len(data))
        except UnicodeDecodeError as error:
            return start - pending + error.start
    return None


def value_in(text: str) -> Any:
    """Return the JSON value of a text; :data:`BROKEN` if it is not JSON."""
    try:
        return _DECODER.decode(text)
    except (json.JSONDecodeError, RecursionError):
        return BROKEN


class _Reader(Reading):
    """A JSON document that is being read."""

    def __init__(self, data: bytes, file: str, problems: Problems) -> None:
        super().__init__(file, problems)
        self.data = data.removeprefix(codecs.BOM_UTF8)
        if b"\0" in self.data[:4] and self.data[:4].strip(b"\0"):
            self.stop("not-utf8", "UTF-8", "NUL bytes (this looks like UTF-16)")
        at = not_utf8_at(self.data)
        if at is not None:
            line, before = self.line_before(at)
            found = f"byte 0x{self.data[at]:02x} at line {line}, byte {len(before) + 1}"
            self.stop("not-utf8", "UTF-8", found)

    def line_before(self, at: int) -> tuple[int, bytes]:
        """Return the line number of a byte, from 1, and the part of the line before it."""
        return self.data.count(b"\n", 0, at) + 1, self.data[self.data.rfind(b"\n", 0, at) + 1 : at]

    def place(self, at: int) -> str:
        """Return the line and the column (in characters) of a byte, both from 1."""
        line, before = self.line_before(at)
        return f"line {line}, column {len(before.decode()) + 1}"

    def past_blanks(self, at: int) -> int:
        return _BLANKS.match(self.data, at).end()  # type: ignore[union-attr]

    def items(self) -> Iterator[Any]:
        """Yield the items of a list."""
        start = self.past_blanks(0)
        if start == len(self.data):
            self.stop("empty", "a JSON list", "an empty file")
        if not self.data.startswith(b"[", start):
            self.refuse_value(start)
        start = self.past_blanks(start + 1)
        if self.data.startswith(b"]", start):
            return self.check_end(start + 1)
        window, at, mark = self.window(start), 0, ","
        while mark == ",":
            if at == 0:
                values, at = _many(window)
                yield from values
            try:
                value, end = _item(window, at)
            except (json.JSONDecodeError, RecursionError) as error:
                if at == 0:
                    self.refuse(start, error)
                # The item may be cut off by the end of the window.
                start = self.past_blanks(start + _size(window[:at]))
                window, at = self.window(start), 0
                continue
            yield value
            mark, at = window[end], end + 1
        return self.check_end(start + _size(window[:at]))

    def window(self, start: int) -> str:
        """Return the text from a byte on, long enough for any item, without a cut-off character."""
        return self.data[start : start + MAX_ITEM].decode("utf-8", "ignore")

    def check_end(self, at: int) -> None:
        rest = self.past_blanks(at)
        if rest < len(self.data):
            found = f"more text after the JSON value at {self.place(rest)}"
            found += " (if this is JSON Lines, use the ending .jsonl)"
            self.stop("not-json", "JSON", found)

    def refuse_value(self, start: int) -> NoReturn:
        """Report a document that is not a list."""
        self.refuse_frame(start, "a list of items")
        window = self.window(start)
        try:
            value, end = _DECODER.raw_decode(window)
        except (json.JSONDecodeError, RecursionError) as error:
            self.refuse(start, error)
        self.check_end(start + _size(window[:end]))
        found = "an object" if isinstance(value, dict) else show(value)
        self.stop("not-a-list", "a list of items", found)

    def refuse_frame(self, start: int, expected: str) -> None:
        """Report a data frame that begins at a position, if there is one."""
        cut = start + MAX_ITEM < len(self.data)
        if frame_json.is_frame(self.window(start), cut=cut):
            self.stop("not-a-list", expected, frame_json.FRAME)

    def refuse(self, start: int, error: _Error) -> NoReturn:
        """Report why the item at a position could not be decoded in its window."""
        cut = start + MAX_ITEM < len(self.data)
        at_end = isinstance(error, json.JSONDecodeError) and (
            error.msg.startswith("Unterminated") or error.pos > len(error.doc) - 20
        )
        if cut and at_end:
            found = f"a larger item at {self.place(start)}"
            self.stop("too-large", f"items of at most {MAX_ITEM >> 20} MiB", found)
        self.stop("not-json", "JSON", self.reason(start, error))

    def reason(self, start: int, error: _Error, *, may_be_cut: bool = True) -> str:
        """Return why the text at a position cannot be decoded."""
        if isinstance(error, RecursionError):
            return "brackets nested too deeply"
        reason = f"invalid JSON: {error.msg[:1].lower()}{error.msg[1:].removesuffix(' at')}"
        if error.msg == "Extra data":
            reason = "more text after the JSON value"
        is_cut = error.msg.startswith("Unterminated") or (
            error.pos > 0 and _BEGUN.fullmatch(error.doc, error.pos)
        )
        note = " (the file ends inside an item or a list, so it may be cut off)"
        place = self.place(start + _size(error.doc[: error.pos]))
        return f"{reason} at {place}{note if is_cut and may_be_cut else ''}"

    def lines(self) -> Iterator[Any]:
        """Yield the items of JSON Lines."""
        first = _LINE.search(self.data)
        if first and first[0].startswith(b"["):
            self.stop("not-json", "JSON Lines", "one JSON list (use the ending .json)")
        if first and self.past_blanks(first.end()) == len(self.data):
            self.refuse_frame(first.start(), "one item per line")
        for match in _LINE.finditer(self.data):
            start, end = match.span()
            if end - start > MAX_ITEM:
                found = f"a longer line at {self.place(start)}"
                self.stop("too-large", f"lines of at most {MAX_ITEM >> 20} MiB", found)
            text = match[0].decode()
            if text.isspace():
                continue
            try:
                item = _DECODER.decode(text)
            except (json.JSONDecodeError, RecursionError) as error:
                is_last = self.past_blanks(end) == len(self.data)
                reason = partial(self.reason, start, error, may_be_cut=is_last)
                self.problems.add("not-json", self.file, "JSON", reason)
                item = BROKEN
            yield item


def _many(text: str) -> tuple[list[Any], int]:
    """Return the first items of a list without brackets, and the position of the next item."""
    # Decoding many items at once takes half the time, but fails if any of them is broken.
    cut = text.rfind("},") + 1
    values: Any = value_in(f"[{text[:cut]}]") if cut else BROKEN
    return ([], 0) if values is BROKEN else (values, cut + 1)


def _item(text: str, at: int) -> tuple[Any, int]:
    """Return the value at a position, and the position of the comma or bracket after it."""
    value, end = _DECODER.raw_decode(text, _past_blanks(text, at).end())  # type: ignore[union-attr]
    end = _past_blanks(text, end).end()  # type: ignore[union-attr]
    if not text.startswith((",", "]"), end):
        raise json.JSONDecodeError("Expecting ',' delimiter", text, end)
    return value, end


def _size(text: str) -> int:
    return len(text.encode())


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else float(digits)


_DECODER = json.JSONDecoder(parse_int=_integer, object_pairs_hook=object_of)
