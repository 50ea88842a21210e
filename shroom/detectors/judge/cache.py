"""Answers that have been paid for, kept on disk."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.checksummed_lines import line_of, read
from shroom.core.json_writing import json_digest
from shroom.core.paths import cache_folder
from shroom.core.problems import ShroomError
from shroom.detectors import settings
from shroom.detectors.judge.answers import Reply, Step

if TYPE_CHECKING:
    from collections.abc import Iterator


def folder_of(setting: Any) -> Path | None:
    """Return the folder that a setting names, or ``None`` for no cache.

    Examples
    --------
    >>> folder_of(False), folder_of("here")
    (None, PosixPath('here'))
    """
    if str(setting).lower() == "false":
        return None
    if setting is None or str(setting).lower() == "true":
        return cache_folder("judge")
    named = str(setting) if isinstance(setting, Path) else settings.text("cache", setting)
    return Path(named).expanduser()


def key_of(*about: Any) -> str:
    """Return a digest of all that an answer depends on."""
    return json_digest(about)[:40]


class Cache:
    """The answers of one endpoint and model, one line with a checksum each, on disk as they come.

    No prompt and no key is written, only digests of requests and what was answered.

    Parameters
    ----------
    folder : path or None
        Where the file lies; with ``None`` nothing is kept beyond the process.
    scope : str
        What tells the file from others: endpoint and model.

    Attributes
    ----------
    known : dict of Reply
        The answers by key.
    damaged : int
        How many lines are not what a run has written; they do not count.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with Cache(folder, "a model").open() as cache:
    ...     cache.add("a key", Reply("yes"))
    >>> with Cache(folder, "a model").open() as cache:
    ...     cache.known["a key"].text
    'yes'
    """

    def __init__(self, folder: Path | None, scope: str) -> None:
        self.path = folder and folder / f"{key_of(scope)[:16]}.jsonl"
        self.known: dict[str, Reply] = {}
        self.damaged = 0
        self._stream: Any = None

    def read(self) -> Cache:
        """Read what is there, without touching anything."""
        if self.path is not None and self.path.is_file():
            found = read(self.path, _entry)
            self.known.update(found.records)
            self.damaged = found.damaged
        return self

    @contextmanager
    def open(self) -> Iterator[Cache]:
        """Read what is there, and keep what is added until the end.

        Raises
        ------
        ShroomError
            Where the folder cannot be written to, before anything is asked.
        """
        if self.path is None:
            yield self
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.read()
            self._stream = self.path.open("a+b")
            self._end_the_last_line()
        except OSError as error:
            raise ShroomError(
                f"{self.path}: answers cannot be kept there ({error.strerror or error}); name "
                "another folder as cache, or give cache = false"
            ) from error
        with self._stream:
            yield self

    def add(self, key: str, reply: Reply) -> None:
        """Keep an answer."""
        self.known[key] = reply
        if self._stream is not None:
            # One write of one line: another process may be adding to the same file.
            self._stream.write(line_of([key, _written(reply)]))
            self._stream.flush()

    def _end_the_last_line(self) -> None:
        """Begin a new line where a killed run has left half of one."""
        if self._stream.seek(0, os.SEEK_END):
            self._stream.seek(-1, os.SEEK_END)
            if self._stream.read(1) != b"\n":
                self._stream.write(b"\n")


def _written(reply: Reply) -> dict[str, Any]:
    found = {"text": reply.text, "tokens": reply.tokens}
    steps = {name: getattr(reply, name) for name in ("first", "verdict")}
    return {**found, **{name: [s.token, s.logprob, s.top] for name, s in steps.items() if s}}


def _entry(record: Any) -> tuple[str, Reply]:
    """Return the key and the reply of a line."""
    key, written = record
    steps = {
        name: Step(str(token), float(logprob), tuple((str(t), float(v)) for t, v in top))
        for name in ("first", "verdict")
        if name in written
        for token, logprob, top in [written[name]]
    }
    tokens = written["tokens"]
    return key, Reply(str(written["text"]), tokens=tokens and (tokens[0], tokens[1]), **steps)
