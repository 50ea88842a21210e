"""Answers of paid services, stored on disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from shroom.core.append_only import Unwritable
from shroom.core.json_writing import json_digest
from shroom.core.paths import cache_folder
from shroom.core.problems import ShroomError
from shroom.core.result_log import ResultLog
from shroom.detectors import settings
from shroom.detectors.judge.responses import Reply, Step


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
    """Return the key of an answer: a digest of all that it depends on."""
    return json_digest(about)[:40]


class _Answers(ResultLog[str, Reply]):
    kind: ClassVar[str] = "answers"
    shared: ClassVar[bool] = True

    @staticmethod
    def parse(record: Any) -> list[tuple[str, Reply]]:
        key, fields = record
        steps = {}
        for name in {"first", "verdict"} & fields.keys():
            token, logprob, top = fields[name]
            alternatives = tuple((str(other), float(value)) for other, value in top)
            steps[name] = Step(str(token), float(logprob), alternatives)
        tokens = fields["tokens"]
        used = tokens and (tokens[0], tokens[1])
        reply = Reply(str(fields["text"]), tokens=used, cut=fields.get("cut", False), **steps)
        return [(str(key), reply)]


class Cache:
    """The answers of one endpoint and model; several processes may add to it at the same time.

    No prompt and no API key is written, only digests of requests and their answers.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with Cache(folder, "a model").open() as cache:
    ...     cache.add("a key", Reply("yes"))
    >>> Cache(folder, "a model").read().replies["a key"].text
    'yes'
    """

    def __init__(self, folder: Path | None, scope: str) -> None:
        self.path = folder and folder / f"{key_of(scope)[:16]}.jsonl"
        self.replies: dict[str, Reply] = {}
        self._log = _Answers(self.path, resume=True) if self.path else None

    @property
    def damaged(self) -> int:
        """Number of damaged lines in the file, which do not count."""
        return self._log.damaged if self._log else 0

    def read(self) -> Cache:
        """Read the answers in the file, without changing it."""
        if self._log:
            self.replies = self._log.read().known
        return self

    @contextmanager
    def open(self) -> Iterator[Cache]:
        """Read the answers in the file, and store those that are added until the end.

        Raises
        ------
        ShroomError
            Where the folder cannot be written to: if possible, before anything is asked.
        """
        if self._log is None:
            yield self
            return
        try:
            with self._log.open() as log:
                self.replies = log.known
                yield self
        except Unwritable as error:
            raise ShroomError(
                f"{error}, so answers cannot be kept there; name another folder as cache, or give "
                "cache = false"
            ) from error

    def add(self, key: str, reply: Reply) -> None:
        """Store an answer."""
        self.replies[key] = reply
        if self._log:
            steps = {"first": reply.first, "verdict": reply.verdict}
            fields = {name: step for name, step in steps.items() if step}
            cut = {"cut": True} if reply.cut else {}
            self._log.write([key, {"text": reply.text, "tokens": reply.tokens, **cut, **fields}])
