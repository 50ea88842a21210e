"""The records of a data set in its native form, with a report of everything unexpected.

Each row of the files is either a record, or counted as dropped and reported with its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePath
from typing import Any, Generic, TypeVar

from shroom.core.problems import Problems
from shroom.scoring.input_files import Document

R = TypeVar("R")


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


def items_of(
    documents: Iterable[Document], problems: Problems, *, by_content: bool = False
) -> Iterator[tuple[str, list[Any]]]:
    """Yield the name and the items of each readable file; unreadable files are reported.

    With ``by_content``, a file named ``.json`` may be JSON Lines, as its first line shows.
    """
    for document in documents:
        items = (replace(document, base="") if by_content else document).items(problems)
        if items is not None:
            yield document.file, items
