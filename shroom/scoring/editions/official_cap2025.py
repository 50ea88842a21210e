"""Scoring by the rules of the organisers' programs for SHROOM-CAP 2025.

Their checker compares rows with ``zip``, so that files which are too short pass, and takes every
part of "yn" for an answer, "" and "yn" among them. Scores are over the ids that were submitted;
answers of any other kind are further classes, whose F1 of 0 is part of the mean. By the kit's own
rules all three are errors.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from shroom.core.problems import InvalidInput, Problems, show
from shroom.scoring.editions.files import built_in
from shroom.scoring.editions.official_rows import Pairs, paired, score_of, submitted
from shroom.scoring.kinds.aspects import ASPECTS
from shroom.scoring.platforms import scores_txt
from shroom.scoring.results import Score, TrackScore
from shroom.scoring.table import Role

__all__ = ["check", "score", "scores_txt"]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.core.paths import Source

_edition = partial(built_in, "cap2025")
_ANSWERS = "yn"


def check(submission: Source, *, limit: int | None = 20) -> Problems:
    """Return why the organisers' checker would refuse a submission, if it would.

    It looks at the keys and the answers of the rows that there are; it looks neither at how many
    there are nor at their ids.
    """
    problems = Problems(limit)
    for document, rows in submitted(submission, _edition(), problems):
        for index, (_, row) in enumerate(rows):
            for aspect in _edition().annotation.aspects:
                answer = row.get(aspect.key)
                if not isinstance(answer, str) or answer not in _ANSWERS:
                    expected, place = f'a part of "{_ANSWERS}"', {"index": index, "key": aspect.key}
                    problems.add("official", document.file, expected, show(answer), **place)
    return problems


def score(submission: Source, gold: Source, *, limit: int | None = 20) -> Score:
    """Return the scores that the organisers' program gave.

    Raises
    ------
    InvalidInput
        With the reasons, where their programs would have refused the submission.
    """
    problems = check(submission, limit=limit)
    results = [
        _score_file(pairs, problems) for pairs in paired(submission, gold, _edition(), problems)
    ]
    if problems.errors:
        raise InvalidInput(problems)
    return Score(results, list(problems), edition=_edition())


def macro_f1(answers: Sequence[str], gold: Sequence[str]) -> float:
    """Return macro-F1 over all classes that occur on either side.

    Examples
    --------
    >>> macro_f1(["y", "y", ""], ["y", "y", "n"])
    0.3333333333333333
    """
    values = []
    for label in sorted({*answers, *gold}):
        both = sum(a == b == label for a, b in zip(answers, gold))
        values.append(2 * both / (list(answers).count(label) + list(gold).count(label)))
    return sum(values) / len(values)


def _score_file(pairs: Pairs, problems: Problems) -> TrackScore:
    gold = ASPECTS.tabulate(pairs.gold, Role.GOLD, pairs.gold_file, problems, _edition())
    scores: dict[str, float | None] = {
        f"{aspect.name}_f1": macro_f1(
            [str(row.get(aspect.key)) for row in pairs.predictions],
            [str(row.get(aspect.key)) for row in pairs.gold],
        )
        for aspect in _edition().annotation.aspects
    }
    return score_of(pairs, scores, gold, _edition())
