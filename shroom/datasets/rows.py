"""Reading the rows of a data set's files as records, with a report of everything that is odd.

A data set has a subclass of :class:`RowReader`, which builds a record from the typed values that a
:class:`Row` returns. A value of another type is reported with its place, what was expected and what
was found, and read as missing, so that one pass reports every problem of a file.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Generic, Self, TypeGuard, TypeVar

from shroom.core.json_reading import BROKEN
from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, show
from shroom.datasets.collection import Collection, FileRecords, items_of

R = TypeVar("R")
AnyRow = TypeVar("AnyRow", bound="Row")


class Unusable(Exception):  # noqa: N818 - a row without what every record needs
    """A row cannot be a record; ``args`` are the key or ``None``, what was expected and found."""


@dataclass(frozen=True)
class Row:
    """One object of a file while it is read, or an object inside it.

    Attributes
    ----------
    item : dict
        The object as it is in the file.
    index : int
        The place of the row in the file, from 0.
    file : str
        Name of the file in messages.
    problems : Problems
        Receives the warnings about rows.
    id : str, int or None
        The row's id, for messages.
    above : str
        The path of the object in the row, such as ``citations[0].``; empty for the row itself.
    read : set of str
        The keys whose values were returned.
    """

    item: dict[str, Any]
    index: int
    file: str
    problems: Problems
    id: str | int | None = None
    above: str = ""
    read: set[str] = field(default_factory=set)

    @property
    def left(self) -> dict[str, Any]:
        """The keys and values that were not read, because they are unknown or odd."""
        return {key: value for key, value in self.item.items() if key not in self.read}

    def inner(self, item: dict[str, Any], above: str) -> Self:
        """Return an object inside the row."""
        return replace(self, item=item, above=above, read=set())

    def report(self, code: str, key: str | None, expected: str, got: str) -> None:
        """Add a problem at a key of the row itself."""
        place = {"index": self.index, "id": self.id, "key": key}
        self.problems.add(code, self.file, expected, got, **place)

    def odd(self, code: str, key: str, expected: str, got: str | None = None) -> None:
        """Report an odd value of a key of this object, by default the one in the file."""
        got = self.shown(key) if got is None else got
        self.report(code, self.above + key, expected, got)

    def shown(self, key: str) -> str:
        """Return the value of a key as it is shown in messages."""
        return show(self.item[key]) if key in self.item else "no such key"

    def take(
        self,
        code: str,
        key: str,
        is_right: Callable[[Any], bool],
        expected: str,
        otherwise: Any = None,
    ) -> Any:
        """Return a value; report one of another type, and return ``otherwise``."""
        value = self.item.get(key)
        if is_right(value):
            self.read.add(key)
            return value
        self.odd(code, key, expected)
        return otherwise

    def need(self, key: str, is_right: Callable[[Any], bool], expected: str) -> Any:
        """Return a value; without one of this type the row is unusable."""
        value = self.item.get(key)
        if not is_right(value):
            raise Unusable(self.above + key, expected, self.shown(key))
        self.read.add(key)
        return value

    def text(self, key: str, otherwise: str | None = "") -> Any:
        """Return a text; ``NaN`` in its place has a code of its own."""
        expected = f"a text (read as {'none' if otherwise is None else 'empty'})"
        value = self.item.get(key)
        if isinstance(value, float) and not math.isfinite(value):
            self.report("value-finite", self.above + key, expected, show(value))
            return otherwise
        return self.take("text-odd", key, is_text, expected, otherwise)

    def texts(self, key: str, name: str | None = None) -> tuple[str, ...]:
        """Return a list of texts, which messages may call by another name than its key."""
        value = self.item.get(key)
        if is_texts(value):
            return tuple(value)
        self.odd("list-odd", name or key, "a list of texts (read as empty)", self.shown(key))
        return ()


class RowReader(ABC, Generic[R]):
    """Reads the rows of one file.

    Parameters
    ----------
    file : str
        Name of the file in messages.
    problems : Problems
        Receives the warnings about rows.
    first : dict, optional
        The place of what was seen first, by content; shared between the files of a data set.
    """

    #: The key with the row's id, for messages.
    id_key = "id"
    #: The code of a row that is not an object.
    not_an_object = "row-object"

    def __init__(
        self, file: str, problems: Problems, first: dict[Hashable, str] | None = None
    ) -> None:
        self.file, self.problems = file, problems
        self.first: dict[Hashable, str] = {} if first is None else first
        self._shared: dict[tuple[str, str, str, str], list[Row]] = {}

    @abstractmethod
    def read(self, row: Row) -> R | None:
        """Return the record of a row; ``None`` if errors were reported.

        Raises
        ------
        Unusable
            If the row lacks what every record needs.
        """

    def records(self, items: Sequence[Any]) -> list[R | None]:
        """Return the record of each item; ``None`` for those that cannot be used."""
        records = [self.record(index, item) for index, item in enumerate(items)]
        for (code, key, expected, got), rows in self._shared.items():
            rest = f", here and in {len(rows) - 1} more of {len(items)} rows"
            rows[0].odd(code, key, expected, got + (rest if len(rows) > 1 else ""))
        return records

    def record(self, index: int, item: Any) -> R | None:
        """Return the record of an item; ``None``, with the reason reported, if it has none."""
        row = self.row(index, item)
        if item is BROKEN:  # an error, and reported
            return None
        if not isinstance(item, dict):
            row.report(self.not_an_object, None, "an object", show(item))
            return None
        try:
            return self.read(row)
        except Unusable as reason:
            row.report("row-value", *reason.args)
            return None

    def row(self, index: int, item: Any) -> Row:
        """Return an item with its place."""
        row_id = item.get(self.id_key) if isinstance(item, dict) else None
        row_id = row_id if type(row_id) in (str, int) else None
        return Row(item, index, self.file, self.problems, row_id)

    def share(self, row: Row, code: str, key: str, expected: str, got: str) -> None:
        """Note a peculiarity of many rows of a file, to be reported once with its count."""
        self._shared.setdefault((code, key, expected, got), []).append(row)

    def earlier(self, row: Row, content: Hashable) -> str | None:
        """Return the place of an earlier row with the same content, if there is one."""
        place = f"item {row.index} of {self.file}"
        first = self.first.setdefault(content, place)
        return None if first is place else first


def read_rows(
    name: str,
    paths: Iterable[Source],
    problems: Problems | None,
    reader: Callable[..., RowReader[R]],
    **options: Any,
) -> Collection[R]:
    """Return the records of the rows of a data set's files; see :func:`collect`.

    Parameters
    ----------
    name : str
        The data set's.
    paths : iterable of path or "-"
        Files, folders or zips of JSON Lines or JSON lists, also gzipped.
    problems : Problems, optional
        Receives the warnings about rows, and what cannot be read.
    reader : callable
        The subclass of :class:`RowReader`; called with the file, the problems, the places of what
        was seen first, and the ``options``.
    """
    problems = Problems() if problems is None else problems
    first: dict[Hashable, str] = {}
    files = [
        (document.file, reader(document.file, problems, first, **options).records(items))
        for document, items in items_of(paths, problems)
    ]
    return collect(name, files, problems)


def collect(
    name: str, files: Iterable[tuple[str, Sequence[R | None]]], problems: Problems
) -> Collection[R]:
    """Return the records of a data set's files.

    Parameters
    ----------
    name : str
        Name of the data set.
    files : iterable of (str, sequence of record or None)
        The name of each file and the records of its rows; ``None`` for rows that cannot be used.
    problems : Problems
        Everything that was odd.

    Raises
    ------
    InvalidInput
        If there are errors, with every problem.
    """
    by_file = []
    for file, records in files:
        usable = [record for record in records if record is not None]
        by_file.append(FileRecords(file, usable, len(records) - len(usable)))
    if problems.errors:
        raise InvalidInput(problems)
    return Collection(name, by_file, problems)


def report_unknown_keys(
    items: Iterable[Any], keys: set[str], expected: str, file: str, problems: Problems
) -> None:
    """Report each unknown key of the objects in a file once, with the number of objects."""
    places: dict[str, list[int]] = {}
    for index, item in enumerate(items):
        for key in item.keys() - keys if isinstance(item, dict) else ():
            places.setdefault(key, []).append(index)
    for key, indices in sorted(places.items()):
        rest = f" here and in {len(indices) - 1} more" if len(indices) > 1 else ""
        problems.add("key-unknown", file, expected, show(key) + rest, index=indices[0])


def is_text(value: Any) -> TypeGuard[str]:
    """Return whether a value is a text."""
    return isinstance(value, str)


def is_filled(value: Any) -> TypeGuard[str]:
    """Return whether a value is a text that is not blank."""
    return isinstance(value, str) and bool(value.strip())


def is_texts(value: Any) -> TypeGuard[list[str]]:
    """Return whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Return whether a value is a list."""
    return isinstance(value, list)


def is_objects(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    """Return whether a value is a list of objects."""
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def is_number(value: Any) -> TypeGuard[float]:
    """Return whether a value is a finite number."""
    return type(value) is int or (type(value) is float and math.isfinite(value))
