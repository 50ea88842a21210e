"""Dreamcatcher by file and category. All its labels are automatic."""

from __future__ import annotations

from collections.abc import Sequence

from shroom.datasets.collection import FileRecords
from shroom.datasets.contents import Contents, Row, Table, counted, lengths, named
from shroom.datasets.dreamcatcher.reader import datapoints
from shroom.datasets.dreamcatcher.records import NORMAL, UNCERTAIN, Preference, Question, Record
from shroom.metrics.intervals import Intervals


def contents(files: Sequence[FileRecords], how: Intervals) -> Contents:
    """Return what the questions and preferences hold."""
    del how
    records: list[Record] = [record for file in files for record in file.records]
    questions = [record for record in records if isinstance(record, Question)]
    preferences = [record for record in records if isinstance(record, Preference)]
    generations = [generation for question in questions for generation in question.generation]
    return Contents(
        labels={
            "category": counted(question.category for question in questions),
            "task": counted(preference.task for preference in preferences),
            "type of generation": counted(generation.type for generation in generations),
        },
        lengths=lengths(
            {
                "question": [question.question for question in questions],
                "answer": [question.answer for question in questions],
                "generation": [generation.text for generation in generations],
                "preference": [
                    text for preference in preferences for text in preference.preference
                ],
            }
        ),
        tables={
            "file": Table(
                "questions with generations, and rankings of two or more for training",
                ("file",),
                [_of_file(*file) for file in named(files)],
            ),
            "category": Table(
                "questions and rankings by category, and the p of their normal generations",
                ("file", "category"),
                [
                    _of_category(name, category, members)
                    for name, members in named(files)
                    for category in counted(map(_category, members))
                    if category != "none"
                ],
            ),
        },
        notes=("all labels are automatic: nobody judged these generations",),
    )


def _category(record: Record) -> str | None:
    return record.category if isinstance(record, Question) else record.task


def _of_file(file: str, records: Sequence[Record]) -> Row:
    questions = [record for record in records if isinstance(record, Question)]
    kinds = [generation.type for question in questions for generation in question.generation]
    return {
        "file": file,
        "questions": len(questions),
        "preferences": len(records) - len(questions),
        "generations": len(kinds),
        "normal": kinds.count(NORMAL),
        "uncertain": kinds.count(UNCERTAIN),
        "with_category": sum(question.category is not None for question in questions),
        "ranked": sum(question.rank is not None for question in questions),
        "ranked_two_or_more": sum(len(question.rank or ()) > 1 for question in questions),
    }


def _of_category(file: str, category: str, records: Sequence[Record]) -> Row:
    members = [record for record in records if _category(record) == category]
    p = [point.p for point in datapoints(members)]
    return {
        "file": file,
        "category": category,
        "questions": sum(isinstance(record, Question) for record in members),
        "preferences": sum(isinstance(record, Preference) for record in members),
        "p_0": p.count(0.0),
        "p_1": p.count(1.0),
        "no_p": p.count(None),
    }
