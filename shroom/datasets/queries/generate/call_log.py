"""Every call of a run, on disk as it is answered, so that none is ever asked again."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.append_only import append, opened
from shroom.core.checksummed_lines import line_of, read, refuse_foreign
from shroom.core.problems import ShroomError, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from io import FileIO


class Log:
    """A file with the settings of the run, then one line for each call, each with a checksum.

    It is only ever added to, but for a last line that a killed run has left half written. A log
    without any answer counts as none, so that one may mend what was wrong and begin again.

    Parameters
    ----------
    path : path
        The file.
    settings : mapping
        All that the answers and verdicts depend on.
    resume : bool
        Whether answers may be there already.

    Attributes
    ----------
    answers : dict
        The answer to each call, by its number.
    damaged : int
        How many lines are not what a run has written; their calls are asked again.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "queries.jsonl.log"
    >>> with Log(path, {"seed": 0}).open() as log:
    ...     log.add({"call": 0, "answer": "Should cats vote?"})
    >>> Log(path, {"seed": 0}, resume=True).read().answers
    {0: 'Should cats vote?'}
    """

    def __init__(
        self, path: str | Path, settings: Mapping[str, Any], *, resume: bool = False
    ) -> None:
        self.path, self.settings, self.resume = Path(path), dict(settings), resume
        self.answers: dict[int, str] = {}
        self.damaged = 0
        self._stream: FileIO | None = None

    def read(self) -> Log:
        """Read the answers that are there, without touching anything.

        Raises
        ------
        ShroomError
            Where there are answers and none may be, the run had other settings, or the file is not
            such a log.
        """
        self._read()
        return self

    @contextmanager
    def open(self) -> Iterator[Log]:
        """Read what is there, and keep what is added until the end.

        Raises
        ------
        ShroomError
            As ``read`` does, and where it cannot be written or another run is writing to it.
        """
        # Both would ask the same.
        with opened(self.path, "wait for its end, or name another output") as self._stream:
            whole = self._read()
            os.truncate(self.path, whole)
            if not whole:
                self.add({"settings": self.settings})
            yield self

    def add(self, line: Mapping[str, Any]) -> None:
        """Add a line, which is safe from a kill once this has returned."""
        assert self._stream is not None  # noqa: S101 - open comes first
        append(self._stream, line_of(line))
        if "answer" in line:
            self.answers[line["call"]] = line["answer"]

    def _read(self) -> int:
        """Read the whole lines, and return how many bytes of them count."""
        refuse_foreign(self.path, _entry)
        found = read(self.path, _entry)
        self.damaged = found.damaged
        self.answers = dict(entry for entry in found.records if isinstance(entry, tuple))
        if not self.answers and not self.damaged:
            return 0  # a run that never got anywhere is begun anew
        before = next((entry for entry in found.records if isinstance(entry, dict)), None)
        if before is None:
            raise ShroomError(
                f"{self.path}: its first line, which has the settings of the run, is damaged; name "
                "another output"
            )
        self._check_run(before)
        return found.whole

    def _check_run(self, before: dict[str, Any]) -> None:
        """Refuse to go on from a run that this one does not continue."""
        if not self.resume:
            raise ShroomError(
                f"{self.path}: has {len(self.answers)} answers of an earlier run; add --resume to "
                "go on from them, or name another output"
            )
        now = self.settings
        other = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        if other:
            told = ", ".join(f"{k} {show(before.get(k))} (now {show(now.get(k))})" for k in other)
            raise ShroomError(
                f"{self.path}: is of a run with other settings: {told}; give the same, or name "
                "another output"
            )


def _entry(record: Any) -> dict[str, Any] | tuple[int, str] | None:
    """Return the settings, or the number and the answer of a call; nothing of a failed call."""
    if "settings" in record:
        return dict(record["settings"])
    if "error" in record:
        return None
    call, answer = record["call"], record["answer"]
    if not isinstance(call, int) or not isinstance(answer, str):
        raise TypeError("expected a call and its answer")
    return call, answer
