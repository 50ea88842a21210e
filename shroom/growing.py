"""Files that grow while a run goes on: one process at a time, and what has come stays."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from shroom.problems import ShroomError

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path


def append(stream: FileIO, data: bytes) -> None:
    """Write all of the data where an unbuffered file stands.

    Raises
    ------
    ShroomError
        Where it cannot be written, as on a full disk.
    """
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[stream.write(rest) :]
    except OSError as error:
        raise unwritable(stream.name, error) from error


def unwritable(place: object, error: OSError) -> ShroomError:
    """Return the sentence on what cannot be written."""
    return ShroomError(f"{place}: cannot be written: {error.strerror or error}")


def lock(stream: FileIO, place: Path, busy: str) -> None:
    """Refuse a file that another process is at: two would mix what they write.

    Parameters
    ----------
    stream : FileIO
        Open for writing; it stays locked until it is closed.
    place : Path
        Where it was opened.
    busy : str
        What to say of another process.

    Raises
    ------
    ShroomError
        Where there is another.
    """
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        ours = os.path.samestat(os.fstat(stream.fileno()), place.stat())
    except (BlockingIOError, FileNotFoundError):  # the latter where it was stored just now
        ours = False
    except OSError:  # a file system without locks
        return
    if not ours:
        raise ShroomError(f"{place}: {busy}")
