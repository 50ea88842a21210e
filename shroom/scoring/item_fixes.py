"""Fixing unambiguous mistakes in the items of a submission, with a log of the changes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from shroom.core.datapoint import Label
from shroom.core.json_reading import Doubled, named_doubled
from shroom.core.printing import counted
from shroom.core.problems import printable, show
from shroom.scoring.editions.edition import Edition
from shroom.scoring.item_values import (
    bare,
    decimal_in,
    id_in,
    id_meant,
    is_missing,
    label_meant,
    problem_of_p,
    word_in,
)
from shroom.scoring.kinds.base import kind_of
from shroom.scoring.rows import KEYS, LABELS, P, key_meant

_BINARY = {"true": True, "1": True, "false": False, "0": False}
_NOT_TEXTS = {"id", "label", "labels", P}
_COMMA = re.compile(r"(?:\d*,\d+|\d+)(?:[eE][+-]?\d+)?")
#: The names of pandas' row numbers as a column.
_ROW_NUMBERS = ("index", "", "Unnamed: 0")
#: The maximum of ratings from 1 to 10; percentages exceed it somewhere.
_MOST_RATING = 10
#: The code of the problem that a change fixes, and the description of the change.
_Changes = Iterator[tuple[str, str]]


@dataclass
class Log:
    """The log of changes: the first ``limit`` lines of each kind."""

    limit: int | None
    lines: list[str] = field(default_factory=list)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, kind: str, file: str, text: str) -> None:
        """Log a change, or several changes with a count in the text."""
        self.counts[file, kind] += 1
        if self.limit is None or self.counts[file, kind] <= self.limit:
            self.lines.append(f"fixed: {printable(file)}: {text} [{kind}]")

    def all(self) -> list[str]:
        """Return the lines, with the number of further changes of each kind."""
        rest = [
            f"fixed: {printable(file)}: {counted(count - self.limit, 'more change')} [{kind}]"
            for (file, kind), count in self.counts.items()
            if self.limit is not None and count > self.limit
        ]
        return self.lines + rest


def fix_items(items: list[Any], file: str, log: Log, edition: Edition) -> list[Any]:
    """Return the items of one file with unambiguous mistakes fixed."""
    is_binary = edition.annotation.kind == "binary"
    new = [copy(item) for item in items]  # a copy keeps the repeated keys
    if is_binary:
        new = list(edition.with_own_keys(new))
    for fix in _BINARY_FIXES if is_binary else (_values,):
        for code, text in fix(new, edition):
            log.add(code, file, text)
    return list(edition.with_file_keys(new)) if is_binary else new


def _rename_keys(items: list[Any], edition: Edition) -> _Changes:
    """Correct the spelling of keys, unless an item has different values for the same key."""
    known, renamed = _known(edition), Counter[tuple[str, str]]()
    for row in _objects(items):
        if row.keys() <= known:
            continue
        meant = {n: n if n in known else _key_meant(n, edition) or n for n in row}
        first = {key: row[name] for name, key in reversed(meant.items())}
        odd = {key for name, key in meant.items() if row[name] != first[key]}
        new = {name if key in odd else key: row[name] for name, key in meant.items()}
        renamed.update((n, k) for n, k in meant.items() if n != k and k not in odd)
        row.clear()
        row.update(new)
    for (name, key), count in renamed.items():
        named = show(edition.item.key(key))
        yield "key-unknown", f"{show(name)} renamed to {named} in {counted(count, 'item')}"


def _exchange(items: list[Any], edition: Edition) -> _Changes:
    """Swap label and p if each contains the other."""
    count = 0
    for row in _objects(items):
        label, p = row.get("label"), row.get(P)
        if isinstance(label, str):
            label = bare(label).strip(" %").replace(",", ".")
        if label_meant(p) in [*LABELS] and decimal_in(label) is not None:
            row["label"], row[P] = p, row["label"]
            count += 1
    if count:
        keys = f"{edition.item.key('label')} and {edition.item.key(P)}"
        yield "label-value", f"{keys} swapped in {counted(count, 'item')}"


def _read_commas(items: list[Any], edition: Edition) -> _Changes:
    """Replace decimal commas in p, if no p of the file has a point."""
    rows = [row for row in _objects(items) if P in row]
    texts = [_without_zeros(row[P]) for row in rows]
    if any("," in text for text in texts) and all(map(_COMMA.fullmatch, texts)):
        rows = [row for row in rows if isinstance(row[P], str) and "," in row[P]]
        for row in rows:
            row[P] = row[P].replace(",", ".")
        text = f"{edition.item.key(P)}: decimal comma replaced by a point"
        yield "p-number", f"{text} in {counted(len(rows), 'item')}"


def _divide_percent(items: list[Any], edition: Edition) -> _Changes:
    """Divide p by 100, if all p of the file are percentages."""
    rows = [row for row in _objects(items) if P in row]
    numbers = [p for row in rows if (p := decimal_in(row[P])) is not None]
    most = max(numbers, default=Decimal(0))
    are_many = 2 * sum(p > 1 for p in numbers) > sum(p > 0 for p in numbers)
    if len(numbers) < len(rows) or not _MOST_RATING < most <= 100 or not are_many:
        return
    for row, p in zip(rows, numbers):
        row[P] = float(p / 100)
    text = f"percentages divided by 100 (all between {min(numbers)} and {most})"
    yield "p-range", f"{edition.item.key(P)}: {text} in {counted(len(rows), 'item')}"


def _values(items: list[Any], edition: Edition) -> _Changes:
    """Correct the spelling of values."""
    for index, row in enumerate(items):
        if isinstance(row, Doubled):
            yield "key-doubled", f"item {index}: kept the last value of {named_doubled(row)}"
        for key, value in row.items() if isinstance(row, dict) else ():
            code, better = _meant(key, value, edition)
            if better is not value:
                new = edition.file_labels.get(better, better) if key == "label" else better
                place = f"item {index}: {edition.item.key(key)}"
                yield code, f"{place}: {show(value)} became {show(new)}"
                row[key] = better


def _meant(key: str, value: Any, edition: Edition) -> tuple[str, Any]:
    """Return the code for a wrong spelling of a value, and the unambiguous meaning."""
    kind = edition.item.id
    if key == edition.item.id_key:
        return "id-string" if kind == "integer" else "id-value", id_meant(value, kind)
    if key not in _NOT_TEXTS and is_missing(value) and (key in KEYS or value is not None):
        return "value-finite", ""
    better = kind_of(edition).meant(key, value, edition)
    if key == P:
        return "p-number" if isinstance(value, str) else "p-range", better
    if isinstance(better, list):
        return "span-value", better
    return "label-value" if key in ("label", "labels") else "word-value", better


def _read_binary_labels(items: list[Any], edition: Edition) -> _Changes:
    """Replace labels 0 and 1, or false and true, if p shows which is which."""
    rows = [row for row in _objects(items) if "label" in row]
    flags = [_BINARY.get(word_in(row["label"])) for row in rows]
    pairs = [(f, r[P]) for f, r in zip(flags, rows) if _is_p(r) and r[P] != 0.5]
    agreeing = sum(flag == (p > 0.5) for flag, p in pairs)
    if not pairs or None in flags or 10 * agreeing < 9 * len(pairs):
        return
    for flag, row in zip(flags, rows):
        row["label"] = (Label.HALLUCINATION if flag else Label.NOT_HALLUCINATION).value
    word = show(edition.file_labels[Label.HALLUCINATION.value])
    text = f"{edition.item.key('label')}: 1 or true read as {word}, which agrees with p"
    yield "label-value", f"{text} in {counted(agreeing, 'item')}"


def _order(items: list[Any], edition: Edition) -> _Changes:
    """Sort the items by pandas' row numbers, if there are no ids."""
    if not all(map(_is_complete, items)) or any(edition.item.id_key in row for row in items):
        return
    for key in _ROW_NUMBERS:
        numbers = [id_in(row.get(key)) for row in items]
        places = dict(zip(numbers, items))
        if places.keys() == set(range(len(items))) and numbers != sorted(numbers):
            items[:] = [places[number] for number in range(len(items))]
            yield "order", f"sorted {len(items)} rows by the row numbers in {show(key)}"
            return


