"""Dreamcatcher by file and category. All its labels are automatic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.datasets.description import Contents, Table, counted, lengths, named
from shroom.datasets.dreamcatcher.reader import datapoints
from shroom.datasets.dreamcatcher.records import NORMAL, UNCERTAIN, Preference, Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.datasets.collection import FileRecords
    from shroom.datasets.description import Row
    from shroom.datasets.dreamcatcher.records import Record
    from shroom.metrics.intervals import Intervals


def contents(files: Sequence[FileRecords], how: Intervals) -> Contents:
    """Return what the questions and preferences hold."""
    del how
    records: list[Record] = [record for file in files for record in file.records]
    questions = [each for each in records if isinstance(each, Question)]
    preferences = [each for each in records if isinstance(each, Preference)]
    generations = [generation for each in questions for generation in each.generation]
    return Contents(
        labels={
            "category": counted(each.category for each in questions),
            "task": counted(each.task for each in preferences),
            "type of generation": counted(each.type for each in generations),
        },
        lengths=lengths(
            {
                "question": [each.question for each in questions],
                "answer": [each.answer for each in questions],
                "generation": [each.text for each in generations],
                "preference": [text for each in preferences for text in each.preference],
            }
        ),
        tables={
            "file": Table(
                "questions with generations, and rankings of two or more for training",
                ("file",),
                [_of_file(*each) for each in named(files)],
            ),
            "category": Table(
                "questions and rankings by category, and the p of their normal generations",
                ("file", "category"),
                [
                    _of_category(name, category, own)
                    for name, own in named(files)
                    for category in counted(map(_category, own))
                    if category != "none"
                ],
            ),
        },
        notes=("all labels are automatic: nobody judged these generations",),
    )


def _category(record: Record) -> str | None:
    return record.category if isinstance(record, Question) else record.task


def _of_file(file: str, records: Sequence[Record]) -> Row:
    questions = [each for each in records if isinstance(each, Question)]
    kinds = [generation.type for each in questions for generation in each.generation]
    return {
        "file": file,
        "questions": len(questions),
        "preferences": len(records) - len(questions),
        "generations": len(kinds),
        "normal": kinds.count(NORMAL),
        "uncertain": kinds.count(UNCERTAIN),
        "with_category": sum(each.category is not None for each in questions),
        "ranked": sum(each.rank is not None for each in questions),
        "ranked_two_or_more": sum(len(each.rank or ()) > 1 for each in questions),
    }


def _of_category(file: str, category: str, records: Sequence[Record]) -> Row:
    own = [record for record in records if _category(record) == category]
    p = [point.p for point in datapoints(own)]
    return {
        "file": file,
        "category": category,
        "questions": sum(isinstance(record, Question) for record in own),
        "preferences": sum(isinstance(record, Preference) for record in own),
        "p_0": p.count(0.0),
        "p_1": p.count(1.0),
        "no_p": p.count(None),
    }
