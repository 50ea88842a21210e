"""From the rows of a Dreamcatcher file to records, reporting everything that is odd."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Union

from shroom.datasets import rows
from shroom.datasets.dreamcatcher.records import (
    CATEGORIES,
    TYPES,
    Generation,
    Preference,
    Question,
    Turn,
    to_dict,
)
from shroom.datasets.rows import Row, is_number, is_objects, is_text, is_texts

SCORES = (
    "rm_score",
    "sim2answer_score",
    "sim2gen_score",
    "unigram_overlap_with_answer_score",
    "top_k_avg_probs_score",
    "probe_score",
)


class RowReader(rows.RowReader[Union[Question, Preference]]):
    """Reads the rows of one file; unknown and unusable values are kept as ``extra``."""

    def read(self, row: Row) -> Question | Preference:
        """Return the question of a row, or its ranking."""
        is_ranking = bool({"query", "preference"} & row.item.keys())
        record = self._preference(row) if is_ranking else self._question(row)
        first = self.earlier(row, repr(record))
        if first:
            row.report("row-doubled", None, "a row of its own", f"the same as {first}")
        return record

    def _question(self, row: Row) -> Question:
        question = row.need("question", is_text, "a text")
        answer = row.need("answer", is_text, "a text")
        kind = row.text("type", None)
        generations = tuple(
            _generation(row.inner(item, f"generation[{number}]."))
            for number, item in enumerate(row.need("generation", is_objects, "a list of objects"))
        )
        category = _word(row, "category", CATEGORIES) if "category" in row.item else None
        rank = None
        if "rank" in row.item:
            rank = row.take("list-odd", "rank", is_objects, "a list of objects (read as none)")
            rank = None if rank is None else tuple(_ranked(row, rank, generations))
        return Question(question, answer, kind, generations, category, rank, row.left)

    def _preference(self, row: Row) -> Preference:
        turns = []
        for number, item in enumerate(row.need("query", is_objects, "a list of objects")):
            turn = row.inner(item, f"query[{number}].")
            role, text = (turn.need(key, is_text, "a text") for key in ("role", "text"))
            turns.append(Turn(role, text, turn.left))
        texts = row.need("preference", is_texts, "a list of texts")
        task = _word(row, "task", CATEGORIES)
        return Preference(tuple(turns), tuple(texts), task, row.left)


def _ranked(
    row: Row, rank: list[dict[str, Any]], generations: tuple[Generation, ...]
) -> Iterator[Generation]:
    """Yield the ranked generations, which should be among those of the question."""
    for number, item in enumerate(rank):
        generation = next(
            (candidate for candidate in generations if _stood_as(candidate, item)), None
        )
        if generation is None:
            row.odd("rank-unknown", f"rank[{number}]", "one of the generations", "another")
            generation = _generation(row.inner(item, f"rank[{number}]."))
        yield generation


def _generation(row: Row) -> Generation:
    text, kind = row.need("text", is_text, "a text"), _word(row, "type", TYPES)
    expected = "a finite number (read as none)"
    scores = {
        name: row.take("number-odd", name, is_number, expected)
        for name in SCORES
        if name in row.item
    }
    probs = None
    if "onegram_probs" in row.item:
        expected = "a list of objects of a word and its number (read as none)"
        words = row.take("list-odd", "onegram_probs", _is_pairs, expected)
        probs = None if words is None else tuple(pair for word in words for pair in word.items())
    return Generation(text, kind, **scores, onegram_probs=probs, extra=row.left)


def _word(row: Row, key: str, words: tuple[str, ...]) -> str | None:
    """Return a text; one that is not among the known words is reported."""
    word: str | None = row.text(key, None)
    if word is not None and word not in words:
        row.odd("word-odd", key, " or ".join(words))
    return word


def _is_pairs(value: Any) -> bool:
    """Return whether a value is a list of objects with one number each."""
    return is_objects(value) and all(
        len(pair) == 1 and all(map(is_number, pair.values())) for pair in value
    )


def _stood_as(generation: Generation, row: Mapping[str, Any]) -> bool:
    # By their texts, as a NaN is not equal to itself.
    return generation.text == row.get("text") and _sorted(to_dict(generation)) == _sorted(row)


def _sorted(row: Mapping[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)
