"""Reading the rows of a data set's files as records, with a report of everything unexpected."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from shroom.core.json_reading import BROKEN, Doubled
from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, show
from shroom.datasets.collection import Collection, FileRecords, Report, items_in
from shroom.datasets.fields import Unusable, build, from_cells
from shroom.scoring.data_set_forms import form_of
from shroom.scoring.input_files import CSV, JSON, Document, documents_among_others

R = TypeVar("R", bound=Struct)


class Link(NamedTuple):
    """Each record of ``kind`` receives, as a field, the record of ``other`` with the same key."""

    kind: type[Struct]
    key: str
    other: type[Struct]
    field: str
    file: str  # the file with the other kind


@dataclass(frozen=True)
class Form(Generic[R]):
    """The rows of a data set's files.

    Attributes
    ----------
    kinds : dict of type
        Record types by a key that only their rows have; ``""`` for any row.
    check : callable
        ``(record, report)``: reports other unexpected values, or raises :class:`Unusable`.
    same : callable
        ``record -> value``; repeated records have equal values.
    id : str
        The key of a row's id, for messages.
    ids : str
        The code of a repeated id; empty if ids may repeat.
    link : Link, optional
        How records of two files belong together.
    endings : tuple of str
        The endings of file names.
    """

    kinds: Mapping[str, type[R]]
    check: Callable[[Any, Report], None] = lambda *_: None
    same: Callable[[Any], Hashable] = repr
    id: str = "id"
    ids: str = ""
    link: Link | None = None
    endings: tuple[str, ...] = JSON

    def kind_of(self, item: Mapping[str, Any]) -> type[R] | None:
        """Return the record type of an object."""
        return next((kind for key, kind in self.kinds.items() if not key or key in item), None)

    def is_strange(self, document: Document, items: Sequence[Any]) -> bool:
        """Return whether a file among others contains only rows of another data set."""
        rows = [item for item in items if isinstance(item, dict)] if document.member else []
        return bool(rows) and not any(map(self.kind_of, rows)) and all(map(form_of, rows))


class Reader(Generic[R]):
    """Reads the rows of a data set's files; see :func:`read`."""

    def __init__(self, form: Form[R], problems: Problems) -> None:
        self.form, self.problems = form, problems
        self._first: dict[Hashable, str] = {}

    def records(self, items: Iterable[Any], report: Report) -> list[R | None]:
        """Return the record of each row of a file; ``None`` if the row is unusable."""
        return [self._record(item, report) for item in report.rows(items, self.form.id)]

    def _record(self, item: Any, report: Report) -> R | None:
        form = self.form
        if item is BROKEN:  # which is reported
            return None
        if not isinstance(item, dict):
            report.add("row-object", None, "an object", show(item))
            return None
        for key in sorted(_doubled_in(item)):
            expected = "each key once in an object (the last value is used)"
            report.add("key-doubled", show(key), expected, "the key again")
        kind = form.kind_of(item)
        try:
            if kind is None:
                expected = f"the key {' or '.join(map(show, form.kinds))}"
                raise Unusable(None, expected, f"keys {show(list(item))}")  # noqa: TRY301
            record = build(kind, item, report)
            form.check(record, report)
        except Unusable as reason:
            report.drop("row-value", *reason.args)
            return None
        self._compare(record, report)
        return record

    def _compare(self, record: R, report: Report) -> None:
        """Report a record or an id that repeats an earlier row."""
        form, place = self.form, f"item {report.place['index']} of {report.file}"
        first = self._first.setdefault((report.file, form.same(record)), place)
        if first is not place:
            report.add("row-doubled", None, "a new row", f"a repetition of {first}")
        row_id = form.ids and getattr(record, form.id, None)
        same_id = self._first.setdefault((form.id, row_id), place) if row_id else place
        if same_id is not place and (form.ids == "id-doubled" or first is place):
            report.add(form.ids, form.id, "a unique id", f"the id of {same_id}")

    def file(self, document: Document) -> tuple[Report, list[R | None]] | None:
        """Return the records of a file; ``None`` if it cannot be read or is left out."""
        form = self.form
        if form.endings == CSV:
            (kind,) = form.kinds.values()
            items = _csv_rows(document, kind, self.problems)
        else:
            items = items_in(document, self.problems)
        if items is None:
            return None
        if form.is_strange(document, items):
            got = f"{len(items)} rows of {form_of(items[0])}"
            self.problems.add("file-ignored", document.file, "rows of the data set", got)
            return None
        report = Report(document.file, self.problems)
        return report, self.records(items, report)


