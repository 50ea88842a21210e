"""Decoding JSON with the standard library, with a report of every problem.

Each item is handed on before the next is decoded, from a window of the text that holds one item
of any length, so that the memory for items is bounded by the longest.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from copy import copy
from functools import partial
from itertools import islice
from typing import Any, NoReturn, Union

from shroom.core import frame_json
from shroom.core.doubled_keys import object_of
from shroom.core.problems import Problems, Stopped, show

#: The longest item, in characters.
MAX_ITEM = 1 << 22
#: Longer whole numbers are not ids, and Python refuses to read them from 3.11 on.
_MAX_DIGITS = 4000
#: The number of items by which one list is distinguished from JSON Lines.
_CHECKED_ITEMS = 10_000
_BLANKS = re.compile(r"[ \t\n\r]*")
# Not splitlines(): it would also split at U+0085 and U+2028, which may stand in a string.
_LINE = re.compile(r"[^ \t\n\r\f\v][^\n]*")
#: What may be left of a number or a word at the end of a file that is cut off.
_BEGUN = re.compile(r"[\w.+-]{0,5}\s*")
_Error = Union[json.JSONDecodeError, RecursionError]

#: Stands for what could not be read and has been reported, so that later items keep their place.
BROKEN = object()


def iter_items(data: bytes, file: str, problems: Problems, *, lines: bool = False) -> Iterator[Any]:
    """Yield the items of a document one by one.

    In JSON Lines, a line that cannot be read leaves :data:`BROKEN` in its place.

    Parameters
    ----------
    data : bytes
        A JSON list, or JSON Lines.
    file : str
        Name of the file in messages.
    problems : Problems
        Gets ``not-utf8``, ``not-json``, ``not-a-list``, ``too-large`` and ``empty``.
    lines : bool
        Whether it is JSON Lines.

    Raises
    ------
    Stopped
        If the rest cannot be read; the reason is among the problems.
    """
    reader = _Reader(data, file, problems)
    empty = True
    for item in reader.lines() if lines else reader.items():
        empty = False
        yield item
    if empty:
        reader.stop("empty", "at least one item", "none")


def stop(problems: Problems, code: str, file: str, expected: str, found: str) -> NoReturn:
    """Report why a file cannot be read further, and stop."""
    problems.add(code, file, expected, found)
    raise Stopped(problems)


def value_in(text: str) -> Any:
    """Return the JSON value that a text is; :data:`BROKEN` of any other text."""
    try:
        return _DECODER.decode(text)
    except (json.JSONDecodeError, RecursionError):
        return BROKEN


class _Reader:
    """The text of a document, and reports of what cannot be read."""

    def __init__(self, data: bytes, file: str, problems: Problems) -> None:
        self.file, self.problems = file, problems
        head = data[:7].removeprefix(codecs.BOM_UTF8)[:4]
        if b"\0" in head and head.strip(b"\0"):
            self.stop("not-utf8", "UTF-8", "NUL bytes (this looks like UTF-16)")
        try:
            self.text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            before = error.object[: error.start]
            line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
            found = f"byte 0x{error.object[error.start]:02x} at line {line}, byte {column}"
            self.stop("not-utf8", "UTF-8", found)

    def stop(self, code: str, expected: str, found: str) -> NoReturn:
        stop(self.problems, code, self.file, expected, found)

    def place(self, at: int) -> str:
        """Return the line and the column of a character, from 1."""
        line, column = self.text.count("\n", 0, at) + 1, at - self.text.rfind("\n", 0, at)
        return f"line {line}, column {column}"

    def past_blanks(self, at: int) -> int:
        return _BLANKS.match(self.text, at).end()  # type: ignore[union-attr]

    def items(self) -> Iterator[Any]:
        """Yield the items of a list."""
        start = self.past_blanks(0)
        if start == len(self.text):
            self.stop("empty", "a JSON list", "an empty file")
        if self.text[start] != "[":
            self.refuse_value(start)
        start = self.past_blanks(start + 1)
        if self.text.startswith("]", start):
            return self.check_end(start + 1)
        window, at, mark = self.window(start), 0, ","
        while mark == ",":
            try:
                value, end = _item(window, at)
            except (json.JSONDecodeError, RecursionError) as error:
                if at == 0:
                    self.refuse(start, error)
                start = self.past_blanks(start + at)  # only the window's end may have cut it off
                window, at = self.window(start), 0
                continue
            yield value
            mark, at = window[end], end + 1
        return self.check_end(start + at)

    def window(self, start: int) -> str:
        return self.text[start : start + MAX_ITEM]

    def check_end(self, at: int) -> None:
        rest = self.past_blanks(at)
        if rest < len(self.text):
            found = f"more text after the end (name JSON Lines .jsonl) at {self.place(rest)}"
            self.stop("not-json", "JSON", found)

    def refuse_value(self, start: int) -> NoReturn:
        """Report a document that is something else than a list."""
        self.refuse_frame(start, "a list of items")
        try:
            value, end = _DECODER.raw_decode(self.window(start))
        except (json.JSONDecodeError, RecursionError) as error:
            self.refuse(start, error)
        self.check_end(start + end)
        found = "an object" if isinstance(value, dict) else show(value)
        self.stop("not-a-list", "a list of items", found)

    def refuse_frame(self, start: int, expected: str) -> None:
        """Report a data frame that begins at a place, if there is one."""
        cut = start + MAX_ITEM < len(self.text)
        if frame_json.is_frame(self.window(start), cut=cut):
            self.stop("not-a-list", expected, frame_json.FRAME)

    def refuse(self, start: int, error: _Error) -> NoReturn:
        """Report why an item that begins at a place could not be decoded in its window."""
        cut = start + MAX_ITEM < len(self.text)
        at_end = isinstance(error, json.JSONDecodeError) and (
            error.msg.startswith("Unterminated") or error.pos > len(error.doc) - 20
        )
        if cut and at_end:
            found = f"a longer one at {self.place(start)}"
            self.stop("too-large", f"items of at most {MAX_ITEM >> 20} MiB", found)
        self.stop("not-json", "JSON", self.reason(start, error))

    def reason(self, start: int, error: _Error, *, may_be_cut: bool = True) -> str:
        """Return why a text that begins at a place cannot be decoded."""
        if isinstance(error, RecursionError):
            return "brackets that nest too deeply"
        reason = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        if error.msg == "Extra data":
            reason = "more text after the end"
        is_cut = error.msg.startswith("Unterminated") or (
            error.pos > 0 and _BEGUN.fullmatch(error.doc, error.pos)
        )
        note = " (the file ends within an item or a list: it may be cut off)"
        return f"{reason} at {self.place(start + error.pos)}{note if is_cut and may_be_cut else ''}"

    def lines(self) -> Iterator[Any]:
        """Yield the items of JSON Lines."""
        first = _LINE.search(self.text)
        if first and first[0][0] == "[" and self.is_list():
            self.stop("not-json", "JSON Lines", "one JSON list (name it .json)")
        if first and first[0][0] == "{" and self.past_blanks(first.end()) == len(self.text):
            self.refuse_frame(first.start(), "a line for each item")
        for match in _LINE.finditer(self.text):
            start, end = match.span()
            if end - start > MAX_ITEM:
                found = f"a longer one at {self.place(start)}"
                self.stop("too-large", f"lines of at most {MAX_ITEM >> 20} MiB", found)
            if match[0].isspace():
                continue
            try:
                item = _DECODER.decode(match[0])
            except (json.JSONDecodeError, RecursionError) as error:
                is_last = self.past_blanks(end) == len(self.text)
                reason = partial(self.reason, start, error, may_be_cut=is_last)
                self.problems.add("not-json", self.file, "JSON", reason)
                item = BROKEN
            yield item

    def is_list(self) -> bool:
        """Return whether the text is one list, judging by its first items."""
        trial = copy(self)
        trial.problems = Problems()
        try:
            return all(True for _ in islice(trial.items(), _CHECKED_ITEMS))
        except Stopped:
            return False


def _item(text: str, at: int) -> tuple[Any, int]:
    """Return the value that begins at a place, and the place of the comma or bracket after it."""
    value, end = _DECODER.raw_decode(text, _BLANKS.match(text, at).end())  # type: ignore[union-attr]
    end = _BLANKS.match(text, end).end()  # type: ignore[union-attr]
    if text[end : end + 1] not in (",", "]") or end == len(text):
        raise json.JSONDecodeError("Expecting ',' delimiter", text, end)
    return value, end


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else float(digits)


_DECODER = json.JSONDecoder(parse_int=_integer, object_pairs_hook=object_of)
