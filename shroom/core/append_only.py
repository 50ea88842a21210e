"""Files that one process at a time writes to."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shroom.core.problems import ShroomError

#: Ending of the name of a lock file.
LOCK = ".lock"
#: The errors of file systems that have no locks.
_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}


class Unwritable(ShroomError):  # noqa: N818 - the name states the problem
    """A place where nothing can be written."""


@contextmanager
def locked(path: Path, way_out: str) -> Iterator[None]:
    """Reserve a file for this process, by a lock file beside it.

    The system releases the lock when the process ends, however it ends. On file systems that have
    no locks, nothing is reserved.

    Parameters
    ----------
    path : Path
        The folders above are made where they are missing, and removed at the end if they are empty.
    way_out : str
        What the user can do if another run has reserved the file.

    Raises
    ------
    Unwritable
        If nothing can be written there.
    ShroomError
        If another run has reserved the file.
    """
    from filelock import FileLock, Timeout

    if path.is_fifo():  # opening it would wait for a reader
        raise Unwritable(f"{path}: cannot be written: it is a pipe")
    new_folders = [folder for folder in path.parents if not folder.exists()]
    place = Path(f"{path}{LOCK}")
    lock = FileLock(place)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout as error:
        if not place.exists():
            raise Unwritable(
                f"{path}: cannot be written: no file can be created beside it"
            ) from error
        raise ShroomError(f"{path}: another run is writing to it; {way_out}") from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise unwritable(path, error) from error
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no open file; filelock does so itself there
            place.unlink()
        lock.release()
        with suppress(OSError):  # another file is there by now
            for folder in new_folders:
                folder.rmdir()


def unwritable(place: object, error: OSError) -> Unwritable:
    """Return the error for a place that cannot be written to."""
    return Unwritable(f"{place}: cannot be written: {error.strerror or error}")
