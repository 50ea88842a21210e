"""The part of a file that has come so far: ``NAME.part`` beside where the file will be."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shroom.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO
    from pathlib import Path


@contextmanager
def opened(path: Path) -> Iterator[FileIO]:
    """Open the part of a file for reading and writing; an empty one is removed at the end.

    Raises
    ------
    ShroomError
        Where it cannot be written, or another process is at it.
    """
    place = part_of(path)
    try:
        # Unbuffered, so that what has come is there when the run is killed.
        stream = open(place, "r+b", buffering=0, opener=_opener)  # noqa: SIM115
    except OSError as error:
        raise unwritable(place, error) from error
    with stream:
        _lock(stream, place)
        try:
            yield stream
        finally:
            if not os.fstat(stream.fileno()).st_size:
                place.unlink(missing_ok=True)


def store(path: Path) -> None:
    """Make the part of a file that file, in one step."""
    try:
        part_of(path).replace(path)
    except OSError as error:
        raise unwritable(path, error) from error


def remove(path: Path) -> None:
    """Remove the part of a file, if there is one."""
    part_of(path).unlink(missing_ok=True)


def append(part: FileIO, data: bytes) -> None:
    """Write all of the data where the part stands."""
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[part.write(rest) :]
    except OSError as error:
        raise unwritable(part.name, error) from error


def empty(part: FileIO) -> None:
    """Let the part begin anew."""
    part.seek(0)
    part.truncate()


def length(part: FileIO) -> int:
    """Return how many bytes there are."""
    return os.fstat(part.fileno()).st_size


def part_of(path: Path) -> Path:
    """Return where the part of a file is.

    Examples
    --------
    >>> from pathlib import Path
    >>> part_of(Path("all.jsonl")).name
    'all.jsonl.part'
    """
    return path.with_name(f"{path.name}.part")


def unwritable(place: object, error: OSError) -> ShroomError:
    """Return the sentence on what cannot be written."""
    return ShroomError(f"{place}: cannot be written: {error.strerror or error}")


def _opener(place: str, flags: int) -> int:
    return os.open(place, flags | os.O_CREAT, 0o666)


def _lock(stream: FileIO, place: Path) -> None:
    """Refuse a part that another process is at: two would mix what they write."""
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
        raise ShroomError(f"{place}: another process is fetching this file; wait for it")
