"""From the rows of a Dreamcatcher file to records, reporting everything that is odd."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from shroom.core.json_reading import BROKEN
from shroom.core.problems import show
from shroom.datasets.dreamcatcher.records import (
    CATEGORIES,
    TYPES,
    Generation,
    Preference,
    Question,
    Turn,
    to_dict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import TypeGuard

    from shroom.core.problems import Problems

SCORES = (
    "rm_score",
    "sim2answer_score",
    "sim2gen_score",
    "unigram_overlap_with_answer_score",
    "top_k_avg_probs_score",
    "probe_score",
)


class Unusable(Exception):  # noqa: N818 - it says what is the matter with a row
    """A row lacks what no record can be without: what was expected, what was found, and where."""


class RowReader:
    """The rows of one file while they are read."""

    def __init__(self, file: str, problems: Problems) -> None:
        self.file, self.problems = file, problems
        self.index = 0
        self.first: dict[str, int] = {}

    def record(self, index: int, row: Any) -> Question | Preference | None:
        """Return the record of a row, or ``None`` where it cannot be used, which is reported."""
        self.index = index
        if row is BROKEN:  # an error, and reported
            return None
        try:
            found = self._record(row)
        except Unusable as reason:
            expected, wrong, key = reason.args
            self.problems.add("row-dropped", self.file, expected, wrong, index=index, key=key)
            return None
        first = self.first.setdefault(repr(found), index)
        if first != index:
            expected, same = "a row of its own", f"the same as item {first}"
            self.problems.add("row-doubled", self.file, expected, same, index=index)
        return found

    def _record(self, row: Any) -> Question | Preference:
        if not isinstance(row, dict):
            raise Unusable("an object", show(row), None)
        cells = _Cells(row, "", self._odd)
        if {"query", "preference"} & row.keys():
            return self._preference(cells)
        return self._question(cells)

    def _question(self, cells: _Cells) -> Question:
        question, answer = cells.needed_text("question"), cells.needed_text("answer")
        kind = cells.text("type")
        given = tuple(
            self._generation(each, f"generation[{number}].")
            for number, each in enumerate(cells.needed_objects("generation"))
        )
        category = cells.word("category", CATEGORIES) if "category" in cells.left else None
        rank = None
        if _objects(cells.left.get("rank")):
            rank = self._rank(cells.left.pop("rank"), given)
        elif "rank" in cells.left:
            self._odd("rank", "a list of objects (read as none)", show(cells.left["rank"]))
        return Question(question, answer, kind, given, category, rank, cells.left)

    def _rank(
        self, rows: list[dict[str, Any]], given: tuple[Generation, ...]
    ) -> tuple[Generation, ...]:
        found = []
        for number, row in enumerate(rows):
            known = next((each for each in given if _stood_as(each, row)), None)
            if known is None:
                self._odd(f"rank[{number}]", "one of the generations", "another")
                known = self._generation(row, f"rank[{number}].")
            found.append(known)
        return tuple(found)

    def _generation(self, row: Mapping[str, Any], place: str) -> Generation:
        cells = _Cells(row, place, self._odd)
        text, kind = cells.needed_text("text"), cells.word("type", TYPES)
        scores = {name: cells.number(name) for name in SCORES if name in row}
        probs = cells.pairs("onegram_probs") if "onegram_probs" in row else None
        return Generation(text, kind, **scores, onegram_probs=probs, extra=cells.left)

    def _preference(self, cells: _Cells) -> Preference:
        turns = []
        for number, row in enumerate(cells.needed_objects("query")):
            turn = _Cells(row, f"query[{number}].", self._odd)
            turns.append(Turn(turn.needed_text("role"), turn.needed_text("text"), turn.left))
        texts = cells.left.get("preference")
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise Unusable("a list of texts", cells.found("preference"), "preference")
        del cells.left["preference"]
        task = cells.word("task", CATEGORIES)
        return Preference(tuple(turns), tuple(texts), task, cells.left)

    def _odd(self, key: str, expected: str, found: str) -> None:
        self.problems.add("row-odd", self.file, expected, found, index=self.index, key=key)


class _Cells:
    """The values of one object while they are taken out of it, each with its type.

    What is odd is reported and stays in ``left``, so that it can be written back as it stood.
    """

    def __init__(
        self, row: Mapping[str, Any], place: str, odd: Callable[[str, str, str], None]
    ) -> None:
        self.left, self.place, self.odd = dict(row), place, odd

    def found(self, key: str) -> str:
        return show(self.left[key]) if key in self.left else "no such key"

    def needed_text(self, key: str) -> str:
        value = self.left.get(key)
        if not isinstance(value, str):
            raise Unusable("a text", self.found(key), self.place + key)
        del self.left[key]
        return value

    def needed_objects(self, key: str) -> list[dict[str, Any]]:
        value = self.left.get(key)
        if not _objects(value):
            raise Unusable("a list of objects", self.found(key), self.place + key)
        del self.left[key]
        return value

    def text(self, key: str) -> str | None:
        value = self.left.get(key)
        if not isinstance(value, str):
            self.odd(self.place + key, "a text (read as none)", self.found(key))
            return None
        del self.left[key]
        return value

    def word(self, key: str, words: tuple[str, ...]) -> str | None:
        """Return a text; one that is not among the known words is reported."""
        value = self.left.get(key)
        if isinstance(value, str) and value not in words:
            self.odd(self.place + key, " or ".join(words), show(value))
        return self.text(key)

    def number(self, key: str) -> float | None:
        value = self.left.get(key)
        if not _is_number(value):
            self.odd(self.place + key, "a finite number (read as none)", self.found(key))
            return None
        del self.left[key]
        return value

    def pairs(self, key: str) -> tuple[tuple[str, float], ...] | None:
        """Return a list of objects of one key each as pairs."""
        value = self.left.get(key)
        if not _objects(value) or not all(
            len(each) == 1 and all(map(_is_number, each.values())) for each in value
        ):
            expected = "a list of objects of a word and its number (read as none)"
            self.odd(self.place + key, expected, self.found(key))
            return None
        del self.left[key]
        return tuple(pair for each in value for pair in each.items())


def _objects(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _is_number(value: Any) -> TypeGuard[float]:
    return type(value) is int or (type(value) is float and math.isfinite(value))


def _stood_as(generation: Generation, row: Mapping[str, Any]) -> bool:
    # By their texts, as a NaN is not equal to itself.
    return generation.text == row.get("text") and _sorted(to_dict(generation)) == _sorted(row)


def _sorted(row: Mapping[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)
