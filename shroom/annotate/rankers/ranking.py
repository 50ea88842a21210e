"""What the rankers share: categories, refusals, and the forms of their output."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable

from shroom.core.json_writing import json_lines
from shroom.datasets.dreamcatcher import reader as dreamcatcher
from shroom.datasets.dreamcatcher.records import (
    ALL_RIGHT,
    ALL_WRONG,
    PARTIAL_RIGHT,
    UNCERTAIN,
    Generation,
    Preference,
    Turn,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shroom.datasets.dreamcatcher.records import Question


def category_of(*, right: bool, wrong: bool) -> str:
    """Return the category of a question that has a right, or a wrong, generation.

    Examples
    --------
    >>> category_of(right=True, wrong=True), category_of(right=False, wrong=False)
    ('partial-right', 'all-right')
    """
    if not wrong:
        return ALL_RIGHT
    return PARTIAL_RIGHT if right else ALL_WRONG


def refusal(question: Question) -> Generation | None:
    """Return the refusal that a reward model scores highest, the first where none has a score."""
    refusals = [each for each in question.generation if each.type == UNCERTAIN]
    if not refusals:
        return None
    return max(refusals, key=lambda g: float("-inf") if g.rm_score is None else g.rm_score)


def with_ranking(
    question: Question, right: Generation | None, wrong: Generation | None
) -> Question:
    """Return a question with its category and ranking: the right one, a refusal, the wrong one."""
    ranking = tuple(each for each in (right, refusal(question), wrong) if each is not None)
    category = category_of(right=right is not None, wrong=wrong is not None)
    return replace(question, category=category, rank=ranking)


def notes_on(questions: Sequence[Question]) -> list[str]:
    """Return a sentence for each thing that rankings lack."""
    without = sum(each.category is None for each in questions)
    unsure = sum(each.category is not None and refusal(each) is None for each in questions)
    notes, n = [], len(questions)
    if without:
        notes.append(f"not ranked, having no generation with scores: {without} of {n} questions")
    if unsure:
        notes.append(f"ranked without a refusal, having none: {unsure} of {n} questions")
    return notes


def preferences(questions: Iterable[Question]) -> list[Preference]:
    """Return the rankings of two or more as preferences, in the form of the source's file.

    Examples
    --------
    >>> from shroom.datasets.dreamcatcher.records import Question
    >>> rank = (Generation("A.", "normal"), Generation("No idea.", "uncertainty"))
    >>> preferences([Question("Q?", "A", None, rank, ALL_RIGHT, rank)])[0].preference
    ('A.', 'No idea.')
    """
    return [
        Preference(
            (Turn("human", question.question),),
            tuple(each.text for each in question.rank),
            question.category,
        )
        for question in questions
        if question.rank is not None and len(question.rank) > 1
    ]


def pairs(found: Iterable[Preference]) -> list[dict[str, Any]]:
    """Return every two of each ranking, better and worse, in the form that TRL's trainers read.

    Examples
    --------
    >>> pairs([Preference((Turn("human", "Q?"),), ("A.", "No idea.", "B."), "partial-right")])[2]
    {'prompt': 'Q?', 'chosen': 'No idea.', 'rejected': 'B.'}
    """
    return [
        {"prompt": each.query[-1].text, "chosen": better, "rejected": worse}
        for each in found
        for place, better in enumerate(each.preference)
        for worse in each.preference[place + 1 :]
    ]


def output_texts(questions: Sequence[Question]) -> dict[str, Callable[[], str]]:
    """Return the texts of the files that annotation makes, each made when it is asked for."""
    return {
        "output": lambda: dreamcatcher.write(questions),
        "ranked": lambda: dreamcatcher.write(preferences(questions)),
        "pairs": lambda: json_lines(pairs(preferences(questions))),
    }