def read(
    name: str, form: Form[R], *paths: Source, problems: Problems | None = None
) -> Collection[R]:
    """Return the records in files, folders or zips."""
    problems = Problems(limit=None) if problems is None else problems
    reader = Reader(form, problems)
    files = [
        file
        for path in paths
        for document in documents_among_others(path, problems, endings=form.endings)
        if (file := reader.file(document)) is not None
    ]
    if form.link is not None:
        _put_together(form.link, files)
    if problems.errors:
        raise InvalidInput(problems)
    by_file = []
    for report, records in files:
        usable = [record for record in records if record is not None]
        by_file.append(FileRecords(report.file, usable, len(records) - len(usable)))
    return Collection(name, by_file, problems)


def _put_together(link: Link, files: Sequence[tuple[Report, list[Any]]]) -> None:
    """Give each record its linked record of another file; records without one are dropped."""
    rows = [
        (report, records, index, getattr(record, link.key), record)
        for report, records in files
        for index, record in enumerate(records)
        if record is not None
    ]
    others: dict[Any, Any] = {}
    for report, _, index, key, record in rows:
        if isinstance(record, link.other) and others.setdefault(key, record) != record:
            with report.row(index, {"id": key}, "id"):
                report.add("id-doubled", link.key, "a unique id", f"{show(key)} again")
    for report, records, index, key, record in rows:
        if not isinstance(record, link.kind):
            continue
        if key in others:
            records[index] = msgspec.structs.replace(record, **{link.field: others[key]})
            continue
        with report.row(index, {"id": getattr(record, "id", None)}, "id"):
            expected = f"the {link.key} of a row in {link.file}"
            report.add("row-value", link.key, expected, show(key))
        records[index] = None


def _doubled_in(item: Any) -> set[str]:
    """Return the keys that occur more than once in any object of a row."""
    keys = set(item.keys_doubled if isinstance(item, Doubled) else ())
    inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return keys.union(*map(_doubled_in, inner))


def _csv_rows(document: Document, kind: type[Struct], problems: Problems) -> list[Any] | None:
    """Return the values of each row by column, or ``BROKEN``; ``None`` for an unreadable file."""
    data = document.read(problems)
    if data is None:
        return None
    items: list[Any] = []
    try:
        if data.startswith(b"[{"):  # data in memory
            rows = msgspec.json.decode(data, type=list[dict[str, Any]])
            keys = {key for row in rows for key in row}  # a row has no empty cells
            cells = [{key: _text(row.get(key, "")) for key in keys} for row in rows]
            return [from_cells(kind, row) for row in cells]
        reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
        header = list(reader.fieldnames or ())
        if len({*header}) < len(header):
            problems.add("not-csv", document.file, "each column once", show(header))
            return None
        for index, row in enumerate(reader):
            fits = None not in row and None not in row.values()
            items.append(from_cells(kind, row) if fits else BROKEN)
            if not fits:
                expected = "as many fields as the header has"
                problems.add("row-width", document.file, expected, "another number", index=index)
    except (ValueError, csv.Error) as error:
        problems.add("not-csv", document.file, "comma-separated fields in UTF-8", f"{error}")
        return None
    if not items:
        problems.add("empty", document.file, "a header and rows", "none")
    return items


def _text(cell: Any) -> str:
    """Return a cell as in a file; a data frame turns integers beside empty cells into floats."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
