"""The rows of a file as columns: one reader for every kind of annotation.

A kind has a list of fields. The reader reads them row by row and reports every problem; where
msgspec is installed, a file in which nothing is wrong takes the quick path on whole columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from sys import intern
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core import archives
from shroom.core.datapoint import Reference
from shroom.core.doubled_keys import Doubled, again
from shroom.core.json_reading import BROKEN
from shroom.core.problems import Problem, Problems, Stopped, show
from shroom.scoring.column_names import named_columns
from shroom.scoring.csv_files import RowWithGaps
from shroom.scoring.data_set_forms import refuse_another
from shroom.scoring.editions.files import default
from shroom.scoring.item_values import id_in, is_missing, problem_of_id
from shroom.scoring.kinds.base import Fault, Fields, Read
from shroom.scoring.kinds.quotes import quotes
from shroom.scoring.kinds.registry import kind_of
from shroom.scoring.table import GROUPS, KEYS, TEXTS, Group, P, Role, Table

if TYPE_CHECKING:
    from shroom.scoring.editions.edition import Edition
    from shroom.scoring.input_files import Document

quick: ModuleType | None
try:
    from shroom.scoring import quick_reader as quick
except ImportError:  # the scoring program has no msgspec
    quick = None

#: Keys of which nothing is left to read after the fields.
_PLAIN = frozenset(("id", "label", P))
_NO_TEXTS = (None,) * len(TEXTS)
_REFERENCES = {"": "", "both": "either", **{side.value: side.value for side in Reference}}


def read_rows(
    document: Document,
    role: Role,
    problems: Problems,
    edition: Edition | None = None,
    *,
    texts: bool = False,
) -> Table | None:
    """Return a document's rows as columns.

    Parameters
    ----------
    document : Document
        The file.
    role : Role
        Role that the file is read in.
    problems : Problems
        Gets what is wrong with it.
    edition : Edition, optional
        ``semeval2024`` by default.
    texts : bool
        Whether the gold's texts are needed.

    Returns
    -------
    Table or None
        ``None`` if there are no rows.
    """
    edition = edition or default()
    data = document.read(problems)
    if data is None or (edition.reads_own_form and refuse_another(document, data, problems)):
        return None
    is_plain = edition.reads_own_form and not named_columns() and not document.is_table(data)
    if quick is not None and is_plain:
        lines = document.is_lines(data)
        table: Table | None = quick.read(data, role, document.file, lines=lines, texts=texts)
        if table is not None:
            return table
    if role is Role.PREDICTIONS and len(data) > archives.MAX_BYTES:
        archives.report_too_large(document.file, problems, archives.MAX_BYTES)
        return None
    try:
        items = document.iter_items(data, problems, edition.item)
        rows = read_each(items, role, document.file, problems, edition)
    except Stopped:
        return None
    rows.has_broken_lines = problems.count("not-json", document.file) > 0
    return rows


def read_each(
    items: Iterable[Any],
    role: Role,
    file: str,
    problems: Problems,
    edition: Edition | None = None,
    readers: Mapping[str, Callable[[Any], Read]] = MappingProxyType({}),
) -> Table:
    """Return items as columns, reporting every problem of every item.

    Parameters
    ----------
    items : iterable
        Values from the file, of any type. Predictions are looked at one by one.
    role, file, problems, edition
        As for :func:`read_rows`; the columns are fit for scoring only if there are no errors.
    readers : mapping of callable
        How to read some fields, by their keys; their values are kept as columns.
    """
    edition = edition or default()
    items, fields = edition.with_own_keys(items), kind_of(edition).fields(edition, role)
    wanted = fields if role is Role.PREDICTIONS else []
    if role is Role.GOLD:
        items = list(items)
        wanted = [group for group in fields if _is_present(group, items)]
    reader = _Reader(role, file, problems, edition, wanted, readers)
    for index, item in enumerate(items):
        reader.add(index, item)
    return reader.table(fields)


def _is_present(group: Fields, items: Sequence[Any]) -> bool:
    keys = [field.key for field in group.fields]
    return any(isinstance(item, dict) and any(key in item for key in keys) for item in items)


class _Reader:
    """The columns while they are read, row by row."""

    def __init__(
        self,
        role: Role,
        file: str,
        problems: Problems,
        edition: Edition,
        fields: Sequence[Fields],
        readers: Mapping[str, Callable[[Any], Read]],
    ) -> None:
        self.role, self.file, self.problems, self.edition = role, file, problems, edition
        self.item, self.kind, self.fields, self.readers = (
            edition.item,
            kind_of(edition),
            fields,
            readers,
        )
        self.is_prediction = role is Role.PREDICTIONS
        self.is_binary = edition.annotation.kind == "binary"
        self.columns: dict[str, list[Any]] = {it.key: [] for group in fields for it in group.fields}
        keys = {*KEYS, self.item.id_key, *edition.own_keys, *self.kind.keys}
        self.known = keys.union(self.columns)
        self.index, self.id = -1, None
        self.ids: list[Any] = []
        self.places: list[int] = []
        self.without_id: list[int] = []
        self.has_any_id = self.has_odd_ids = False
        self.words: dict[str, list[str]] = {}
        self.texts: list[tuple[str | None, ...]] = []
        #: The first row, its id and the number of occurrences of each unknown key.
        self.unknown: dict[str, tuple[int, Any, int]] = {}

    def report(self, fault: Fault, key: str | None = None) -> None:
        """Report what is wrong with a value of this row."""
        found, place = partial(fault.form, fault.value), {"index": self.index, "id": self.id}
        self.problems.add(fault.code, self.file, fault.expected, found, key=key, **place)

    def add(self, index: int, row: Any) -> None:
        """Read the next row."""
        self.index, self.id = index, None
        is_object = isinstance(row, dict)
        if is_object:
            self._read_id(row)
            if self.is_prediction and isinstance(row, Doubled):
                self.report(Fault("key-doubled", "each key once", row, form=again))
        elif row is not BROKEN:
            is_left_out = self.kind.marks_texts and self.role is Role.GOLD
            self.report(Fault("row-object" if is_left_out else "item-object", "an object", row))
        if self.kind.marks_texts:
            text = self._text(row) if is_object else None
            if text is None:
                return
            self.columns.setdefault("text", []).append(text)
            self.columns.setdefault("quotes", []).append([*quotes(row)])
        self.ids.append(self.id)
        self.places.append(index)
        for group in self.fields:
            self._read(group, row if is_object else None)
        if is_object and not row.keys() <= _PLAIN:
            self._add_rest(row)

    def _read_id(self, row: dict[str, Any]) -> None:
        key, kind = self.item.id_key, self.item.id
        if kind == "none":
            return
        if key not in row:
            self.without_id.append(self.index)
            return
        value = row[key]
        self.id = id_in(value, kind)
        if self.id is not None:
            self.has_any_id = True
            if kind == "integer" and type(value) is not int:
                self.report(Fault("id-string", str(self.id), value), key)
        else:
            code, expected = problem_of_id(kind)
            self.has_odd_ids |= kind == "integer"
            self.report(Fault(code, expected, value), key)

    def _text(self, row: dict[str, Any]) -> str | None:
        """Return the text in which spans are marked; ``None`` if the row has none."""
        if self.is_prediction:
            return ""
        key, value = self.item.key("hyp"), row.get("hyp")
        fault = None
        if "hyp" not in row:
            fault = Fault("row-value", "a text", row, form=self._keys_of)
        elif not (value is None or isinstance(value, (str, float))):
            fault = Fault("row-value", "a text", value)
        elif is_missing(value):
            code = "text-odd" if value is None else "value-finite"
            fault = Fault(code, "a text (read as empty)", value)
        elif not isinstance(value, str):
            fault = Fault("text-odd", "a text (read as empty)", value)
        elif not value:
            fault = Fault("answer-empty", "an answer", "an empty text", form=str)
        if fault is not None:
            self.report(fault, key)
        is_left_out = fault is not None and fault.code == "row-value"
        return None if is_left_out else value if isinstance(value, str) else ""

    def _read(self, group: Fields, row: dict[str, Any] | None) -> None:
        """Read fields of a row, or the values that they have if it is not an object."""
        for key, read, missing, is_needed in group.fields:
            value = missing
            if row is not None and key in row:
                value, faults = self.readers.get(key, read)(row[key])
                for fault in faults:
                    self.report(fault, self.item.key(key) + fault.part)
            elif row is not None and is_needed and not group.either:
                self._report_missing(key, row)
            self.columns[key].append(value)
        if group.either and self.is_prediction and row is not None:
            keys = [field.key for field in group.fields]
            if all(row.get(key) is None for key in keys):
                expected = f"{', '.join(keys)} or both"
                self.report(Fault("key-missing", expected, row, form=self._keys_of))

    def _report_missing(self, key: str, row: dict[str, Any]) -> None:
        shown = self.item.key(key)
        if isinstance(row, RowWithGaps) and shown in map(self.item.key, row.empty):
            problem = ("p-number", "a number") if key == P else ("label-value", "a label")
            self.report(Fault(*problem, "an empty cell", form=str), shown)
        else:
            self.report(Fault("key-missing", f'the key "{shown}"', row, form=self._keys_of))

    def _keys_of(self, row: dict[str, Any]) -> str:
        return f"keys {show([*map(self.item.key, row)])}"

    def _add_rest(self, row: dict[str, Any]) -> None:
        """Add what a row has besides its id and its fields."""
        place = len(self.places) - 1
        # For predictions, only whether a row names a model is used: one character.
        keys = GROUPS if not self.is_prediction else ("model",) if self.is_binary else ()
        for key in keys:
            if key in row:
                word = row[key] if isinstance(row[key], str) else ""
                word = self._reference(row[key], word) if key == "ref" else word
                words = self.words.setdefault(key, [])
                words += [""] * (place - len(words))
                words.append(intern(word[:1] if self.is_prediction else word))
        if self.is_binary and not row.keys().isdisjoint(TEXTS):
            self.texts += [_NO_TEXTS] * (place - len(self.texts))
            values = map(row.get, TEXTS)
            self.texts.append(tuple(it if isinstance(it, str) else None for it in values))
        for key, value in row.items():
            if self.is_prediction and key not in self.known:
                first, id_, times = self.unknown.get(key, (self.index, self.id, 0))
                self.unknown[key] = first, id_, times + 1
            elif self.is_binary and key not in _PLAIN and is_missing(value):
                expected = "a list of labels" if key == "labels" else "a text"
                fault = Fault("value-finite", expected, value)
                self.report(fault, key) if key in KEYS or value is not None else None

    def _reference(self, value: object, word: str) -> str:
        if not self.is_binary:
            return word
        is_text = value is None or isinstance(value, (str, float))  # nan is reported as such
        if self.role is Role.GOLD and not (word in _REFERENCES and is_text):
            self.report(Fault("ref-odd", '"src", "tgt" or "either"', value), "ref")
        return _REFERENCES.get(word, word)

    def table(self, fields: Sequence[Fields]) -> Table:
        """Return the columns, after reports of what needs all rows."""
        self.problems.extend(self._check_keys_and_ids())
        n = len(self.places)
        for field in (field for group in fields for field in group.fields):
            self.columns.setdefault(field.key, [field.missing] * n)
        if self.kind.marks_texts:
            self.columns = {"text": [], "quotes": [], **self.columns}
        has_id = np.array([id_ is not None for id_ in self.ids], bool)
        is_integer = self.item.id == "integer"
        none = 0 if is_integer else ""
        ids = [none if id_ is None else id_ for id_ in self.ids] if has_id.any() else None
        arrays = {"label": np.full(n, -1, np.int8), "p": np.full(n, math.nan)}
        arrays |= self.kind.arrays(self.columns, self.edition)
        is_kept = self.kind.marks_texts or self.readers
        table = Table(
            self.file,
            n,
            **arrays,
            ids=None if ids is None else np.array(ids, np.int64 if is_integer else None),
            has_id=None if ids is None or has_id.all() else has_id,
            texts=self.texts + [_NO_TEXTS] * (n - len(self.texts)) if self.texts else None,
            groups={key: Group.of(it + [""] * (n - len(it))) for key, it in self.words.items()},
            columns=self.columns if is_kept else {},
            places=self.places if self.kind.marks_texts else None,
            has_odd_ids=self.has_odd_ids,
        )
        self.problems.extend(self.kind.check_file(table, self.role))
        return table

    def _check_keys_and_ids(self) -> Iterator[Problem]:
        for key, (index, id_, times) in self.unknown.items():
            found = show(key) + (f" here and in {times - 1} more" if times > 1 else "")
            yield Problem("key-unknown", self.file, "the known keys", found, index, id_)
        key, n = self.item.id_key, self.index + 1
        if self.has_any_id:
            for index in self.without_id:
                expected = "an id, as other items have"
                yield Problem("id-missing", self.file, expected, "none", index, key=key)
        elif n and not self.is_prediction and self.item.id == "string":
            found = f"none on {n} items"
            yield Problem("id-missing", self.file, "an id in every row", found, key=key)
