"""The values that a run has computed so far, so that it can be resumed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from shroom.core.result_log import ResultLog

#: How the name of an unfinished run's file ends.
PARTIAL = ".partial"


class Journal(ResultLog[str, "list[float]"]):
    """Values by key, one line for each batch; without ``resume``, the file is started anew.

    What is added does not become ``known``, since nothing asks for it and there may be very much.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "journal"
    >>> with Journal(path).open() as journal:
    ...     journal.add([("a key", [0.5])])
    >>> Journal(path, resume=True).read().known
    {'a key': [0.5]}
    """

    kind: ClassVar[str] = "values"
    discards: ClassVar[bool] = True
    _added = 0

    @property
    def kept(self) -> int:
        """The number of results in the file."""
        return len(self.known) + self._added

    @staticmethod
    def parse(record: Any) -> list[tuple[str, list[float]]]:
        """Return the keys and values of a batch."""
        entries = [(str(key), list(map(float, values))) for key, values in record]
        if not entries or not all(math.isfinite(x) for _, values in entries for x in values):
            raise ValueError("expected finite values")
        return entries

    def add(self, entries: Sequence[tuple[str, list[float]]]) -> None:
        """Store the keys and values of a batch."""
        self.write(entries)
        self._added += len(entries)
