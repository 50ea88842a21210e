"""What scorers have made so far, on disk as it comes, so that nothing is done twice."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.append_only import append, opened, remove
from shroom.core.checksummed_lines import Kept, line_of, read, refuse_foreign
from shroom.core.json_writing import json_digest
from shroom.core.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shroom.datasets.dreamcatcher.records import Question


class Log:
    """A file with one line for each generation and scorer: a key, the fields and a checksum.

    Parameters
    ----------
    path : path
        The file; made with the first line.
    resume : bool
        Whether what is in the file counts.

    Attributes
    ----------
    known : dict
        The fields by key.
    damaged : int
        How many lines are not what a run has written; they do not count.

    Raises
    ------
    ShroomError
        Where the file is not one of a run, or it is and is not to be resumed, since that would
        lose it.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log"
    >>> with Log(path).open() as log:
    ...     log.add("a key", {"rm_score": 0.5})
    >>> Log(path, resume=True).known
    {'a key': {'rm_score': 0.5}}
    """

    def __init__(self, path: str | Path, *, resume: bool = False) -> None:
        self.path, self._resume = Path(path), resume
        self.known: dict[str, Mapping[str, Any]] = {}
        self.damaged = 0
        if self._length():
            refuse_foreign(self.path, _entry)
            if not resume:
                raise self._interrupted()
            self._read()

    @contextmanager
    def open(self) -> Iterator[Log]:
        """Keep what is added until the end.

        Raises
        ------
        ShroomError
            Where another run is at the file, or it cannot be written.
        """
        way_out = "wait for its end, or name another output"
        with opened(self.path, way_out) as self._stream:
            if self._length() and not self._resume:  # begun and interrupted just now
                raise self._interrupted()
            refuse_foreign(self.path, _entry)
            os.truncate(self.path, self._read().whole)  # what a killed run has left half written
            yield self

    def add(self, key: str, fields: Mapping[str, Any]) -> None:
        """Keep the fields of a generation; they are safe from a kill once this has returned."""
        append(self._stream, line_of([key, fields]))
        self.known[key] = fields

    def remove(self) -> None:
        """Forget everything: the run has ended well."""
        remove(self.path)

    def _length(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def _interrupted(self) -> ShroomError:
        return ShroomError(
            f"{self.path}: is what an interrupted run has made; go on with --resume, or "
            "remove it to begin anew"
        )

    def _read(self) -> Kept[tuple[str, dict[str, Any]]]:
        """Take what the file has, and return it."""
        found = read(self.path, _entry)
        self.known, self.damaged = dict(found.records), found.damaged
        return found


def _entry(record: Any) -> tuple[str, dict[str, Any]]:
    """Return the key and the fields of a line."""
    key, fields = record
    if not isinstance(fields, dict):
        raise TypeError("expected fields")
    return str(key), fields


def key_of(identity: str, question: Question, place: int) -> str:
    """Return the key of a generation for a scorer: what its scores depend on, and no more.

    Examples
    --------
    >>> from shroom.datasets.dreamcatcher.records import Generation, Question
    >>> one, two = (Question("Q?", a, None, (Generation("A", "normal"),)) for a in "AB")
    >>> key_of("x", one, 0) == key_of("x", one, 0), key_of("x", one, 0) == key_of("x", two, 0)
    (True, False)
    """
    texts = [[each.text, each.type] for each in question.generation]
    known = [identity, question.question, question.answer, texts, place]
    return json_digest(known)[:32]
