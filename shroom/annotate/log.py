"""What scorers have made so far, on disk as it comes, so that nothing is done twice."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.growing import append, opened, remove
from shroom.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shroom.datasets.dreamcatcher_records import Question


class Log:
    """A file of JSON Lines, one for each generation and scorer: a key and the fields.

    Parameters
    ----------
    path : path
        The file; made with the first line.
    resume : bool
        Whether what is in the file counts.

    Raises
    ------
    ShroomError
        Where the file is there and it is not to be resumed, since that would lose it.

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
        if self._length():
            if not resume:
                raise self._interrupted()
            self.known, _ = self._read()

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
            self.known, whole = self._read()
            os.truncate(self.path, whole)  # what a killed run has left half written
            yield self

    def add(self, key: str, fields: Mapping[str, Any]) -> None:
        """Keep the fields of a generation; they are safe from a kill once this has returned."""
        append(self._stream, (json.dumps([key, fields]) + "\n").encode())
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

    def _read(self) -> tuple[dict[str, Mapping[str, Any]], int]:
        """Return what the whole lines say, and how many bytes these are."""
        found: dict[str, Mapping[str, Any]] = {}
        whole = 0
        with self.path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                if not line.endswith(b"\n"):
                    break
                whole += len(line)
                try:
                    key, fields = json.loads(line)
                    found[str(key)] = dict(fields)
                except (ValueError, TypeError) as error:
                    raise ShroomError(
                        f"{self.path}: line {number}: is not what a run has written; remove the "
                        "line, or the file to begin anew"
                    ) from error
        return found, whole


def key_of(identity: str, question: Question, place: int) -> str:
    """Return the key of a generation for a scorer: what its scores depend on, and no more.

    Examples
    --------
    >>> from shroom.datasets.dreamcatcher_records import Generation, Question
    >>> one, two = (Question("Q?", a, None, (Generation("A", "normal"),)) for a in "AB")
    >>> key_of("x", one, 0) == key_of("x", one, 0), key_of("x", one, 0) == key_of("x", two, 0)
    (True, False)
    """
    texts = [[each.text, each.type] for each in question.generation]
    known = [identity, question.question, question.answer, texts, place]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]
