"""The calls of a run and their answers, so that no answer is asked for twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from shroom.core.result_log import ResultLog

if TYPE_CHECKING:
    from collections.abc import Mapping


class Log(ResultLog[int, str]):
    """The answer to each call by its number, and what was made of it.

    Failed calls are logged for the user, and count as not made.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "queries.jsonl.log"
    >>> with Log(path, {"seed": 0}).open() as log:
    ...     log.add({"call": 0, "answer": "Should cats vote?"})
    >>> Log(path, {"seed": 0}, resume=True).read().known
    {0: 'Should cats vote?'}
    """

    kind: ClassVar[str] = "calls"

    def add(self, call: Mapping[str, Any]) -> None:
        """Store a call."""
        self.write(call)
        self.known.update(self.parse(call))

    @staticmethod
    def parse(record: Any) -> list[tuple[int, str]]:
        """Return the number and the answer of a call; nothing for a failed call."""
        if "error" in record:
            return []
        call, answer = record["call"], record["answer"]
        if not isinstance(call, int) or not isinstance(answer, str):
            raise TypeError("expected a call and its answer")
        return [(call, answer)]
