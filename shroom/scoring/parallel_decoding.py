"""Decoding a large file on two cores: one half here, the other in a forked process.

The cut is made between two objects of the list, as far as a look at the bytes can tell. If it
falls into a string or a nested list instead, one half is no valid JSON, and the caller decodes
the whole in one piece. If both halves are valid, so is the whole, with the same rows.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Callable, Union

if TYPE_CHECKING:
    from shroom.scoring.table import Table

    Buffer = Union[bytes, memoryview]
    Decode = Callable[[Buffer], "Table | None"]

#: Smaller files are decoded before a process is made.
WORTH_IT = 1 << 25
_BETWEEN = re.compile(rb"\}\s*,\s*\{")


def table(data: Buffer, decode: Decode, *, lines: bool) -> Table | None:
    """Return what ``decode`` makes of the data, each half on its own core.

    Parameters
    ----------
    data : bytes or memoryview
        A JSON list of objects, or JSON Lines.
    decode : callable
        Makes a table of such data, or ``None`` where it refuses.
    lines : bool
        Whether it is JSON Lines.

    Returns
    -------
    Table or None
        ``None`` where it is not worth it, not possible, or a half is refused.
    """
    cut = _middle(data, lines=lines)
    if cut is None:
        return None
    end, start = cut
    # A copy of one half at a time, closed by the bracket that the cut has taken.
    first = _forked(lambda: decode(b"".join((data[:end], b"" if lines else b"]"))))
    second = decode(b"".join((b"" if lines else b"[", data[start:])))
    other = first()
    return None if other is None or second is None else other.joined(second)


def _middle(data: Buffer, *, lines: bool) -> tuple[int, int] | None:
    """Return where the first half ends and the second starts."""
    # Elsewhere forking is not there (Windows) or not safe beside system libraries (macOS).
    possible = sys.platform == "linux" and threading.active_count() == 1
    possible = possible and (os.cpu_count() or 1) > 1
    if len(data) < WORTH_IT or not possible:
        return None
    between = re.compile(rb"\n") if lines else _BETWEEN
    found = between.search(data, len(data) // 2)
    if found is None:
        return None
    return (found.end(), found.end()) if lines else (found.start() + 1, found.end() - 1)


def _forked(work: Callable[[], Table | None]) -> Callable[[], Table | None]:
    """Start the work in another process; return what waits for its result."""
    readable, writable = os.pipe()
    with warnings.catch_warnings():
        # Python warns of threads that numpy's libraries keep; the child makes use of none.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.close(readable)
            with os.fdopen(writable, "wb") as stream:
                pickle.dump(work(), stream, protocol=5)
        finally:
            os._exit(0)
    os.close(writable)

    def result() -> Table | None:
        try:
            with os.fdopen(readable, "rb") as stream:
                found: Table | None = pickle.load(stream)  # noqa: S301 - our own child's
        except (EOFError, pickle.UnpicklingError):
            found = None  # the child died, of memory for instance
        finally:
            os.waitpid(child, 0)
        return found

    return result
