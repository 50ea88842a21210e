"""The rows of a file as columns."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Label
from shroom.core.problems import Problem

P = "p(Hallucination)"
#: The labels, by their words.
LABELS: dict[Any, int] = {label.value: int(label is Label.HALLUCINATION) for label in Label}
#: Keys that a submission may have; most repeat the data.
KEYS = ("id", "label", P, "hyp", "src", "tgt", "ref", "task", "model", "labels")
#: The columns by which scores can be sliced.
GROUPS = ("task", "model", "ref")
#: Default keys to slice scores by.
SLICES = (*GROUPS, "agreement")
TEXTS = ("hyp", "src", "tgt")
#: Other spellings of p, in lower case and without punctuation.
_P_SPELLED = (
    *("p", "prob", "probability", "phal", "phall", "probhallucination", "hallucinationprob"),
    *("probabilityhallucination", "probabilityofhallucination", "hallucinationprobability"),
)
_SPELLED = {
    **{re.sub(r"[\W_]", "", key).lower(): key for key in KEYS},
    **dict.fromkeys(_P_SPELLED, P),
}


def key_meant(name: str, own: Collection[str] = ()) -> str | None:
    """Return the key that a name unambiguously means; the edition's ``own`` keys come first."""
    if len(name) >= 100:
        return None
    plain = _without_marks(name)
    return next((key for key in own if _without_marks(key) == plain), _SPELLED.get(plain))


def renames(names: Collection[str], own: Collection[str] = ()) -> dict[str, str]:
    """Return the key that each misspelt name means, unless another name means it, too."""
    meant = {name: key_meant(name, own) or name for name in names}
    times = Counter(meant.values())
    return {name: key for name, key in meant.items() if key not in names and times[key] == 1}


def _without_marks(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


class Role(Enum):
    """The role of a file, which determines the keys that its rows need."""

    PREDICTIONS = "predictions"
    GOLD = "gold"
    DATA = "data"


@dataclass(frozen=True)
class Group:
    """A column of words, as the distinct words and each row's place among them."""

    words: list[str]
    place: NDArray[np.intp]

    @classmethod
    def of(cls, values: Sequence[Hashable]) -> Group:
        """Return the words of a column, sorted; any other value counts as the empty word."""
        word = {value: value if isinstance(value, str) else "" for value in set(values)}
        words = sorted(set(word.values()))
        number = {word: place for place, word in enumerate(words)}
        place = {value: number[text] for value, text in word.items()}
        return cls(words, np.fromiter(map(place.__getitem__, values), np.intp, len(values)))


@dataclass(eq=False)
class Rows:
    """The rows of one file as columns."""

    file: str
    n: int
    #: 1 for Hallucination or yes, 0 for the opposite, -1 if unknown; [n] or [n, aspects].
    label: NDArray[np.int8]
    #: ``nan`` if it is unknown.
    p: NDArray[np.float64]
    #: Integers or texts; ``None`` if no row has an id.
    ids: Any = None
    #: Which rows have a usable id, if some lack one.
    has_id: NDArray[np.bool_] | None = None
    #: ``(hyp, src, tgt)`` of each row, if they are needed to check the order.
    texts: Sequence[tuple[str | None, ...]] | None = None
    #: Of ``task``, ``model``, ``ref``, and further keys to slice by.
    groups: dict[str, Group] = field(default_factory=dict)
    #: The number of ``labels`` of a row that are Hallucination, and of all of them.
    votes: NDArray[np.intp] | None = None
    #: Whether any row of predictions has labels by annotators.
    has_votes: bool = False
    #: All keys of the rows, if there are further ones to slice by.
    keys: tuple[str, ...] = ()
    #: The fields of rows with marked spans, by their keys; ``text`` and ``quotes``.
    columns: dict[str, list[Any]] = field(default_factory=dict)
    #: The spans of each row for metrics, and the possible labels of spans or rows.
    marks: list[Any] = field(default_factory=list)
    labels: tuple[str, ...] = ()
    #: The place of each row in the file, if some rows are left out.
    places: Sequence[int] | None = None
    #: The user's columns by the kit's keys, for messages.
    shown: dict[str, str] = field(default_factory=dict)
    #: Whether any row is annotated.
    labelled: bool = False
    #: Whether any id is not an integer and should be one.
    has_odd_ids: bool = False
    #: Whether lines are not JSON, so that the number of rows is wrong.
    has_broken_lines: bool = False

    @property
    def hash(self) -> str:
        """A hash of the ids, labels and p; with ids, the order makes no difference."""
        order = np.arange(self.n) if self.ids is None else np.argsort(self.ids, kind="stable")
        content = b""
        if self.ids is not None:
            ids = self.ids[order]
            is_integer = ids.dtype.kind == "i"
            content = ids.astype("<i8").tobytes() if is_integer else "\n".join(ids).encode()
        if self.marks:
            marks = [self.marks[row] for row in order.tolist()]
            content += json.dumps([self.labels, marks] if self.labels else marks).encode()
        else:
            content += self.label[order].astype("<i1").tobytes()
            p = self.p[order] + 0.0  # -0.0 becomes 0.0
            content += b"" if np.isnan(p).all() else p.astype("<f8").tobytes()
        return hashlib.sha256(content).hexdigest()[:6]

    @property
    def identified(self) -> NDArray[np.intp]:
        """The rows that have an id."""
        if self.ids is None or self.has_id is None:
            return np.arange(0 if self.ids is None else self.n)
        return np.flatnonzero(self.has_id)

    @property
    def numbered(self) -> bool:
        """Whether the ids of all rows are consecutive numbers, in any order."""
        if self.ids is None or self.has_id is not None or self.ids.dtype.kind != "i":
            return False
        return np.array_equal(np.sort(self.ids), int(self.ids.min()) + np.arange(self.n))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of characters of each text, if texts are marked."""
        return np.array([*map(len, self.columns["text"])], np.int64)

    def id_at(self, row: int) -> int | str | None:
        """Return the id of a row, if it has one."""
        if self.ids is None or (self.has_id is not None and not self.has_id[row]):
            return None
        place: int | str = self.ids[row].item()
        return place

    def problem(
        self, code: str, expected: str, found: str, row: int | None = None, key: str | None = None
    ) -> Problem:
        """Return a problem of the file, or of one of its rows."""
        key = None if key is None else self.shown.get(key, key)
        if row is None:
            return Problem(code, self.file, expected, found, key=key)
        index = row if self.places is None else self.places[row]
        return Problem(code, self.file, expected, found, index, self.id_at(row), key)

    def part(self, rows: NDArray[np.intp]) -> Rows:
        """Return some of the rows."""

        def part_of(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: part_of(column) for key, column in value.items()}
            if isinstance(value, Group):
                return Group(value.words, value.place[rows])
            if isinstance(value, np.ndarray):
                return value[rows]
            is_column = isinstance(value, list) and bool(value)
            return [value[row] for row in rows.tolist()] if is_column else value

        columns = {column.name: part_of(getattr(self, column.name)) for column in fields(self)}
        places = rows.tolist() if self.places is None else columns["places"]
        return replace(self, **{**columns, "n": len(rows), "places": places})
