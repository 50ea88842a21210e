"""The records of a data set in its native form, with a report of everything that was odd.

Each row of the files is either a record or counted as dropped, and reported with its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from shroom.core import json_reading
from shroom.scoring.input_files import documents_among_others

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shroom.core.paths import Source
    from shroom.core.problems import Problems
    from shroom.scoring.input_files import Document

R = TypeVar("R")


@dataclass(frozen=True)
class Collection(Generic[R]):
    """The records of one data set.

    Attributes
    ----------
    name : str
        The data set's.
    files : tuple of str
        Where the records are from.
    records : list
        In the order of the files and of their rows.
    dropped : int
        How many rows could not be used.
    problems : Problems
        Everything that was odd, with its place; a warning if the row is still a record.
    sizes : tuple of int
        How many of the records are from each of the files.
    """

    name: str
    files: tuple[str, ...]
    records: list[R]
    dropped: int
    problems: Problems
    sizes: tuple[int, ...]

    @property
    def rows(self) -> int:
        """How many rows the files have."""
        return len(self.records) + self.dropped

    def by_file(self) -> Iterator[tuple[str, list[R]]]:
        """Yield each file with its records."""
        start = 0
        for file, size in zip(self.files, self.sizes):
            yield file, self.records[start : start + size]
            start += size


def items_of(paths: Iterable[Source], problems: Problems) -> Iterator[tuple[Document, list[Any]]]:
    """Yield each readable file with its items; what cannot be read is reported.

    Parameters
    ----------
    paths : iterable of path or "-"
        Files, folders or zips of JSON Lines or JSON lists, also gzipped.
    problems : Problems
        Receives what cannot be read.
    """
    for path in paths:
        for document in documents_among_others(path, problems):
            data = document.read(problems)
            if data is None:
                continue
            lines = document.is_lines(data)
            items = json_reading.items(bytes(data), document.file, problems, lines=lines)
            if items is not None:
                yield document, items
