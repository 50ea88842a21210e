"""The rows of a file as columns: one reader for every kind of annotation."""

# A kind of annotation has a list of fields. Valid files take the quick path.

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from shroom.core import archives
from shroom.core.datapoint import Reference
from shroom.core.json_reading import BROKEN, Doubled, again
from shroom.core.printing import counted
from shroom.core.problems import Problem, Problems, Stopped, show
from shroom.scoring.column_names import NO_NAMES, Names
from shroom.scoring.csv_files import RowWithGaps
from shroom.scoring.editions.edition import Edition
from shroom.scoring.input_files import Document
from shroom.scoring.item_values import id_in, is_missing, problem_of_id
from shroom.scoring.kinds.base import Fault, Fields, Read, kind_of
from shroom.scoring.kinds.span_values import quotes
from shroom.scoring.rows import GROUPS, KEYS, TEXTS, Group, P, Role, Rows, renames

quick: ModuleType | None
try:
    from shroom.scoring import quick_reader as quick
except ImportError:  # the scoring program has no msgspec
    quick = None

#: Keys that are read completely as fields.
_PLAIN = frozenset(("id", "label", P))
_NOTHING: dict[str, Any] = {}
_REFERENCES = {"": "", "both": "either", **{side.value: side.value for side in Reference}}


def read_rows(
    document: Document, role: Role, problems: Problems, edition: Edition, *, texts: bool = False
) -> Rows | None:
    """Return a document's rows as columns; ``None`` if there are no rows."""
    data = document.read_own(problems, edition)
    if data is None:
        return None
    form, is_plain = document.form(data), edition.reads_own_form and not document.names.columns
    if quick is not None and is_plain and form != "table":
        lines = form == "lines"
        table: Rows | None = quick.read(data, role, document.file, lines=lines, texts=texts)
        if table is not None:
            return table
    if role is Role.PREDICTIONS and len(data) > archives.MAX_BYTES:
        archives.too_large(archives.MAX_BYTES).report(document.file, problems)
        return None
    try:
        items = document.iter_items(data, problems, edition.item)
        names = document.names_in(data, role)
        rows = Reader(role, document.file, problems, edition, names).read(items)
    except Stopped:
        return None
    rows.has_broken_lines = problems.count("not-json", document.file) > 0
    rows.has_odd_ids = problems.count("id-integer", document.file) > 0
    return rows


