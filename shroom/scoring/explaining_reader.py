"""Reading items into columns, with a report of every problem of every row."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from functools import partial
from sys import intern
from typing import Any

import numpy as np

from shroom.core.datapoint import Label, Reference
from shroom.core.doubled_keys import Doubled, again
from shroom.core.json_reading import BROKEN
from shroom.core.problems import Problems, show
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import default
from shroom.scoring.item_values import is_missing, label_in, p_in, problem_of_p
from shroom.scoring.table import GROUPS, KEYS, TEXTS, Group, P, Role, Table
from shroom.scoring.table_builder import TableBuilder

_CHECKED = ("id", "label", P)
_NO_TEXTS = (None,) * len(TEXTS)
_KEYS = frozenset(KEYS)
_REFERENCES = {"": "", "both": "either", **{side.value: side.value for side in Reference}}
_LABELS = {label.value: label is Label.HALLUCINATION for label in Label}


def tabulate(
    items: Iterable[Any],
    role: Role,
    file: str,
    problems: Problems,
    edition: Edition | None = None,
) -> Table:
    """Return the items as columns, reporting every problem of every item.

    Parameters
    ----------
    items : iterable
        Values from the file, of any type. Predictions are looked at one by one.
    role : Role
        Role that the file is read in.
    file : str
        Name of the file in messages.
    problems : Problems
        Gets the problems; the table is fit for scoring only if there are no errors among them.
    edition : Edition, optional
        The edition whose keys and ids the items have; ``semeval2024`` by default.
    """
    edition = edition or default()
    items = edition.with_own_keys(items)
    rows = _Rows(role, file, problems, edition)
    if role is Role.GOLD:
        items = list(items)
        rows.wants_labels = any(isinstance(i, dict) and ("label" in i or P in i) for i in items)
    for index, item in enumerate(items):
        rows.append()
        if isinstance(item, dict):
            rows.add(index, item)
        else:
            rows.add_id(index, None)
            if item is not BROKEN:
                problems.add("item-object", file, "an object", partial(show, item), index=index)
    return rows.table()


class _Rows(TableBuilder):
    """The columns while they are read, row by row."""

    def __init__(self, role: Role, file: str, problems: Problems, edition: Edition) -> None:
        super().__init__(file, problems, edition.item, role)
        self.wants_labels = self.predictions
        self.known = {*KEYS, self.id_key, *edition.own_keys}
        self.label_key, self.p_key = edition.item.key("label"), edition.item.key(P)
        self.expected_label = " or ".join(f'"{word}"' for word in edition.own_labels or _LABELS)
        self.label, self.p = array("b"), array("d")
        self.is_gold = role is Role.GOLD
        # For predictions, only whether a row names a model is used: one character.
        self.group_keys = ("model",) if self.predictions else GROUPS
        self.words: dict[str, list[str]] = {}
        self.texts: list[tuple[str | None, ...]] = []
        self.votes: list[tuple[int, int]] = []

    def append(self) -> None:
        """Add an empty row."""
        self.label.append(-1)
        self.p.append(math.nan)

    def _add_word(self, key: str, index: int, word: str) -> None:
        words = self.words.setdefault(key, [])
        words.extend([""] * (index - len(words)))
        words.append(intern(word))

    def add(self, index: int, item: dict[str, Any]) -> None:
        """Fill the last row from an item."""
        # The common cases are inlined, since a call for each value takes longer than all the rest.
        others = len(item) - ("id" in item)
        self.add_id(index, item)
        if self.predictions and isinstance(item, Doubled):
            self.report("key-doubled", index, "each key once", item, form=again)
        if "label" in item:
            others -= 1
            value = item["label"]
            if not self.wants_labels:
                pass
            elif type(value) is str and value in _LABELS:
                self.label[index] = _LABELS[value]
            else:
                self._add_label(index, value)
        elif self.wants_labels:
            self.report_missing_key(index, self.label_key, item)
        if P in item:
            others -= 1
            value = item[P]
            if not self.wants_labels:
                pass
            elif type(value) is float and 0 <= value <= 1:
                self.p[index] = value
            else:
                self._add_p(index, value)
        elif self.wants_labels:
            self.report_missing_key(index, self.p_key, item)
        if others:
            self._add_others(index, item)

    def _add_others(self, index: int, item: dict[str, Any]) -> None:
        """Add what an item has besides id, label and p."""
        for key in self.group_keys:
            if key in item:
                word = _as_text(item[key])
                if key == "ref":
                    word = self._reference(index, item[key])
                self._add_word(key, index, word[:1] if self.predictions else word)
        if not self.predictions and "labels" in item:
            self.votes.extend([(0, 0)] * (index - len(self.votes)))
            self.votes.append(_votes(item["labels"]))
        if not item.keys().isdisjoint(TEXTS):
            self.texts.extend([_NO_TEXTS] * (index - len(self.texts)))
            values = map(item.get, TEXTS)
            self.texts.append(tuple(it if isinstance(it, str) else None for it in values))
        for key, value in item.items():
            if self.predictions and key not in self.known:
                self.count_unknown(index, key)
            elif key not in _CHECKED and is_missing(value) and (key in _KEYS or value is not None):
                expected = "a list of labels" if key == "labels" else "a text"
                self.report("value-finite", index, expected, value, key=key)

    def _reference(self, index: int, value: object) -> str:
        word = _as_text(value)
        is_text = value is None or isinstance(value, (str, float))  # nan is reported as such
        if self.is_gold and not (word in _REFERENCES and is_text):
            self.report("ref-odd", index, '"src", "tgt" or "either"', value, key="ref")
        return _REFERENCES.get(word, word)

    def _add_label(self, index: int, value: object) -> None:
        self.report("label-value", index, self.expected_label, value, key=self.label_key)
        label = label_in(value)
        if label is not None:
            self.label[index] = label is Label.HALLUCINATION

    def _add_p(self, index: int, value: object) -> None:
        problem = problem_of_p(value)
        if problem is not None:
            self.report(problem[0], index, problem[1], value, key=self.p_key)
        p = p_in(value)
        if p is not None:
            self.p[index] = p

    def table(self) -> Table:
        """Return the columns, after reports of what needs all rows."""
        ids, has_id = self.finish()
        n = len(self.label)
        groups = {
            key: Group.of(words + [""] * (n - len(words))) for key, words in self.words.items()
        }
        return Table(
            self.file,
            n,
            np.array(self.label, np.int8),
            np.array(self.p, np.float64),
            ids=ids,
            has_id=has_id,
            texts=self.texts + [_NO_TEXTS] * (n - len(self.texts)) if self.texts else None,
            groups=groups,
            votes=np.array(self.votes + [(0, 0)] * (n - len(self.votes)), np.intp)
            if self.votes
            else None,
        )


def _votes(labels: object) -> tuple[int, int]:
    """Return how many of a row's labels say Hallucination, and how many there are.

    Labels that cannot be understood count as none.
    """
    row_labels = labels if isinstance(labels, list) else []
    valid = [label for label in row_labels if isinstance(label, str) and label in _LABELS]
    if len(valid) < len(row_labels) - row_labels.count(None):
        return 0, 0
    return valid.count(Label.HALLUCINATION.value), len(valid)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else ""
