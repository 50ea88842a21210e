"""Files that grow while a run goes on: one process at a time, and what has come stays."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from shroom.core.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO


class Unwritable(ShroomError):  # noqa: N818 - it names what is the matter
    """A place where nothing can be written."""


@contextmanager
def opened(path: Path, way_out: str) -> Iterator[FileIO]:
    """Open a file to add to it while no other process does; if it is empty in the end, it goes.

    Parameters
    ----------
    path : Path
        It is made where it is not there, and so are the folders above, which go with it.
    way_out : str
        What to do where another run is at the file.

    Raises
    ------
    Unwritable
        Where it cannot be opened.
    ShroomError
        Where another run is at it.
    """
    if path.is_fifo():  # which would be waited for
        raise Unwritable(f"{path}: cannot be written: it is a pipe")
    try:
        made = [folder for folder in path.parents if not folder.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        # Unbuffered, so that what has been added is there when the run is killed.
        stream = path.open("ab", buffering=0)
    except OSError as error:
        raise unwritable(path, error) from error
    with stream:
        lock(stream, path, "another run is writing to it", way_out)
        try:
            yield stream
        finally:
            # Still locked, so that another process that has opened it sees that it is gone.
            if _is_at(stream, path) and path.is_file() and not os.fstat(stream.fileno()).st_size:
                remove(path)
                _remove_folders(made)
    if sys.platform == "win32" and path.is_file() and not path.stat().st_size:
        with suppress(OSError):  # another process has opened it
            path.unlink()  # what is open cannot be removed there
            _remove_folders(made)


def append(stream: FileIO, data: bytes) -> None:
    """Write all of the data where an unbuffered file stands.

    Raises
    ------
    Unwritable
        Where it cannot be written, as on a full disk.
    """
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[stream.write(rest) :]
    except OSError as error:
        raise unwritable(stream.name, error) from error


def remove(path: Path) -> None:
    """Remove a file while it is open, or empty it where the system does not allow that."""
    try:
        path.unlink(missing_ok=True)
    except PermissionError:
        os.truncate(path, 0)


def unwritable(place: object, error: OSError) -> Unwritable:
    """Return the sentence on what cannot be written."""
    return Unwritable(f"{place}: cannot be written: {error.strerror or error}")


def lock(stream: FileIO, place: Path, busy: str, way_out: str) -> None:
    """Refuse a file that another process is at: two would mix what they write.

    The system gives the lock back when the process ends, however it ends. Where there are no
    locks, as on Windows and some network drives, nothing is refused.

    Parameters
    ----------
    stream : FileIO
        Open for writing; it stays locked until it is closed.
    place : Path
        Where it was opened.
    busy, way_out : str
        What to say of another process, and what to do then.

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
        ours = _is_at(stream, place)
    except BlockingIOError:
        ours = False
    except OSError:  # a file system without locks
        return
    if not ours:
        raise ShroomError(f"{place}: {busy}{_holder(stream)}; {way_out}")


def _is_at(stream: FileIO, place: Path) -> bool:
    """Return whether an open file is still at the place; it may have been stored or made anew."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), place.stat())
    except FileNotFoundError:
        return False


def _remove_folders(made: list[Path]) -> None:
    with suppress(OSError):  # something else is in them by now
        for folder in made:
            folder.rmdir()


def _holder(stream: FileIO) -> str:
    """Return which process has locked a file, as Linux tells of those of the same machine."""
    about = os.fstat(stream.fileno())
    file = f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}:{about.st_ino}"
    try:
        told = Path("/proc/locks").read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
    found = re.search(rf"^\d+: FLOCK +\w+ +\w+ +(\d+) {file} ", told, re.MULTILINE)
    return f" (process {found[1]})" if found else ""
