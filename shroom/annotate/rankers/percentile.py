"""The simple ranker: sums of scaled scores against the sums of their percentiles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shroom.annotate.base import Ranked, normal
from shroom.annotate.rankers.ranking import notes_on, with_ranking
from shroom.annotate.rankers.scaled import Scaled
from shroom.core.problems import ShroomError
from shroom.detectors import settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.datasets.dreamcatcher.records import Question

#: What the source adds up, in its order.
SCORES = (
    "probe_score",
    "unigram_overlap_with_answer_score",
    "sim2answer_score",
    "sim2gen_score",
)


class Percentile:
    """Ranks by the sum of scores, each scaled to [0, 1] over the whole data set.

    A question has a *right* generation where its best sum is above the sum of the scores' upper
    percentiles, and a *wrong* one where its worst is below that of the lower ones. Its ranking is
    the right one, the best refusal, the wrong one, as far as there are any. Of a question only the
    scores count that all its normal generations have.

    Parameters
    ----------
    up, down : float
        The percentiles, from 0 to 100.
    scores : list of str
        The fields that are added up.

    References
    ----------
    Liang et al. (2024), *Learning to Trust Your Feelings*, arXiv:2401.15449: the simple ranker.

    Examples
    --------
    >>> from shroom.datasets.dreamcatcher.records import Generation, Question
    >>> def question(*scores):
    ...     said = [Generation(f"{s}", "normal", sim2answer_score=s) for s in scores]
    ...     return Question("Q?", "A", None, (*said, Generation("?", "uncertainty")))
    >>> ranked = Percentile().rank([question(0.9, 0.8), question(0.0, 0.1)])
    >>> [(each.category, [g.text for g in each.rank]) for each in ranked.questions]
    [('all-right', ['0.9', '?']), ('all-wrong', ['?', '0.0'])]
    """

    name = "percentile"

    def __init__(self, up: float = 70, down: float = 30, scores: Sequence[str] = SCORES) -> None:
        self.up = settings.number("up", up, 0, 100)
        self.down = settings.number("down", down, 0, 100)
        if self.down > self.up:
            raise ShroomError(f"down ({self.down:g}) must not exceed up ({self.up:g})")
        self.scores = tuple(dict.fromkeys(settings.names("scores", scores)))

    def rank(self, questions: Sequence[Question]) -> Ranked:
        """Return the questions with categories and rankings, where they can be ranked.

        Raises
        ------
        ShroomError
            Where no generation has any of the scores.
        """
        table = Scaled.of(questions, self.scores)
        limits = {
            "right above": table.percentiles(self.up),
            "wrong below": table.percentiles(self.down),
        }
        made = [self._ranked(question, table, limits) for question in questions]
        notes = [*table.notes(questions), *notes_on(made)]
        return Ranked(made, {word: sum(of.values()) for word, of in limits.items()}, notes)

    def _ranked(
        self, question: Question, table: Scaled, limits: dict[str, dict[str, float]]
    ) -> Question:
        places = normal(question)
        names = table.common(question)
        if not places or not names:
            return replace(question, category=None, rank=None)
        said = [question.generation[place] for place in places]
        sums = [sum(table.of_one(each, name) for name in names) for each in said]
        above, below = (sum(of[name] for name in names) for of in limits.values())
        right = said[sums.index(max(sums))] if max(sums) > above else None
        wrong = said[sums.index(min(sums))] if min(sums) < below else None
        return with_ranking(question, right, wrong)
