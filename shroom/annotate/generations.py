"""Questions with generations: read in Dreamcatcher's form or a simpler one, and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, TypeVar

from msgspec import convert, to_builtins

from shroom.core.json_writing import json_lines, without_nan
from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems
from shroom.datasets import dreamcatcher
from shroom.datasets.collection import Report, items_in
from shroom.datasets.dreamcatcher import FORM, NORMAL, Preference, Question, Turn
from shroom.datasets.records import Reader
from shroom.scoring.input_files import documents_among_others

T = TypeVar("T")


def read(*paths: Source, problems: Problems | None = None) -> list[Question]:
    """Return the questions in files, folders or zips."""
    problems = Problems() if problems is None else problems
    reader = Reader(FORM, problems)

    def questions(file: str, rows: Iterable[Any]) -> Iterator[Question]:
        records = reader.records(map(_in_full, rows), Report(file, problems))
        for index, record in enumerate(records):
            if isinstance(record, Question):
                yield convert(without_nan(to_builtins(record)), Question)
            elif record is not None:
                expected = "a question with generations"
                problems.add("row-ranking", file, expected, "a ranking", index=index)

    return read_each(questions, "questions with generations", paths, problems)


def read_each(
    values_in: Callable[[str, Iterable[Any]], Iterable[T]],
    what: str,
    paths: Sequence[Source],
    problems: Problems,
) -> list[T]:
    """Return what files contain; ``values_in`` takes a file's name and rows."""
    documents = (document for path in paths for document in documents_among_others(path, problems))
    read = ((document.file, items_in(document, problems)) for document in documents)
    values = [it for file, rows in read if rows is not None for it in values_in(file, rows)]
    if not values and not problems.errors:
        problems.add("empty", ", ".join(map(str, paths)), what, "none")
    if problems.errors:
        raise InvalidInput(problems)
    return values


def _in_full(row: Any) -> Any:
    """Return a row with all keys of the source's form."""
    if not isinstance(row, dict) or "question" not in row:
        return row
    missing = {"type": "", "answer": "", **({"generation": []} if "category" in row else {})}
    filled = {**missing, **row}
    if isinstance(filled.get("generation"), list):
        filled["generation"] = [_generation(generation) for generation in filled["generation"]]
    return filled


def _generation(value: Any) -> Any:
    if isinstance(value, str):
        return {"text": value, "type": NORMAL}
    return {"type": NORMAL, **value} if isinstance(value, dict) else value


def preferences(questions: Iterable[Question]) -> list[Preference]:
    """Return the rankings of two or more as preferences, in the form of the source's file."""
    return [
        Preference(
            (Turn("human", question.question),),
            tuple(generation.text for generation in question.rank),
            question.category,
        )
        for question in questions
        if question.rank is not None and len(question.rank) > 1
    ]


def pairs(rankings: Iterable[Preference]) -> list[dict[str, Any]]:
    """Return all pairs of each ranking, better and worse, in the form of TRL's trainers."""
    return [
        {"prompt": ranking.query[-1].text, "chosen": better, "rejected": worse}
        for ranking in rankings
        for better, worse in combinations(ranking.preference, 2)
    ]


#: The text of each file that annotation writes, from questions.
OUTPUTS: dict[str, Callable[[Sequence[Question]], str]] = {
    "output": dreamcatcher.write,
    "ranked": lambda questions: dreamcatcher.write(preferences(questions)),
    "pairs": lambda questions: json_lines(pairs(preferences(questions))),
}
