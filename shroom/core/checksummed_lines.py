"""Files of JSON lines, each with its checksum, that an interrupted run leaves for the next one.

A line is ``["CHECKSUM", RECORD]``: eight hexadecimal digits of CRC-32, and the record whose bytes
they are of. Whatever changes one bit of a line changes what one of the two says.
"""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Generic, TypeVar

from shroom.core.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

T = TypeVar("T")

_BEFORE, _AFTER = b'["00000000", ', b"]\n"
#: What reading a record as something that it is not may raise.
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)


class Damaged(ValueError):  # noqa: N818 - it names what has happened
    """A line that is not what a run has written."""


@dataclass(frozen=True)
class Kept(Generic[T]):
    """What a file has.

    Attributes
    ----------
    records : list
        What the undamaged lines say, in their order.
    damaged : int
        How many whole lines are not what a run has written.
    whole : int
        The bytes up to the end of the last whole line; a killed run may have left half a line.
    """

    records: list[T]
    damaged: int = 0
    whole: int = 0


def line_of(record: Any) -> bytes:
    r"""Return the line of a record: its checksum and its JSON text.

    Examples
    --------
    >>> line_of({"p": 0.5})
    b'["9f0b52aa", {"p": 0.5}]\n'
    """
    content = json.dumps(record).encode()
    return b'["%08x", %s]\n' % (zlib.crc32(content), content)


def record_of(line: bytes) -> Any:
    r"""Return the record of a line.

    Raises
    ------
    Damaged
        Where its checksum is another one, or it is no such line at all.

    Examples
    --------
    >>> record_of(line_of({"p": 0.5}))
    {'p': 0.5}
    >>> record_of(line_of({"p": 0.5}).replace(b"5", b"7"))
    Traceback (most recent call last):
    shroom.core.checksummed_lines.Damaged: the checksum is another one
    """
    content = line[len(_BEFORE) : -len(_AFTER)]
    if line != b'["%08x", %s]\n' % (zlib.crc32(content), content):
        raise Damaged("the checksum is another one")
    try:
        return json.loads(content)
    except _UNREADABLE as error:
        raise Damaged("is not JSON") from error


def read(path: Path, parse: Callable[[Any], T]) -> Kept[T]:
    """Return what a file has.

    Parameters
    ----------
    path : path
        The file; where there is none, nothing is kept.
    parse : callable
        Makes of a record what it stands for, and raises ``ValueError``, ``TypeError`` or
        ``LookupError`` where it stands for nothing of this kind.

    Raises
    ------
    ShroomError
        Where the file cannot be read.
    """
    records, damaged, whole = [], 0, 0
    for line in _lines(path):
        if line.endswith(b"\n"):
            whole += len(line)
            try:
                records.append(parse(record_of(line)))
            except _UNREADABLE:
                damaged += 1
    return Kept(records, damaged, whole)


def refuse_foreign(path: Path, parse: Callable[[Any], object]) -> None:
    """Refuse a file that no run of this kind has written, whatever its name.

    It is of such a run if it is empty, if its first undamaged line is, or if all of its lines
    are damaged and the first, which may be cut, begins as these files do.

    Raises
    ------
    ShroomError
        Where the file is another one, or cannot be read.
    """
    first = None
    for line in _lines(path):
        first = line if first is None else first
        try:
            record = record_of(line)
        except Damaged:
            continue
        try:
            parse(record)
        except _UNREADABLE:
            break
        return
    else:
        if first is None or _begins(first):
            return
    raise ShroomError(
        f"{path}: is no record of an interrupted run, and would be overwritten; move it away, or "
        "name another output"
    )


def computed_anew(path: Path, damaged: int) -> str:
    """Return the note on damaged lines.

    Examples
    --------
    >>> computed_anew("p.json.partial", 2)
    'p.json.partial: 2 lines are damaged; what they held is computed anew'
    """
    lines, held = ("1 line is", "it") if damaged == 1 else (f"{damaged} lines are", "they")
    return f"{path}: {lines} damaged; what {held} held is computed anew"


def _begins(line: bytes) -> bool:
    """Return whether a line begins as a record's does, or is the beginning of one."""
    start = line.lstrip(b"\0")[: len(_BEFORE)]  # a loss of power may leave zero bytes
    if line.endswith(b"\n"):
        return re.sub(rb"[0-9a-f]", b"0", start) == _BEFORE
    return _BEFORE.startswith(re.sub(rb"[0-9a-f]", b"0", start))


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as stream:
            yield from stream
    except FileNotFoundError:
        return
    except OSError as error:
        raise ShroomError(f"{path}: cannot be read: {error.strerror or error}") from error
