"""Partial results of a run, on disk as they come, so that a run that was stopped can go on.

A line is ``["CHECKSUM", RECORD]``: eight hexadecimal digits of CRC-32, and the record whose bytes
they are computed from. A change of any bit makes the two disagree.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from shroom.core.append_only import append, locked, unwritable
from shroom.core.problems import ShroomError, show

if TYPE_CHECKING:
    from typing_extensions import Self

Key = TypeVar("Key")
Value = TypeVar("Value")

#: Exceptions from parsing a record of another kind.
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)


class ResultLog(Generic[Key, Value]):
    """A file of results by key: JSON Lines with a checksum each, after a header.

    The header names the kind of log and the settings of the run. The file is only appended to,
    except that the last line is removed where a kill has left half of it. A log without results
    counts as empty, so that a run that failed at once can be started again. Logs of earlier
    versions, which have no header, are read, too.

    Subclasses set ``kind``, and define :meth:`parse` and how a result is added by :meth:`write`.

    Parameters
    ----------
    path : path
        The file; made with the first result.
    settings : mapping, optional
        Settings that the results depend on, besides their keys.
    resume : bool
        Whether results may be in the file already.

    Attributes
    ----------
    known : dict
        The results in the file by key.
    damaged : int
        How many lines are not what a run has written; they do not count.
    """

    #: Name of this kind of log in the header.
    kind: ClassVar[str]
    #: Whether several processes may write at the same time, so that nothing is locked or removed.
    shared: ClassVar[bool] = False
    #: Whether a run without ``resume`` discards the results in the file; else it refuses them.
    discards: ClassVar[bool] = False

    def __init__(
        self,
        path: str | Path,
        settings: Mapping[str, Any] | None = None,
        *,
        resume: bool = False,
    ) -> None:
        self.path, self.settings, self.resume = Path(path), dict(settings or {}), resume
        self.known: dict[Key, Value] = {}
        self.damaged = 0
        self._half_line = False

    @staticmethod
    def parse(record: Any) -> Iterable[tuple[Key, Value]]:
        """Return the keys and results of a line.

        Raises
        ------
        ValueError, TypeError, LookupError, AttributeError
            Where no line of this kind has such a record.
        """
        raise NotImplementedError

    def read(self) -> Self:
        """Read the results in the file, without changing it.

        Raises
        ------
        ShroomError
            If there are results and ``resume`` is false, the run had other settings, or the
            file is not a log of this kind.
        """
        self._read()
        return self

    @contextmanager
    def open(self, way_out: str = "wait for its end, or name another output") -> Iterator[Self]:
        """Read the results in the file, and reserve it for this process.

        Parameters
        ----------
        way_out : str
            What the user can do if another run has reserved the file.

        Raises
        ------
        Unwritable
            If the file cannot be written.
        ShroomError
            As :meth:`read` does, and where another run is writing to the file.
        """
        with nullcontext() if self.shared else locked(self.path, way_out):
            try:
                self._prepare()
                yield self
            finally:
                if self.path.is_file() and not self.path.stat().st_size:
                    self.remove()

    def write(self, record: Any) -> None:
        """Append a line; its results are safe from a kill once this has returned.

        Raises
        ------
        Unwritable
            If it cannot be written, as on a full disk.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab", buffering=0) as stream:
                header = {"log": self.kind, "settings": self.settings}
                start = b"" if stream.tell() else line_of(header)
                append(stream, start + line_of(record))  # at once: others may write, too
        except OSError as error:
            raise unwritable(self.path, error) from error

    def remove(self) -> None:
        """Remove the file: the run has ended well."""
        try:
            self.path.unlink(missing_ok=True)
        except PermissionError:  # Windows removes no open file
            os.truncate(self.path, 0)

    def _prepare(self) -> None:
        """Read the results, and remove what does not stay in the file."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as stream:  # makes the file, or shows that it cannot be made
                length = self._read()
                if not self.shared:
                    os.truncate(self.path, length)
                elif self._half_line:
                    stream.write(b"\n")
        except OSError as error:
            raise unwritable(self.path, error) from error

    def _read(self) -> int:
        """Read the results; return the length of the lines that stay in the file, in bytes."""
        self.known, self.damaged = {}, 0
        length, settings, first, recognised, line = 0, None, None, False, b"\n"
        for line in self._lines():
            first = first or line
            complete = line.endswith(b"\n")
            length += len(line) * complete
            try:
                record = record_of(line)
                if isinstance(record, dict) and "settings" in record:
                    settings = self._settings_of(record)
                else:
                    self.known.update(self.parse(record))
                recognised = True
            except Damaged:
                self.damaged += complete
            except _UNREADABLE as error:
                if not recognised:
                    raise self._foreign() from error
                self.damaged += 1
        self._half_line = not line.endswith(b"\n")
        if first and not recognised and not may_be_a_line(first):
            raise self._foreign()
        if not self.known and not self.damaged:
            return 0
        if not self.resume:
            return self._without_resuming()
        self._check(settings)
        return length

    def _without_resuming(self) -> int:
        if not self.discards:
            raise ShroomError(
                f"{self.path}: has {len(self.known)} results of an earlier run; add --resume to go "
                "on from them, or name another output"
            )
        self.known, self.damaged = {}, 0
        return 0

    def _settings_of(self, header: dict[str, Any]) -> dict[str, Any]:
        if header.get("log", self.kind) != self.kind:
            raise self._foreign()
        return dict(header["settings"])

    def _check(self, settings: dict[str, Any] | None) -> None:
        """Refuse results of a run with other settings."""
        now = self.settings
        if settings is None and now:
            raise ShroomError(
                f"{self.path}: its first line, which has the settings of the run, is damaged; name "
                "another output"
            )
        before = settings or {}
        names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        if names:
            changes = ", ".join(
                f"{name} {show(before.get(name))} (now {show(now.get(name))})" for name in names
            )
            raise ShroomError(
                f"{self.path}: is of a run with other settings: {changes}; give the same, or name "
                "another output"
            )

    def _foreign(self) -> ShroomError:
        return ShroomError(
            f"{self.path}: is not a record of an interrupted run, and would be overwritten; move "
            "it away, or name another output"
        )

    def _lines(self) -> Iterator[bytes]:
        if not self.path.is_file():  # a device may have lines without end
            return
        try:
            with self.path.open("rb") as stream:
                yield from stream
        except OSError as error:
            raise ShroomError(f"{self.path}: cannot be read: {error.strerror or error}") from error


_BEFORE, _AFTER = b'["00000000", ', b"]\n"


class Damaged(ValueError):  # noqa: N818 - the name states the problem
    """A line that is not what a run has written."""


def line_of(record: Any) -> bytes:
    r"""Return the line of a record: its checksum and its JSON text.

    Examples
    --------
    >>> line_of({"p": 0.5})
    b'["9f0b52aa", {"p": 0.5}]\n'
    """
    content = json.dumps(record).encode()
    return b'["%08x", %s]\n' % (zlib.crc32(content), content)


def record_of(line: bytes) -> Any:
    r"""Return the record of a line.

    Raises
    ------
    Damaged
        If the checksum differs, or the line is not of this form.

    Examples
    --------
    >>> record_of(line_of({"p": 0.5}))
    {'p': 0.5}
    >>> record_of(line_of({"p": 0.5}).replace(b"5", b"7"))
    Traceback (most recent call last):
    shroom.core.result_log.Damaged: the checksum differs
    """
    content = line[len(_BEFORE) : -len(_AFTER)]
    if line != b'["%08x", %s]\n' % (zlib.crc32(content), content):
        raise Damaged("the checksum differs")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Damaged("is not JSON") from error


def may_be_a_line(line: bytes) -> bool:
    """Return whether a damaged line begins as these lines do, or is the beginning of one."""
    start = line.lstrip(b"\0")[: len(_BEFORE)]  # a loss of power may leave zero bytes
    form = re.sub(rb"[0-9a-f]", b"0", start)
    return form == _BEFORE if line.endswith(b"\n") else _BEFORE.startswith(form)


def computed_anew(path: Path, damaged: int) -> str:
    """Return the note on damaged lines.

    Examples
    --------
    >>> computed_anew("p.json.partial", 2)
    'p.json.partial: 2 lines are damaged; what they held is computed anew'
    """
    lines, held = ("1 line is", "it") if damaged == 1 else (f"{damaged} lines are", "they")
    return f"{path}: {lines} damaged; what {held} held is computed anew"
