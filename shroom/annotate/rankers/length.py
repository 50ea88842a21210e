"""The ranker by length: long generations need more than the answer's words to be right."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shroom.annotate.base import Ranked, normal, value_of
from shroom.annotate.rankers.ranking import notes_on, with_ranking
from shroom.annotate.rankers.scaled import Scaled, refuse_great
from shroom.detectors import settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.datasets.dreamcatcher.records import Generation, Question

#: What decides of a generation that is not much longer than the answer, and what of a long one.
SHORT = ("unigram_overlap_with_answer_score",)
LONG = (
    "gpt_judgement_score",
    "sim2answer_score",
    "unigram_overlap_with_answer_score",
    "top_k_avg_probs_score",
)
_SIMILARITY = "sim2answer_score"
#: A judge says yes or no, so the limit lies between, whatever the median.
_FIXED = {"gpt_judgement_score": 0.5}


class Length:
    """Ranks by the overlap with the answer, and for long generations by the sum of more scores.

    Each score is scaled to [0, 1] over the whole data set; a generation is right where its sum is
    above the sum of the scores' medians. The right one that the ranking has is that of the greatest
    sum of reward and similarity to the answer, the wrong one that of their greatest difference.
    Of a question only the scores count that all its normal generations have.

    Parameters
    ----------
    difference : int
        From so many characters more than the answer on, a generation is long.

    References
    ----------
    The ranker by length of the program of Liang et al. (2024), arXiv:2401.15449.

    Examples
    --------
    >>> from shroom.datasets.dreamcatcher.records import Generation, Question
    >>> def question(*scores):
    ...     said = [Generation("A", None, unigram_overlap_with_answer_score=s) for s in scores]
    ...     return Question("Q?", "A", None, tuple(said))
    >>> ranked = Length().rank([question(0.9, 0.8), question(0.2, 0.9)])
    >>> [each.category for each in ranked.questions], ranked.limits
    (['partial-right', 'partial-right'], {'right above, short': 0.92857...})
    """

    name = "length"

    def __init__(self, difference: int = 80) -> None:
        self.difference = settings.number("difference", difference, 0, 1_000_000)

    def rank(self, questions: Sequence[Question]) -> Ranked:
        """Return the questions with categories and rankings, where they can be ranked.

        Raises
        ------
        ShroomError
            Where no generation has any of the scores, or one is too great to compute with.
        """
        refuse_great("rm_score", (each.rm_score or 0 for q in questions for each in q.generation))
        table = Scaled.of(questions, LONG)
        limits = {**table.percentiles(50), **_fixed(table)}
        made = [self._ranked(question, table, limits) for question in questions]
        limits = {
            f"right above, {word}": sum(limits[name] for name in names if name in limits)
            for word, names in (("short", SHORT), ("long", LONG))
        }
        return Ranked(made, limits, [*table.notes(questions), *notes_on(made)])

    def _ranked(self, question: Question, table: Scaled, limits: dict[str, float]) -> Question:
        common = table.common(question)
        right: list[Generation] = []
        wrong: list[Generation] = []
        for place in normal(question):
            each = question.generation[place]
            long = len(each.text) - len(question.answer) >= self.difference
            names = [name for name in (LONG if long else SHORT) if name in common]
            if not names:
                return replace(question, category=None, rank=None)
            total = sum(table.of_one(each, name) for name in names)
            (right if total > sum(limits[name] for name in names) else wrong).append(each)
        if not right and not wrong:
            return replace(question, category=None, rank=None)
        return with_ranking(question, _best(right, 1, table), _best(wrong, -1, table))


def _fixed(table: Scaled) -> dict[str, float]:
    return {name: value for name, value in _FIXED.items() if name in table.columns}


def _best(generations: list[Generation], sign: int, table: Scaled) -> Generation | None:
    """Return the one of the greatest reward plus, or minus, scaled similarity to the answer."""

    def key(each: Generation) -> float:
        known = _SIMILARITY in table.columns and value_of(each, _SIMILARITY) is not None
        similarity = table.of_one(each, _SIMILARITY) if known else 0.0
        return float(each.rm_score or 0.0) + sign * similarity

    return max(generations, key=key, default=None)
