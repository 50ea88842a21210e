"""The scores that a run has made so far, so that it can be resumed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from shroom.core.json_writing import json_digest
from shroom.core.result_log import ResultLog

if TYPE_CHECKING:
    from shroom.datasets.dreamcatcher.records import Question


class Log(ResultLog[str, "Mapping[str, Any]"]):
    """The fields that a scorer adds to a generation, by key.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "log"
    >>> with Log(path).open() as log:
    ...     log.add("a key", {"rm_score": 0.5})
    >>> Log(path, resume=True).read().known
    {'a key': {'rm_score': 0.5}}
    """

    kind: ClassVar[str] = "scores"

    def add(self, key: str, fields: Mapping[str, Any]) -> None:
        """Store the fields of a generation."""
        self.write([key, fields])
        self.known[key] = fields

    @staticmethod
    def parse(record: Any) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the key and the fields of a generation."""
        key, fields = record
        if not isinstance(fields, Mapping):
            raise TypeError("expected fields")
        return [(str(key), fields)]


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