def _drop_unknown_keys(items: list[Any], edition: Edition) -> _Changes:
    """Remove unknown keys from items that have a valid label and p."""
    known, left_out = _known(edition), Counter[str]()
    for row in filter(_is_complete, items):  # else the key may be what is missing
        for key in [k for k in row if k not in known and _key_meant(k, edition) is None]:
            del row[key]
            left_out[key] += 1
    for key, count in left_out.items():
        yield "key-unknown", f"removed {show(key)} from {counted(count, 'item')}"


#: The fixes for a file of labels and p, in this order. In other files, only values are fixed.
_BINARY_FIXES = (
    _rename_keys,
    _exchange,
    _read_commas,
    _divide_percent,
    _values,
    _read_binary_labels,
    _order,
    _drop_unknown_keys,
)


def _objects(items: list[Any]) -> Iterator[dict[str, Any]]:
    return (item for item in items if isinstance(item, dict))


def _known(edition: Edition) -> set[str]:
    return {*KEYS, edition.item.id_key, *edition.own_keys}


def _key_meant(name: str, edition: Edition) -> str | None:
    """Return the kit's key that a name means; for ids, the edition's key."""
    ours = {theirs: ours for ours, theirs in edition.item.keys.items() if ours != "id"}
    key = key_meant(name, edition.item.keys.values())
    return key if key is None else ours.get(key, key)


def _without_zeros(p: Any) -> str:
    """Return p as text; 0.0 and 1.0 become 0 and 1, as in spreadsheets."""
    return bare(p).strip(" %") if isinstance(p, str) else str(p).removesuffix(".0")


def _is_complete(row: Any) -> bool:
    return isinstance(row, dict) and _is_p(row) and row.get("label") in [*LABELS]


def _is_p(row: dict[str, Any]) -> bool:
    return problem_of_p(row.get(P)) is None
