"""The part of a file that has come so far: ``NAME.part`` beside where the file will be."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shroom.core.append_only import locked, unwritable
from shroom.core.problems import ShroomError

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
        if place.is_symlink():
            said = "is a link, and what it leads to would be overwritten; remove the link"
            raise ShroomError(f"{place}: {said}") from error
        raise unwritable(place, error) from error
    with stream, locked(place, "wait for its end"):
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


def _opener(place: str, flags: int) -> int:
    # Where the system has no flag against links, as Windows, it takes a privilege to make one.
    return os.open(place, flags | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
