"""Decoding JSON with the standard library, with a report of every problem.

The bytes are decoded piece by piece and each item is handed on before the next is read, so that
the memory that a file takes is bounded by its longest item.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any, NoReturn

from shroom.core import frame_json
from shroom.core.doubled_keys import object_of
from shroom.core.problems import Problems, Stopped, show

_BOM = b"\xef\xbb\xbf"
#: Longer whole numbers are not ids, and Python refuses to read them from 3.11 on.
_MAX_DIGITS = 4000
#: The longest item, in bytes.
MAX_ITEM = 1 << 22
#: How many bytes are decoded at once, unless an item takes more.
_PIECE = 1 << 18
#: The number of items by which one list is distinguished from JSON Lines.
_CHECKED_ITEMS = 10_000
_BLANKS = re.compile(rb"[ \t\n\r]*")
_LINE = re.compile(rb"[^ \t\n\r\f\v][^\n]*")
#: What may be left of a number or a word at the end of a file that is cut off.
_BEGUN = re.compile(r"[\w.+-]{0,5}\s*")
_CONTINUATION = bytes(range(0x80, 0xC0))


def items(data: bytes, file: str, problems: Problems, *, lines: bool = False) -> list[Any] | None:
    """Return the items of a document, or ``None`` where it cannot be read.

    The parameters are those of :func:`iter_items`.
    """
    try:
        return list(iter_items(data, file, problems, lines=lines))
    except Stopped:
        return None


def iter_items(
    data: bytes | memoryview, file: str, problems: Problems, *, lines: bool = False
) -> Iterator[Any]:
    """Yield the items of a document one by one.

    In JSON Lines, a line that cannot be read leaves :data:`BROKEN` in its place.

    Parameters
    ----------
    data : bytes-like
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
    view = memoryview(data)
    if bytes(view[:3]) == _BOM:
        view = view[3:]
    if b"\0" in bytes(view[:4]) and bytes(view[:4]).strip(b"\0"):
        _stop(problems, "not-utf8", file, "UTF-8", "NUL bytes (this looks like UTF-16)")
    _check_utf8(view, file, problems)
    empty = True
    for item in (_json_lines if lines else _json_list)(view, file, problems):
        empty = False
        yield item
    if empty:
        _stop(problems, "empty", file, "at least one item", "none")


def _stop(problems: Problems, code: str, file: str, expected: str, found: str) -> NoReturn:
    problems.add(code, file, expected, found)
    raise Stopped(problems)


def _check_utf8(data: memoryview, file: str, problems: Problems) -> None:
    decoder, start, pending = codecs.getincrementaldecoder("utf-8")(), 0, 0
    try:
        for start in range(0, len(data), _PIECE):
            pending = len(decoder.getstate()[0])  # the beginning of a character before the piece
            decoder.decode(data[start : start + _PIECE], final=start + _PIECE >= len(data))
    except UnicodeDecodeError as error:
        at = start - pending + error.start
        description = f"byte 0x{data[at]:02x} at {_place(data, at, 'byte')}"
        if bytes(data[:2]) in (b"\xff\xfe", b"\xfe\xff"):
            description += " (this looks like UTF-16)"
        _stop(problems, "not-utf8", file, "UTF-8", description)


def _piece(data: memoryview, start: int, size: int) -> str:
    """Return the text of valid UTF-8 from a byte on, which ends with a whole character."""
    end = min(start + size, len(data))
    for _ in range(3):
        if end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
    return str(data[start:end], "utf-8")


def _place(data: memoryview, at: int, unit: str = "column") -> str:
    """Return the line and the column of a byte, from 1; columns count characters or bytes."""
    line = column = 1
    for start in range(0, at, _PIECE):
        head, newline, last = bytes(data[start : min(start + _PIECE, at)]).rpartition(b"\n")
        line += head.count(b"\n") + len(newline)
        column = 1 if newline else column
        column += len(last if unit == "byte" else last.translate(None, _CONTINUATION))
    return f"line {line}, {unit} {column}"


def _json_list(data: memoryview, file: str, problems: Problems) -> Iterator[Any]:
    start = _past_blanks(data, 0)
    if start == len(data):
        _stop(problems, "empty", file, "a JSON list", "an empty file")
    if data[start] != ord("["):
        _refuse_value(data, start, file, problems)
    start = _past_blanks(data, start + 1)
    if bytes(data[start : start + 1]) == b"]":
        _check_end(data, start + 1, file, problems)
        return
    size, at, mark = _PIECE, 0, ","
    piece = _piece(data, start, size)
    while mark == ",":
        if at == 0 and start + size < len(data):
            values, at = _many(piece)
            yield from values
        try:
            value, end = _value(piece, at)
        except (json.JSONDecodeError, RecursionError) as error:
            # Cut off by the end of the piece, perhaps: begin one with this item, then a long one.
            if at == 0 and (size == MAX_ITEM or start + size >= len(data)):
                _refuse_json(data, start, error, file, problems, cut=start + size < len(data))
            size = MAX_ITEM if at == 0 else _PIECE
            start = _past_blanks(data, start + len(piece[:at].encode()))
            piece, at = _piece(data, start, size), 0
            continue
        yield value
        mark, at = piece[end], end + 1
    _check_end(data, start + len(piece[:at].encode()), file, problems)


def _many(text: str) -> tuple[list[Any], int]:
    """Return items from the beginning of a list without brackets, and the place of the next.

    Decoding many at once takes a third of the time. If they are a list once a bracket closes it
    after an object, that object is one of the items. There may be none that can be decoded so.
    """
    cut = text.rfind("},") + 1
    try:
        return (_DECODER.decode(f"[{text[:cut]}]"), cut + 1) if cut else ([], 0)
    except (json.JSONDecodeError, RecursionError):
        return [], 0


