"""The records of a data set in its native form, with a report of everything unexpected.

Each row of the files is either a record, or counted as dropped and reported with its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from typing import Any, Generic, TypeVar

from shroom.core.problem_codes import CODES
from shroom.core.problems import Problems, ShroomError, nearest, show
from shroom.scoring.input_files import Document

R = TypeVar("R")


class Report:
    """Reports everything unexpected in the rows of one file, with its place."""

    def __init__(self, file: str, problems: Problems) -> None:
        self.file, self._problems = file, problems
        self.item: Any = None
        self.place: dict[str, Any] = {}
        self._row: list[tuple[str, str | None, str, str]] = []

    def rows(self, items: Iterable[Any], id_key: str) -> Iterator[Any]:
        """Yield each row, whose problems are reported before the next."""
        for index, item in enumerate(items):
            with self.row(index, item, id_key):
                yield item

    @contextmanager
    def row(self, index: int, item: Any, id_key: str) -> Iterator[None]:
        """Report the problems of a row."""
        row_id = item.get(id_key) if isinstance(item, dict) else None
        self.place = {"index": index, "id": row_id if type(row_id) in (str, int) else None}
        self.item, self._row = item, []
        yield
        for code, key, expected, got in self._row:
            self._problems.add(code, self.file, expected, got, key=key, **self.place)

    def add(self, code: str, key: str | None, expected: str, got: str | None = None) -> None:
        """Report the value at a key of the row."""
        if code not in CODES:
            raise ShroomError(f"no problem code '{code}';{nearest(code, CODES)}".rstrip(";"))
        if got is None:
            got = show(self.item[key]) if key in self.item else "no such key"
        self._row.append((code, key, expected, got))

    def add_missing(self, keys: str) -> None:
        """Report a key that the row lacks; or several keys, in words."""
        self.add("key-missing", None, f"the key {keys}", f"keys {show(list(self.item))}")

    def drop(self, code: str, key: str | None, expected: str, got: str) -> None:
        """Report why the row is dropped, and nothing else about it."""
        self._row = []
        self.add(code, key, expected, got)


@dataclass(frozen=True)
class FileRecords:
    """The records of one file."""

    file: str  # name of the file in messages
    records: list[Any]  # in the order of its rows
    dropped: int = 0  # number of unusable rows in the file

    @property
    def base(self) -> str:
        """The file's name without folders."""
        return PurePath(self.file).name

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain values, for json."""
        counts = {"records": len(self.records), "dropped": self.dropped}
        return {"file": self.file, "rows": sum(counts.values()), **counts}


@dataclass(frozen=True)
class Collection(Generic[R]):
    """The records of one data set."""

    name: str  # of the data set
    by_file: list[FileRecords]  # the records of each file, in the order of files
    problems: Problems

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files."""
        return tuple(part.file for part in self.by_file)

    @cached_property
    def records(self) -> list[R]:
        """The records of all files."""
        return [record for part in self.by_file for record in part.records]

    @property
    def dropped(self) -> int:
        """Number of unusable rows."""
        return sum(part.dropped for part in self.by_file)

    @property
    def rows(self) -> int:
        """Number of rows in all files."""
        return len(self.records) + self.dropped


def items_in(document: Document, problems: Problems) -> list[Any] | None:
    """Return the items of a file, or ``None`` for an unreadable file, which is reported."""
    # A file named .json may be JSON Lines, as its first line shows.
    may_be_lines = document.ending.startswith(".json") and "jsonl" not in document.ending
    return (replace(document, base="") if may_be_lines else document).items(problems)
