"""What a run has computed so far, on disk as it comes, so that it can be taken up again."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shroom.growing import append, opened, remove, unwritable
from shroom.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


#: How each line begins.
_FIRST = b'[["'
#: How the name of an unfinished run's file ends.
PARTIAL = ".partial"


class Journal:
    """What a run has computed so far: one line of json for each batch, with its keys and values.

    A batch is there whole or not at all, so that a run which goes on forms the batches that it
    would have formed without a stop: what a model says of an item may depend, in the last digits,
    on what shares its batch.

    Parameters
    ----------
    path : path
        The file; made with the first entry.
    resume : bool
        Whether what is in the file counts; without, the file is begun anew.

    Attributes
    ----------
    known : dict
        What an earlier run had computed: values by key.
    kept : int
        How many results the file has now.

    Raises
    ------
    ShroomError
        Where the file is not one of a run: it is left alone.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "journal"
    >>> Journal(path).add([("a key", [0.5])])
    >>> Journal(path, resume=True).known
    {'a key': [0.5]}
    """

    def __init__(self, path: str | Path, *, resume: bool = False) -> None:
        self.path = Path(path)
        self.known: dict[str, list[float]] = {}
        if self.path.is_file():
            if not _is_of_a_run(self.path):
                raise ShroomError(
                    f"{path}: is no record of an interrupted run, and would be overwritten; move "
                    "it away, or name another output"
                )
            if resume:
                self.known = dict(self._entries())
            else:
                os.truncate(self.path, 0)  # not removed, as it may be locked by this very run
        self.kept = len(self.known)

    @classmethod
    @contextmanager
    def alone(cls, path: str | Path, way_out: str, *, resume: bool = False) -> Iterator[Journal]:
        """Yield the journal of a run, which no other may write to; when it ends well, it is gone.

        Parameters
        ----------
        path, resume
            As for the class.
        way_out : str
            What to do where another run is at it.

        Raises
        ------
        Unwritable
            Where nothing can be kept.
        ShroomError
            Where another run is at it.
        """
        with opened(Path(path), way_out):
            journal = cls(path, resume=resume)
            yield journal
            journal.remove()

    def add(self, entries: Sequence[tuple[str, list[float]]]) -> None:
        """Keep the keys and values of a batch.

        Raises
        ------
        ShroomError
            Where they cannot be written, as on a full disk.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab", buffering=0) as stream:
                append(stream, (json.dumps(entries) + "\n").encode())
        except OSError as error:
            raise unwritable(self.path, error) from error
        self.kept += len(entries)

    def remove(self) -> None:
        """Forget everything: the run has ended well."""
        remove(self.path)

    def _entries(self) -> Iterator[tuple[str, list[float]]]:
        """Yield the entries that are whole, and cut off what a killed run left half written."""
        whole = 0
        with self.path.open("rb") as stream:
            for line in stream:
                if line.endswith(b"\n"):
                    whole += len(line)
                    yield from _batch(line)
        os.truncate(self.path, whole)


def _is_of_a_run(path: Path) -> bool:
    """Return whether a file is empty, was begun as a journal, or has a sound line of one."""
    with path.open("rb") as stream:
        for line in stream:
            if not line.endswith(b"\n"):  # a run was killed while it wrote this
                rest = line.lstrip(b"\0")  # as a file system may leave it after a power cut
                return rest.startswith(_FIRST) or _FIRST.startswith(rest)
            if line.startswith(_FIRST) and _batch(line):
                return True
        return not stream.tell()


def _batch(line: bytes) -> list[tuple[str, list[float]]]:
    """Return the keys and values of a line, or none where one of them is not sound."""
    try:
        entries = [(str(key), list(map(float, values))) for key, values in json.loads(line)]
    except (ValueError, TypeError, OverflowError):
        return []
    sound = all(np.isfinite(values).all() for _, values in entries)
    return entries if sound else []
