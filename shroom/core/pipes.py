"""Reading what is in a pipe, of which no more is read than may be in it."""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path

#: For how many seconds something is expected to open a named pipe for writing.
PATIENCE = 10


def read_named(path: Path, most: int) -> bytes:
    """Return what is written into a named pipe; of more bytes than ``most``, one more than these.

    Raises
    ------
    OSError
        Where it is something else, which may never end, or nothing opens it for writing.
    """
    if not stat.S_ISFIFO(path.stat().st_mode):
        raise OSError(errno.EINVAL, "a device", str(path))
    # To open it otherwise waits for a writer, however long.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as stream:
        end = time.monotonic() + PATIENCE
        while (begun := _first_byte(descriptor)) == b"":
            if time.monotonic() >= end:
                raise OSError(errno.ETIMEDOUT, "a pipe that nothing writes to", str(path))
            time.sleep(0.01)
        os.set_blocking(descriptor, True)
        return (begun or b"") + stream.read(most + 1 - len(begun or b""))


def _first_byte(descriptor: int) -> bytes | None:
    """Return the first byte in a pipe; ``None`` where its writer has not written it yet."""
    try:
        return os.read(descriptor, 1)  # nothing if there is no writer
    except BlockingIOError:
        return None
