"""What reading a data set in its native form gives: records, and everything that was odd.

Nothing is dropped in silence: the rows of the files are the records and the rows that could not be
used, and each of the latter is among the problems, with its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from shroom.problems import Problems

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
        Everything that was odd, each with its place; warnings where the row is a record all the
        same.
    """

    name: str
    files: tuple[str, ...]
    records: list[R]
    dropped: int
    problems: Problems

    @property
    def rows(self) -> int:
        """How many rows the files have."""
        return len(self.records) + self.dropped
