"""Lines of stored results, each with its checksum.

A line is ``["CHECKSUM", RECORD]``: eight hexadecimal digits of CRC-32, and the record whose bytes
they are computed from. A change of any bit makes the two disagree.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

_BEFORE, _AFTER = b'["00000000", ', b"]\n"


class Damaged(ValueError):  # noqa: N818 - the name states the problem
    """A line that is not what a run has written."""


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
        If the checksum differs, or the line is not of this form.

    Examples
    --------
    >>> record_of(line_of({"p": 0.5}))
    {'p': 0.5}
    >>> record_of(line_of({"p": 0.5}).replace(b"5", b"7"))
    Traceback (most recent call last):
    shroom.core.result_log.Damaged: the checksum differs
    """
    content = line[len(_BEFORE) : -len(_AFTER)]
    if line != b'["%08x", %s]\n' % (zlib.crc32(content), content):
        raise Damaged("the checksum differs")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Damaged("is not JSON") from error


def computed_anew(path: Path, damaged: int) -> str:
    """Return the note on damaged lines.

    Examples
    --------
    >>> computed_anew("p.json.partial", 2)
    'p.json.partial: 2 lines are damaged; what they held is computed anew'
    """
    lines, held = ("1 line is", "it") if damaged == 1 else (f"{damaged} lines are", "they")
    return f"{path}: {lines} damaged; what {held} held is computed anew"
