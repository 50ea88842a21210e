"""From items to columns, the slow way: reporting every problem of every row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.datapoint import Label
from shroom.decode import BROKEN, report_doubled
from shroom.problems import show
from shroom.table import GROUPS, KEYS, LANGS, TEXTS, TOLERANCE, Group, P, Role, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shroom.problems import Problems

_CHECKED = ("id", "label", P)
_LABELS = {label.value: label is Label.HALLUCINATION for label in Label}
_EXPECTED_LABEL = " or ".join(f'"{label.value}"' for label in Label)
_INT64 = 1 << 63


def tabulate(items: list[Any], role: Role, file: str, problems: Problems) -> Table:
    """Return the items as columns, reporting every problem of every item.

    Parameters
    ----------
    items : list
        What stood in the file, of any type.
    role : Role
        What the file is read as.
    file : str
        How to name it in messages.
    problems : Problems
        Gets the problems; the table is fit for scoring only if there are no errors among them.
    """
    rows = _Rows(role, file, problems, len(items))
    rows.wants_labels = role is Role.PREDICTIONS or (
        role is Role.GOLD and any(isinstance(i, dict) and ("label" in i or P in i) for i in items)
    )
    for index, item in enumerate(items):
        if isinstance(item, dict):
            rows.add(index, item)
        elif item is not BROKEN:
            problems.add("item-object", file, "an object", show(item), index=index)
    rows.finish()
    return rows.table(items)


def number_in(value: object) -> float | None:
    """Return the number that a value stands for, also in a string; ``None`` where there is none."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, str) and len(value) < 100 and "_" not in value:
        try:
            return float(value)
        except ValueError:
            return None
    return None


def label_in(value: object) -> Label | None:
    """Return the label that a value stands for, whatever its case and the blanks around it.

    Examples
    --------
    >>> label_in(" not hallucination").value
    'Not Hallucination'
    """
    folded = " ".join(value.split()).lower() if isinstance(value, str) else None
    return next((label for label in Label if label.value.lower() == folded), None)


def id_in(value: object) -> int | None:
    """Return the integer that a value is, or that stands in a string; else ``None``."""
    if isinstance(value, str) and value.isascii() and len(value) < 40:
        digits = value.strip()
        value = int(digits) if digits.removeprefix("-").isdigit() else None
    if isinstance(value, int) and not isinstance(value, bool) and -_INT64 <= value < _INT64:
        return value
    return None


class _Rows:
    """The columns while they are read, row by row."""

    def __init__(self, role: Role, file: str, problems: Problems, n: int) -> None:
        self.role, self.file, self.problems, self.n = role, file, problems, n
        self.wants_labels = True
        self.label = np.full(n, -1, np.int8)
        self.p = np.full(n, np.nan)
        self.ids = np.zeros(n, np.int64)
        self.has_id = np.zeros(n, bool)
        self.without_id: list[int] = []
        self.unknown: dict[str, list[int]] = {}

    def add(self, index: int, item: dict[str, Any]) -> None:
        self._add_id(index, item)
        if self.role is Role.PREDICTIONS:
            report_doubled(item, self.file, self.problems, **self._place(index))
        if self.wants_labels:
            for key in ("label", P):
                if key not in item:
                    found = f"keys {show(list(item))}"
                    self._report("key-missing", index, f'the key "{key}"', found)
            if "label" in item:
                self._add_label(index, item["label"])
            if P in item:
                self._add_p(index, item[P])
        for key, value in item.items():
            if self.role is Role.PREDICTIONS and key not in KEYS:
                self.unknown.setdefault(key, []).append(index)
            if isinstance(value, float) and not math.isfinite(value) and key not in _CHECKED:
                expected = "a list of labels" if key == "labels" else "a text"
                self._report("value-finite", index, expected, show(value), key=key)

    def _add_id(self, index: int, item: dict[str, Any]) -> None:
        if "id" not in item:
            self.without_id.append(index)
            return
        value = id_in(item["id"])
        if value is None:
            self._report("id-integer", index, "an integer", show(item["id"]), key="id")
            return
        self.ids[index], self.has_id[index] = value, True
        if isinstance(item["id"], str):
            self._report("id-string", index, f"{value}", show(item["id"]), key="id")

    def _add_label(self, index: int, value: object) -> None:
        if not isinstance(value, str) or value not in _LABELS:
            self._report("label-value", index, _EXPECTED_LABEL, show(value), key="label")
        label = label_in(value)
        if label is not None:
            self.label[index] = label is Label.HALLUCINATION

    def _add_p(self, index: int, value: object) -> None:
        number = number_in(value)
        if number is None or isinstance(value, str):
            self._report("p-number", index, "a number", show(value), key=P)
        elif isinstance(value, float) and not math.isfinite(value):
            self._report("p-finite", index, "a finite number", show(value), key=P)
        elif not -TOLERANCE <= number <= 1 + TOLERANCE:
            self._report("p-range", index, "a number in [0, 1]", show(value), key=P)
        if number is not None and -TOLERANCE <= number <= 1 + TOLERANCE:
            self.p[index] = number

    def _report(
        self, code: str, index: int, expected: str, found: str, key: str | None = None
    ) -> None:
        self.problems.add(code, self.file, expected, found, key=key, **self._place(index))

    def _place(self, index: int) -> dict[str, Any]:
        return {"index": index, "id": int(self.ids[index]) if self.has_id[index] else None}

    def finish(self) -> None:
        """Report what shows only once all rows are read."""
        for key, indices in self.unknown.items():
            rest = f" here and in {len(indices) - 1} more" if len(indices) > 1 else ""
            self._report("key-unknown", indices[0], "the known keys", show(key) + rest)
        if self.has_id.any():
            for index in self.without_id:
                self._report("id-missing", index, "an id, as other items have", "none", key="id")

    def table(self, items: list[Any]) -> Table:
        rows = [item if isinstance(item, dict) else {} for item in items]
        groups = {
            key: Group.of([_as_text(row.get(key)) for row in rows])
            for key in GROUPS
            if any(key in row for row in rows)
        }
        if any(key in row for row in rows for key in LANGS):
            groups["lang"] = Group.of([_lang(row) for row in rows])
        texts = None
        if any(key in row for row in rows for key in TEXTS):
            texts = [(_text_or_none(row, "hyp"), _text_or_none(row, "src")) for row in rows]
        some, every = bool(self.has_id.any()), bool(self.has_id.all())
        return Table(
            self.file,
            self.n,
            self.label,
            self.p,
            ids=self.ids if some else None,
            has_id=None if every or not some else self.has_id,
            texts=texts,
            groups=groups,
            votes=None if self.role is Role.PREDICTIONS else _votes(rows),
        )


def _votes(rows: list[dict[str, Any]]) -> NDArray[np.intp] | None:
    """Return how many of each row's labels say Hallucination, and how many there are.

    Labels that cannot be understood count as none.
    """
    if not any("labels" in row for row in rows):
        return None
    votes = np.zeros((len(rows), 2), np.intp)
    for place, row in zip(votes, rows):
        labels = row.get("labels")
        said = labels if isinstance(labels, list) else []
        known = [label for label in said if isinstance(label, str) and label in _LABELS]
        if len(known) == len(said) - said.count(None):
            place[:] = known.count(Label.HALLUCINATION.value), len(known)
    return votes


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _lang(row: dict[str, Any]) -> str:
    return next((said for key in LANGS if (said := _as_text(row.get(key)))), "")


def _text_or_none(row: dict[str, Any], key: str) -> str | None:
    value = row.get(key)
    return value if isinstance(value, str) else None
