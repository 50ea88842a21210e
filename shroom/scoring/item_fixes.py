"""Fixing values with only one reading in the items of a submission, and logging the changes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from shroom.core.datapoint import Label
from shroom.core.doubled_keys import Doubled, named_doubled
from shroom.core.problems import printable, show
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import default
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
from shroom.scoring.kinds.registry import kind_of
from shroom.scoring.table import KEYS, P, key_meant

_BINARY = {"true": True, "1": True, "false": False, "0": False}
_NOT_TEXTS = {"id", "label", "labels", P}
_LABELS = [label.value for label in Label]
_COMMA = re.compile(r"(?:\d*,\d+|\d+)(?:[eE][+-]?\d+)?")
#: The names of pandas' row numbers as a column.
_ROW_NUMBERS = ("index", "", "Unnamed: 0")
#: A p in percent is above this somewhere; ratings from 1 to 5 or to 10 never are.
_MOST_RATING = 10


@dataclass
class Log:
    """The lines of what was done, the first ``limit`` of each kind."""

    limit: int | None
    lines: list[str] = field(default_factory=list)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, kind: str, file: str, text: str) -> None:
        """Record one change, or several that are counted in the text."""
        self.counts[file, kind] += 1
        if self.limit is None or self.counts[file, kind] <= self.limit:
            self.lines.append(f"fixed: {printable(file)}: {text} [{kind}]")

    def all(self) -> list[str]:
        """Return the lines, and how many more there are of each kind."""
        rest = [
            f"fixed: {printable(file)}: and {count - self.limit} more [{kind}]"
            for (file, kind), count in self.counts.items()
            if self.limit is not None and count > self.limit
        ]
        return self.lines + rest


def fix_items(items: list[Any], file: str, log: Log, edition: Edition | None = None) -> list[Any]:
    """Return the items of one file with what has only one reading put right.

    Parameters
    ----------
    items : list
        Values from the file, of any type; they are not changed.
    file : str
        How to name the file in the log.
    log : Log
        Gets what was done.
    edition : Edition, optional
        The edition of the items; ``semeval2024`` by default.

    Examples
    --------
    >>> log = Log(20)
    >>> fix_items([{"Label": "not_hallucination", "prob": "24.7%"}], "a.json", log)
    [{'label': 'Not Hallucination', 'p(Hallucination)': 0.247}]
    >>> log.lines[0]
    'fixed: a.json: "Label" renamed to "label" in 1 item [key-unknown]'
    """
    edition = edition or default()
    is_binary = edition.annotation.kind == "binary"
    new = [dict(item) if isinstance(item, dict) else item for item in items]
    if is_binary:
        new = list(edition.with_own_keys(new))
    fixes = _Fixes([row for row in new if isinstance(row, dict)], file, log, edition)
    if is_binary:
        fixes.rename_keys()
        fixes.exchange()
        fixes.read_commas()
        fixes.divide_percent()
    for index, item in enumerate(items):
        if isinstance(item, Doubled):
            log.add("key-doubled", file, f"item {index}: kept the last {named_doubled(item)}")
        if isinstance(item, dict):
            fixes.fix_values(index, new[index])
    if is_binary:
        fixes.read_binary_labels()
        new = fixes.in_order(new)
        fixes.drop_unknown_keys()
        new = list(edition.with_file_keys(new))
    return new


class _Fixes:
    """The fixes of one file's rows, which are changed in place."""

    def __init__(self, rows: list[dict[str, Any]], file: str, log: Log, edition: Edition) -> None:
        self.rows, self.file, self.log, self.edition = rows, file, log, edition
        self.known = {*KEYS, edition.item.id_key, *edition.own_keys}
        self.key = edition.item.key
        #: The files' words for the kit's labels.
        self.words = {ours: theirs for theirs, ours in edition.own_labels.items()}

    def _add(self, kind: str, text: str, count: int) -> None:
        self.log.add(kind, self.file, f"{text} in {count} item{'' if count == 1 else 's'}")

    def _key_meant(self, name: str) -> str | None:
        """Return the kit's key that a name can only mean; for ids, that of the edition."""
        ours = {theirs: ours for ours, theirs in self.edition.item.keys.items() if ours != "id"}
        key = key_meant(name, self.edition.item.keys.values())
        return key if key is None else ours.get(key, key)

    def rename_keys(self) -> None:
        """Give keys their names, unless two of one item that differ would get the same."""
        renamed: Counter[tuple[str, str]] = Counter()
        for row in self.rows:
            if row.keys() <= self.known:
                continue
            meant = {n: n if n in self.known else self._key_meant(n) or n for n in row}
            values: dict[str, list[Any]] = {}
            for name, value in row.items():
                values.setdefault(meant[name], []).append(value)
            alike = {key for key, group in values.items() if all(v == group[0] for v in group)}
            new = {meant[name] if meant[name] in alike else name: row[name] for name in row}
            renamed.update((n, k) for n, k in meant.items() if n != k and k in alike)
            row.clear()
            row.update(new)
        for (name, key), count in renamed.items():
            self._add("key-unknown", f"{show(name)} renamed to {show(self.key(key))}", count)

    def exchange(self) -> None:
        """Exchange label and p where each holds what the other should."""
        count = 0
        for row in self.rows:
            label, p = row.get("label"), row.get(P)
            if isinstance(label, str):
                label = bare(label).strip(" %").replace(",", ".")
            if label_meant(p) in _LABELS and decimal_in(label) is not None:
                row["label"], row[P] = p, row["label"]
                count += 1
        if count:
            self._add("label-value", f"{self.key('label')} and {self.key(P)} exchanged", count)

    def read_commas(self) -> None:
        """Read p with a decimal comma, if none of the file has a point."""
        values = [row[P] for row in self.rows if P in row]
        texts = [_without_zeros(value) for value in values]
        if not any("," in text for text in texts) or not all(map(_COMMA.fullmatch, texts)):
            return
        rows = [row for row in self.rows if isinstance(row.get(P), str) and "," in row[P]]
        for row in rows:
            row[P] = row[P].replace(",", ".")
        self._add("p-number", f"{self.key(P)}: decimal comma read as a point", len(rows))

    def divide_percent(self) -> None:
        """Divide p by 100, where all p of the file can only be percentages."""
        rows = [row for row in self.rows if P in row]
        decimals = [decimal_in(row[P]) for row in rows]
        numbers = [p for p in decimals if p is not None]
        over = sum(p > 1 for p in numbers)
        if len(numbers) < len(rows) or max(numbers, default=Decimal(0)) <= _MOST_RATING:
            return
        if max(numbers) > 100 or 2 * over <= sum(p > 0 for p in numbers):
            return
        for row, p in zip(rows, numbers):
            row[P] = float(p / 100)
        between = f"all of them between {min(numbers)} and {max(numbers)}"
        self._add(
            "p-range", f"{self.key(P)}: divided by 100, as percentages ({between}),", len(rows)
        )

    def fix_values(self, index: int, row: dict[str, Any]) -> None:
        """Replace each other spelling of a value by the value."""
        for key, value in row.items():
            better = self._value(key, value)
            if better is not value:
                kind = self._code(key, value, better)
                new = self.words.get(better, better) if key == "label" else better
                text = f"item {index}: {self.key(key)}: {show(value)} became {show(new)}"
                self.log.add(kind, self.file, text)
                row[key] = better

    def _value(self, key: str, value: Any) -> Any:
        item = self.edition.item
        if key == item.id_key:
            return id_meant(value, item.id)
        if key not in _NOT_TEXTS and is_missing(value) and (key in KEYS or value is not None):
            return ""
        return kind_of(self.edition).meant(key, value, self.edition)

    def _code(self, key: str, value: Any, better: Any) -> str:
        """Return the code of the problem that a value has had."""
        if key == self.edition.item.id_key:
            return "id-string" if self.edition.item.id == "integer" else "id-value"
        if key == P:
            return "p-number" if isinstance(value, str) else "p-range"
        if better == "":
            return "value-finite"
        if isinstance(better, list):
            return "span-value"
        return "label-value" if key in ("label", "labels") else "word-value"

    def read_binary_labels(self) -> None:
        """Read labels that are all 0 and 1, or false and true, where p shows which is which."""
        rows = [row for row in self.rows if "label" in row]
        flags = [_BINARY.get(word_in(row["label"])) for row in rows]
        pairs = [(f, r[P]) for f, r in zip(flags, rows) if _is_p(r) and r[P] != 0.5]
        if not pairs or None in flags:
            return
        agreeing = sum(flag == (p > 0.5) for flag, p in pairs)
        if 10 * agreeing < 9 * len(pairs):
            return
        for flag, row in zip(flags, rows):
            row["label"] = (Label.HALLUCINATION if flag else Label.NOT_HALLUCINATION).value
        word = self.words.get(_LABELS[0], _LABELS[0])
        text = f"{self.key('label')}: 1 or true read as {show(word)}, as p has it"
        self._add("label-value", text, agreeing)

    def in_order(self, items: list[Any]) -> list[Any]:
        """Return the items by the row numbers that pandas has written, if nothing else says."""
        complete = [row for row in self.rows if _is_complete(row)]
        if len(complete) < len(items) or any(self.edition.item.id_key in row for row in complete):
            return items
        for key in _ROW_NUMBERS:
            numbers = [id_in(row.get(key)) for row in complete]
            places = dict(zip(numbers, complete))
            if places.keys() == set(range(len(items))) and numbers != sorted(numbers):
                text = f"put {len(items)} rows into order by the row numbers of {show(key)}"
                self.log.add("order", self.file, text)
                return [places[number] for number in range(len(items))]
        return items

    def drop_unknown_keys(self) -> None:
        """Leave out what no reader knows, where an item has all that it needs."""
        left_out: Counter[str] = Counter()
        for row in self.rows:
            if not _is_complete(row):
                continue  # the key may be what is missing
            for key in [k for k in row if k not in self.known and self._key_meant(k) is None]:
                del row[key]
                left_out[key] += 1
        for key, count in left_out.items():
            self._add("key-unknown", f"left out {show(key)}", count)


def _without_zeros(p: Any) -> str:
    """Return the text of a p; a spreadsheet writes 0 and 1, which are read as 0.0 and 1.0."""
    return bare(p).strip(" %") if isinstance(p, str) else str(p).removesuffix(".0")


def _is_complete(row: dict[str, Any]) -> bool:
    return _is_p(row) and row.get("label") in _LABELS


def _is_p(row: dict[str, Any]) -> bool:
    return problem_of_p(row.get(P)) is None
