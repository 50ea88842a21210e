"""The report of everything unexpected in the rows of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shroom.core.printing import counted
from shroom.core.problems import Problems, show


class Report:
    """Reports everything unexpected in the rows of one file, with its place."""

    def __init__(self, file: str, problems: Problems) -> None:
        self.file, self._problems = file, problems
        self.item: Any = None
        #: The objects of the row that were already read, with their records.
        self.read: dict[int, tuple[Any, Any]] = {}
        self.place: dict[str, Any] = {}
        self._row: list[tuple[bool, tuple[str, str | None, str, str]]] = []
        self._often: dict[tuple[str, str | None, str, str], list[dict[str, Any]]] = {}

    def start(self, index: int, item: Any, id_key: str) -> None:
        """Go to a row."""
        row_id = item.get(id_key) if isinstance(item, dict) else None
        self.place = {"index": index, "id": row_id if type(row_id) in (str, int) else None}
        self.item, self.read, self._row = item, {}, []

    def add(
        self,
        code: str,
        key: str | None,
        expected: str,
        got: str | None = None,
        *,
        often: bool = False,
    ) -> None:
        """Report the value at a key of the row; if frequent (``often``), once per file."""
        if got is None:
            got = show(self.item[key]) if key in self.item else "no such key"
        self._row.append((often, (code, key, expected, got)))

    def drop(self, code: str, key: str | None, expected: str, got: str) -> None:
        """Report why the row is dropped, and nothing else about it."""
        self._row = []
        self.add(code, key, expected, got)

    def finish(self) -> None:
        """Leave the row."""
        for often, problem in self._row:
            if often:
                self._often.setdefault(problem, []).append(self.place)
            else:
                self._tell(problem, self.place)
        self._row = []

    def end(self, rows: int) -> None:
        """Report frequent problems, with the number of rows."""
        for (code, key, expected, got), places in self._often.items():
            more = counted(len(places) - 1, "more row")
            rest = f", here and in {more} ({rows} rows in total)" if places[1:] else ""
            self._tell((code, key, expected, got + rest), places[0])

    def _tell(self, problem: tuple[str, str | None, str, str], place: Mapping[str, Any]) -> None:
        code, key, expected, got = problem
        self._problems.add(code, self.file, expected, got, key=key, **place)