class Reader:
    """The columns of a file that is being read row by row."""

    def __init__(
        self, role: Role, file: str, problems: Problems, edition: Edition, names: Names = NO_NAMES
    ) -> None:
        self.role, self.file, self.problems, self.edition = role, file, problems, edition
        self.shown, self.words = names.shown, names.labels
        self.item, self.kind = edition.item, kind_of(edition)
        self.groups = self.kind.fields(edition, role)
        self.fields = [field for group in self.groups for field in group.fields]
        self.is_prediction = role is Role.PREDICTIONS
        self.is_binary = edition.annotation.kind == "binary"
        self.known = {*KEYS, self.item.id_key, *edition.own_keys, *self.kind.keys}
        self.known.update(field.key for field in self.fields)
        # For predictions, only whether a row names a model is used.
        kept = GROUPS if not self.is_prediction else ("model",) if self.is_binary else ()
        self.kept = {*kept, *(TEXTS if self.is_binary else ())}
        self.index, self.id = -1, None
        #: The row as it is in the file, before the edition renames its keys; for predictions.
        self.original: Any = None
        self.ids, self.places, self.without_id = list[Any](), list[int](), list[int]()
        self.columns = {key: list[Any]() for key in ("text", "quotes") if self.kind.marks_texts}
        self.columns |= {field.key: [] for field in self.fields}
        self.row_without_id = _NOTHING
        self.has_any_id = self.has_texts = self.has_votes = False
        #: Groups and texts of each row, as far as it has them.
        self.others = list[dict[str, Any]]()
        #: The first row, its id and the number of occurrences of each unknown key.
        self.unknown: dict[str, tuple[int, Any, int]] = {}

    def read(self, items: Iterable[Any]) -> Rows:
        """Return items as columns; report every problem. Errors make them unusable for scores."""
        items = self.edition.with_own_keys(self._remembered(items))
        wanted = self.groups if self.is_prediction else ()
        if self.role is Role.GOLD:
            items, self.original = [*items], None
            present = {key for item in items if isinstance(item, dict) for key in item}
            wanted = [group for group in self.groups if not present.isdisjoint(group.keys)]
        for index, row in enumerate(items):
            self._add(row if self.begins(index, row) else None, wanted)
        self.problems.extend(self._check_keys_and_ids())
        table = self._table()
        self.problems.extend(self.kind.check_file(table, self.role))
        return table

    def _remembered(self, items: Iterable[Any]) -> Iterator[Any]:
        for self.original in items:
            yield self.original

    def begins(self, index: int, row: Any) -> bool:
        """Read the id of the next row; return whether the row is an object."""
        self.index, self.id = index, None
        if isinstance(row, dict):
            self._read_id(row)
            if self.is_prediction and isinstance(row, Doubled):
                self.report(Fault("key-doubled", "each key only once", row, form=again))
        elif row is not BROKEN:
            is_left_out = self.kind.marks_texts and self.role is Role.GOLD
            self.report(Fault("row-object" if is_left_out else "item-object", "an object", row))
        return isinstance(row, dict)

    def _read_id(self, row: dict[str, Any]) -> None:
        key, kind = self.item.id_key, self.item.id
        if key in row:
            self.id = id_in(row[key], kind)
            self.has_any_id |= self.id is not None
            is_plain = type(row[key]) is int and self.id is not None
            problem = None if is_plain else problem_of_id(row[key], self.id, kind)
            if problem is not None:
                self.report(Fault(*problem, row[key]), self._key(key))
        elif kind != "none":
            self.without_id.append(self.index)
            self.row_without_id = row

    def report(self, fault: Fault, key: str | None = None) -> None:
        """Report a problem of a value in this row."""
        expected, found = fault.expected, partial(fault.form, fault.value)
        if self.words and fault.code == "label-value" and not isinstance(fault.value, list):
            expected = " or ".join(map(show, self.words))
        place = {"index": self.index, "id": self.id, "key": key}
        self.problems.add(fault.code, self.file, expected, found, **place)

    def _key(self, key: str) -> str:
        """Return the user's or the edition's name of a key."""
        return self.shown.get(key) or self.item.key(key)

    def values(self, group: Fields, row: dict[str, Any] | None) -> Iterator[tuple[str, Any]]:
        """Yield the keys and values of fields; missing values if the row is not an object."""
        for key, read, missing, is_needed in group.fields:
            value = missing
            if row is not None and key in row:
                value, faults = read(row[key])
                for fault in faults:
                    self.report(fault, self._key(key) + fault.part)
            elif row is not None and is_needed and not group.either:
                self._report_missing(key, row)
            yield key, value
        is_asked = group.either and self.is_prediction
        if row is not None and is_asked and all(row.get(key) is None for key in group.keys):
            expected = f"{', '.join(group.keys)} or both"
            self.report(Fault("key-missing", expected, row, form=self._keys_of))

    def _report_missing(self, key: str, row: dict[str, Any]) -> None:
        shown = self._key(key)
        if isinstance(row, RowWithGaps) and shown in map(self._key, row.empty):
            problem = ("p-number", "a number") if key == P else ("label-value", "a label")
            self.report(Fault(*problem, "an empty cell", form=str), shown)
        else:
            self.report(Fault("key-missing", f'the key "{shown}"', row, form=self._keys_of))

    def _keys_of(self, row: dict[str, Any]) -> str:
        is_ours = self.original is None
        keys = [self._key(it) if is_ours else self.shown.get(it, it) for it in self.original or row]
        new = renames(keys, self.item.keys.values()).items()
        changes = ", ".join(f"{show(name)} to {show(self._key(key))}" for name, key in new)
        return f"keys {show(keys)}" + f" (rename {changes})" * bool(changes)

    def _add(self, row: dict[str, Any] | None, groups: Iterable[Fields]) -> None:
        """Add a row to the columns; ``None`` if it is not an object."""
        if self.kind.marks_texts:
            text = "" if self.is_prediction else self._text(row)
            if row is None or text is None:
                return
            self.columns["text"].append(text)
            self.columns["quotes"].append([*quotes(row)])
            self.places.append(self.index)
        self.ids.append(self.id)
        for group in groups:
            for key, value in self.values(group, row):
                self.columns[key].append(value)
        self.others.append(_NOTHING if row is None or row.keys() <= _PLAIN else self._others(row))

    def _text(self, row: dict[str, Any] | None) -> str | None:
        """Return the text in which spans are marked; ``None`` if the row has none."""
        if row is None:
            return None
        absent = Fault("row-value", "a text", row, form=self._keys_of)
        text, faults = _text_in(row["hyp"]) if "hyp" in row else (None, (absent,))
        for fault in faults:
            self.report(fault, self.item.key("hyp"))
        return text

    def _others(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the groups and texts of a row, and check its other values."""
        for key, value in row.items():
            if self.is_prediction and key not in self.known:
                first, id_, times = self.unknown.get(key, (self.index, self.id, 0))
                self.unknown[key] = first, id_, times + 1
            elif self.is_binary and key not in _PLAIN:
                self._check_value(key, value)
        self.has_texts |= self.is_binary and not row.keys().isdisjoint(TEXTS)
        return {key: row[key] for key in self.kept if isinstance(row.get(key), str)}

    def _check_value(self, key: str, value: Any) -> None:
        self.has_votes |= key == "labels" and isinstance(value, list) and bool(value)
        if is_missing(value) and (key in KEYS or value is not None):
            expected = "a list of labels" if key == "labels" else "a text"
            self.report(Fault("value-finite", expected, value), key)
        elif key == "ref" and self.role is Role.GOLD and str(value) not in _REFERENCES:
            self.report(Fault("ref-odd", '"src", "tgt" or "either"', value), "ref")

    def _table(self) -> Rows:
        n, is_integer = len(self.ids), self.item.id == "integer"
        for field in self.fields:
            self.columns[field.key] = self.columns[field.key] or [field.missing] * n
        has_id, ids = np.array([id_ is not None for id_ in self.ids], bool), None
        if has_id.any():
            none: Any = 0 if is_integer else ""
            filled = [none if id_ is None else id_ for id_ in self.ids]
            ids = np.array(filled, np.int64 if is_integer else None)
        words = {key: [it.get(key, "") for it in self.others] for key in self.kept & {*GROUPS}}
        if self.is_binary and "ref" in words:
            words["ref"] = [_REFERENCES.get(word, word) for word in words["ref"]]
        arrays: dict[str, Any] = {"label": np.full(n, -1, np.int8), "p": np.full(n, math.nan)}
        arrays["labels"] = self.words or tuple(self.edition.own_labels)
        arrays |= self.kind.arrays(self.columns, self.edition)
        return Rows(
            self.file,
            n,
            **arrays,
            ids=ids,
            has_id=None if ids is None or has_id.all() else has_id,
            texts=[tuple(map(it.get, TEXTS)) for it in self.others] if self.has_texts else None,
            has_votes=self.has_votes,
            groups={key: Group.of(words[key]) for key in GROUPS if any(words.get(key, ()))},
            columns=self.columns if self.kind.marks_texts else {},
            places=self.places if self.kind.marks_texts else None,
            shown={**self.item.keys, **self.shown},
        )

    def _check_keys_and_ids(self) -> Iterator[Problem]:
        for key, (index, id_, times) in self.unknown.items():
            found = show(key)
            if times > 1:
                found += f" here and in {counted(times - 1, 'more item')}"
            yield Problem("key-unknown", self.file, "only known keys", found, index, id_)
        key, n = self._key(self.item.id_key), self.index + 1
        if self.has_any_id:
            for index in self.without_id:
                expected = "an id, because other items have one"
                yield Problem("id-missing", self.file, expected, "no id", index, key=key)
        elif n and not self.is_prediction and self.item.id == "string":
            (row,) = self.edition.with_file_keys([self.row_without_id])
            keys = show([*row], width=200)
            found = f"{counted(n, 'item')} without an id; the first has the keys {keys}"
            yield Problem("id-missing", self.file, "an id in every row", found, key=key)


def _text_in(value: Any) -> Read:
    """Return the text in a value; ``None`` if it is neither a text nor missing."""
    if isinstance(value, str):
        empty = Fault("answer-empty", "an answer", "an empty text", form=str)
        return value, () if value else (empty,)
    if value is None or isinstance(value, float):
        code = "text-odd" if value is None or math.isfinite(value) else "value-finite"
        return "", (Fault(code, "a text (a missing value is read as an empty text)", value),)
    return None, (Fault("row-value", "a text", value),)
