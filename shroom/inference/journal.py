"""What a run has computed so far, on disk as it comes, so that it can be taken up again."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.append_only import append, opened, remove, unwritable
from shroom.core.checksummed_lines import line_of, read, refuse_foreign

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


#: How the name of an unfinished run's file ends.
PARTIAL = ".partial"


class Journal:
    """What a run has computed so far: one line for each batch, with its keys, values and checksum.

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
    damaged : int
        How many lines are not what a run has written; they do not count.

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
        self.damaged = 0
        if self.path.is_file():
            refuse_foreign(self.path, _batch)
            if resume:
                self._read()
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
                append(stream, line_of(entries))
        except OSError as error:
            raise unwritable(self.path, error) from error
        self.kept += len(entries)

    def remove(self) -> None:
        """Forget everything: the run has ended well."""
        remove(self.path)

    def _read(self) -> None:
        """Take the batches that are whole, and cut off what a killed run left half written."""
        found = read(self.path, _batch)
        for batch in found.records:
            self.known.update(batch)
        self.damaged = found.damaged
        os.truncate(self.path, found.whole)


def _batch(record: Any) -> list[tuple[str, list[float]]]:
    """Return the keys and values of a batch."""
    entries = [(str(key), list(map(float, values))) for key, values in record]
    if not entries or not all(np.isfinite(values).all() for _, values in entries):
        raise ValueError("expected finite values")
    return entries