def _value(text: str, at: int) -> tuple[Any, int]:
    """Return the value that begins at a place, and the place of the comma or bracket after it."""
    value, end = _DECODER.raw_decode(text, _next(text, at))
    end = _next(text, end)
    if text[end : end + 1] not in (",", "]") or end == len(text):
        raise json.JSONDecodeError("Expecting ',' delimiter", text, end)
    return value, end


def _next(text: str, at: int) -> int:
    return _WHITESPACE(text, at).end() if text[at : at + 1].isspace() else at  # type: ignore[union-attr]


def _past_blanks(data: memoryview, start: int) -> int:
    return _BLANKS.match(data, start).end()  # type: ignore[union-attr]


def _check_end(data: memoryview, at: int, file: str, problems: Problems) -> None:
    rest = _past_blanks(data, at)
    if rest < len(data):
        description = f"more text after the end (name JSON Lines .jsonl) at {_place(data, rest)}"
        _stop(problems, "not-json", file, "JSON", description)


def _refuse_value(data: memoryview, start: int, file: str, problems: Problems) -> NoReturn:
    """Report a document that is something else than a list."""
    piece = _piece(data, start, MAX_ITEM)
    if frame_json.is_frame(piece, cut=start + MAX_ITEM < len(data)):
        _stop(problems, "not-a-list", file, "a list of items", frame_json.FRAME)
    try:
        value, end = _DECODER.raw_decode(piece)
    except (json.JSONDecodeError, RecursionError) as error:
        _refuse_json(data, start, error, file, problems, cut=start + MAX_ITEM < len(data))
    _check_end(data, start + len(piece[:end].encode()), file, problems)
    description = "an object" if isinstance(value, dict) else show(value)
    _stop(problems, "not-a-list", file, "a list of items", description)


def _refuse_json(
    data: memoryview,
    start: int,
    error: json.JSONDecodeError | RecursionError,
    file: str,
    problems: Problems,
    *,
    cut: bool,
) -> NoReturn:
    """Report why a text from a byte on could not be decoded; ``cut`` if it is not the whole."""
    if isinstance(error, RecursionError):
        _stop(problems, "not-json", file, "JSON", "brackets that nest too deeply")
    elif cut and (error.msg.startswith("Unterminated") or error.pos > len(error.doc) - 20):
        description = f"a longer one at {_place(data, start)}"
        _stop(problems, "too-large", file, f"items of at most {MAX_ITEM >> 20} MiB", description)
    else:
        place = _place(data, start + len(error.doc[: error.pos].encode()))
        _stop(problems, "not-json", file, "JSON", f"{_reason(error)} at {place}{_cut_off(error)}")


def _json_lines(data: memoryview, file: str, problems: Problems) -> Iterator[Any]:
    # Not splitlines(): it would also split at U+0085 and U+2028, which may stand in a string.
    first = _LINE.search(data)
    if first and first[0][:1] == b"[" and _is_list(data):
        _stop(problems, "not-json", file, "JSON Lines", "one JSON list (name it .json)")
    if first and first[0][:1] == b"{" and _past_blanks(data, first.end()) == len(data):
        piece = _piece(data, first.start(), MAX_ITEM)
        if frame_json.is_frame(piece, cut=first.start() + MAX_ITEM < len(data)):
            _stop(problems, "not-a-list", file, "a line for each item", frame_json.FRAME)
    for match in _LINE.finditer(data):
        start, end = match.span()
        if end - start > MAX_ITEM:
            description = f"a longer one at {_place(data, start)}"
            _stop(
                problems, "too-large", file, f"lines of at most {MAX_ITEM >> 20} MiB", description
            )
        text = match[0].decode()
        if not text.strip():
            continue
        try:
            yield _DECODER.decode(text)
        except json.JSONDecodeError as error:
            is_last = _past_blanks(data, end) == len(data)
            found = partial(_in_line, error, data, start, is_last=is_last)
            problems.add("not-json", file, "JSON", found)
            yield BROKEN
        except RecursionError:
            problems.add("not-json", file, "JSON", "brackets that nest too deeply")
            yield BROKEN


def _in_line(error: json.JSONDecodeError, data: memoryview, start: int, *, is_last: bool) -> str:
    place = _place(data, start + len(error.doc[: error.pos].encode()))
    return f"{_reason(error)} at {place}{_cut_off(error) if is_last else ''}"


def _cut_off(error: json.JSONDecodeError) -> str:
    """Return a note if the end of a file is where an item should go on."""
    at_end = error.msg.startswith("Unterminated") or (
        error.pos > 0 and _BEGUN.fullmatch(error.doc, error.pos)
    )
    return " (the file ends within an item or a list: it may be cut off)" if at_end else ""


def _is_list(data: memoryview) -> bool:
    """Return whether it is one list, judging by its first items."""
    try:
        return all(True for _ in islice(_json_list(data, "", Problems()), _CHECKED_ITEMS))
    except Stopped:
        return False


def is_json(text: str) -> bool:
    """Return whether a text is one JSON value."""
    try:
        json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError):
        return False
    return True


#: Stands for what could not be read and has been reported, so that later items keep their place.
BROKEN = object()


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else float(digits)


def _reason(error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return "more text after the end"
    return error.msg[:1].lower() + error.msg[1:].removesuffix(" at")


_DECODER = json.JSONDecoder(parse_int=_integer, object_pairs_hook=object_of)
_WHITESPACE = re.compile(r"[ \t\n\r]*").match
