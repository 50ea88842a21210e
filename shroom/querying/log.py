"""Every call of a run, on disk as it is answered, so that none is ever asked again."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.growing import append, opened
from shroom.problems import ShroomError, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from io import FileIO

#: How every log begins.
_HEAD = b'{"settings": '


class Log:
    """A file of JSON Lines: the settings of the run, then one line for each call.

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

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "queries.jsonl.log"
    >>> with Log(path, {"seed": 0}).open() as log:
    ...     log.add({"call": 0, "answer": "Should cats vote?"})
    >>> Log(path, {"seed": 0}, resume=True).read().answers
    ['Should cats vote?']
    """

    def __init__(
        self, path: str | Path, settings: Mapping[str, Any], *, resume: bool = False
    ) -> None:
        self.path, self.settings, self.resume = Path(path), dict(settings), resume
        self.answers: list[str] = []
        self._stream: FileIO | None = None

    def read(self) -> Log:
        """Read the answers that are there, without touching anything.

        Raises
        ------
        ShroomError
            Where there are answers and none may be, the run had other settings, or a line is none
            of such a log.
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
        append(self._stream, json.dumps(line).encode() + b"\n")
        if "answer" in line:
            self.answers.append(line["answer"])

    def _read(self) -> int:
        """Read the whole lines, and return how many bytes of them count."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise ShroomError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        *lines, half = content.split(b"\n")
        if not lines and not (half.startswith(_HEAD) or _HEAD.startswith(half)):
            raise self._no_log(1, half)  # a file of someone else's, of which nothing is cut off
        self.answers = []
        for number, text in enumerate(lines, start=1):
            self._take(number, text)
        if not self.answers:
            return 0  # a run that never got anywhere is begun anew
        self._check_run(json.loads(lines[0])["settings"])
        return len(content) - len(half)

    def _take(self, number: int, text: bytes) -> None:
        """Take one line: the settings first, then calls in order, of which failed ones are not."""
        try:
            line = json.loads(text)
            if number == 1:
                sound = isinstance(line["settings"], dict)
            elif "error" in line:
                return
            else:
                sound = line["call"] == len(self.answers) and isinstance(line["answer"], str)
        except (ValueError, TypeError, LookupError):
            sound = False
        if not sound:
            raise self._no_log(number, text)
        if number > 1:
            self.answers.append(line["answer"])

    def _no_log(self, number: int, text: bytes) -> ShroomError:
        expected = "the settings" if number == 1 else f"call {len(self.answers)}"
        found = show(text[:80].decode("utf-8", "replace"))
        return ShroomError(
            f"{self.path}: line {number}: expected {expected} of a run of shroom queries generate, "
            f"got {found}; mend the line, or name another output"
        )

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
