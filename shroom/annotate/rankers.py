"""Rankers: scale scores, sort questions into categories, and rank their generations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from msgspec.structs import replace
from numpy.typing import NDArray

from shroom.annotate.base import normal, value_of, with_scores
from shroom.core.printing import counted
from shroom.core.problems import ShroomError, show
from shroom.core.registry import Entry, Registry
from shroom.datasets.dreamcatcher import (
    ALL_RIGHT,
    ALL_WRONG,
    PARTIAL_RIGHT,
    UNCERTAIN,
    Generation,
    Question,
)
from shroom.detectors.judge.verdicts import meaning
from shroom.detectors.settings import Names, convert_fields

#: Far beyond any score; the distance between two larger numbers may overflow.
_MOST = 1e300


@dataclass(frozen=True, eq=False)
class Scaled:
    """Questions whose scores are scaled to [0, 1] over all generations that have them."""

    questions: list[Question]  # with scaled scores
    columns: dict[str, NDArray[np.float64]]
    notes: list[str]  # a sentence for each score that is left out of some or all sums

    @classmethod
    def of(cls, questions: Sequence[Question], names: Iterable[str]) -> Scaled:
        """Return questions with the named scores scaled."""
        columns = {name: column(name, questions) for name in names}
        notes, bounds = [], {}
        for name, values in columns.items():
            if not len(values):
                notes.append(f"no generation has {name}, so this score is left out of the sum")
            elif np.ptp(values):
                bounds[name] = values.min(), np.ptp(values)
            else:
                notes.append(
                    f"{name} is the same for all generations, so it is left out of the sum"
                )
        if not any(map(len, columns.values())):
            listed = ", ".join(columns)
            raise ShroomError(
                f"no generation has any of the scores {listed}; first run scorers that add them, "
                "or choose other scores"
            )

        def scale(generation: Generation) -> Generation:
            values = {name: value_of(generation, name) for name in bounds}
            scores = {
                name: float((value - bounds[name][0]) / bounds[name][1])
                for name, value in values.items()
                if value is not None
            }
            return with_scores(generation, scores)

        scaled = cls(
            [changed(question, scale) for question in questions],
            {name: (columns[name] - least) / span for name, (least, span) in bounds.items()},
            notes,
        )
        common = [scaled.common(question) for question in questions if normal(question)]
        for name in bounds:
            if n := sum(name not in scores for scores in common):
                extent = f"{n} of {counted(len(questions), 'question')}"
                why = "because not all normal generations have this score"
                notes.append(f"{name} is left out of the sum for {extent}, {why}")
        return scaled

    def percentiles(self, q: float) -> dict[str, float]:
        """Return a percentile of each scaled score, with linear interpolation."""
        return {name: float(np.percentile(column, q)) for name, column in self.columns.items()}

    def common(self, question: Question) -> list[str]:
        """Return the scores that all normal generations of a question have."""
        generations = [question.generation[place] for place in normal(question)]
        return [
            name
            for name in self.columns
            if all(value_of(generation, name) is not None for generation in generations)
        ]


def changed(question: Question, change: Callable[[Generation], Generation]) -> Question:
    """Return a question with each of its generations changed."""
    return replace(question, generation=tuple(map(change, question.generation)))


def column(name: str, questions: Sequence[Question]) -> NDArray[np.float64]:
    """Return a score of all generations that have it; raise an error if it is not a number."""
    values = [value_of(generation, name) for q in questions for generation in q.generation]
    values = [value for value in values if value is not None]
    for value in values:
        if isinstance(value, (str, list, dict)) or not abs(value) <= _MOST:
            message = f"{name}: expected numbers of at most {_MOST:g}, got {show(value)}"
            raise ShroomError(f"{message}; correct the value, or choose other scores")
    return np.array(values, np.float64)


#: The rankers by name.
RANKERS = Registry(
    "ranker",
    {
        "percentile": Entry(
            "shroom.annotate.rankers:Percentile",
            "ranks generations by the sum of their scaled scores",
        ),
        "length": Entry(
            "shroom.annotate.rankers:Length",
            "ranks short generations by overlap with the answer, long ones by several scores",
        ),
    },
)
_OVERLAP, _SIMILARITY = "unigram_overlap_with_answer_score", "sim2answer_score"
_VERDICT, _VERDICT_SCORE = "gpt_judgement", "gpt_judgement_score"
#: The scores that the source's program adds up, in its order.
SCORES = ("probe_score", _OVERLAP, _SIMILARITY, "sim2gen_score")
#: The scores that decide on a generation that is hardly longer than the answer, or much longer.
SHORT = (_OVERLAP,)
LONG = (_VERDICT_SCORE, _SIMILARITY, _OVERLAP, "top_k_avg_probs_score")


_Percent = Annotated[float, Meta(ge=0, le=100)]


@dataclass(frozen=True)
class Ranked:
    """The result of a ranker."""

    questions: list[Question]
    limits: dict[str, float]  # the limits that decided, by name
    notes: list[str] = field(default_factory=list)  # notes for the user, each a sentence


@dataclass
class Percentile:
    """Ranks by the sum of scores, each scaled to [0, 1] over the whole data set."""

    # Liang et al. (2024), *Learning to Trust Your Feelings*, arXiv:2401.15449.
    # A question has a right generation if its best sum exceeds the sum of the upper percentiles,
    # and a wrong one if its worst sum is below the sum of the lower percentiles. A score counts
    # only if all normal generations of the question have it.

    up: _Percent = 70  # the percentiles, from 0 to 100
    down: _Percent = 30
    scores: Names = SCORES  # the fields that are added up

    def __post_init__(self) -> None:
        convert_fields(self)
        if self.down > self.up:
            raise ShroomError(
                f"the setting 'down' ({self.down:g}) must not exceed the setting 'up' ({self.up:g})"
            )

    def rank(self, questions: Sequence[Question]) -> Ranked:
        """Return the questions, with categories and rankings if they can be ranked."""
        scaled = Scaled.of(questions, dict.fromkeys(self.scores))
        limits = {
            "right above": scaled.percentiles(self.up),
            "wrong below": scaled.percentiles(self.down),
        }
        ranked = [self._ranked(question, scaled, *limits.values()) for question in scaled.questions]
        totals = {name: sum(values.values()) for name, values in limits.items()}
        return Ranked(ranked, totals, [*scaled.notes, *_notes_on(ranked)])

    def _ranked(
        self,
        question: Question,
        scaled: Scaled,
        above: Mapping[str, float],
        below: dict[str, float],
    ) -> Question:
        generations = [question.generation[place] for place in normal(question)]
        names = scaled.common(question)
        if not generations or not names:
            return replace(question, category=None, rank=None)
        sums = [sum(float(value_of(g, name)) for name in names) for g in generations]
        right = generations[sums.index(max(sums))]
        wrong = generations[sums.index(min(sums))]
        return _with_ranking(
            question,
            right if max(sums) > sum(above[name] for name in names) else None,
            wrong if min(sums) < sum(below[name] for name in names) else None,
        )


@dataclass
class Length:
    """Ranks by overlap with the answer; for long generations, by a sum of several scores."""

    # The ranker by length of the program of Liang et al. (2024), arXiv:2401.15449.
    # A generation is right if its sum exceeds the sum of the medians. A ranking takes the right
    # one with the greatest reward plus similarity, and the wrong one with the greatest reward
    # minus similarity. A verdict counts as 1 if it means right, else as 0; its limit is 0.5.

    # A generation is long if it has at least this many characters more than the answer.
    difference: Annotated[int, Meta(ge=0, le=1_000_000)] = 80

    def __post_init__(self) -> None:
        convert_fields(self)

    def rank(self, questions: Sequence[Question]) -> Ranked:
        """Return the questions, with categories and rankings if they can be ranked."""
        column("rm_score", questions)  # raises an error for values that are not numbers
        scaled = Scaled.of([changed(question, _with_verdict) for question in questions], LONG)
        limits = scaled.percentiles(50)
        if _VERDICT_SCORE in limits:  # a judge says yes or no: 1 or 0
            limits[_VERDICT_SCORE] = 0.5
        ranked = [self._ranked(question, scaled, limits) for question in scaled.questions]
        totals = {
            f"right above, {word}": sum(limits[name] for name in names if name in limits)
            for word, names in (("short", SHORT), ("long", LONG))
        }
        return Ranked(ranked, totals, [*scaled.notes, *_notes_on(ranked)])

    def _ranked(self, question: Question, scaled: Scaled, limits: dict[str, float]) -> Question:
        common, places = scaled.common(question), normal(question)
        generations = []
        by_label: dict[bool, list[Generation]] = {True: [], False: []}
        for place, generation in enumerate(question.generation):
            long = len(generation.text) - len(question.answer) >= self.difference
            fields: dict[str, Any] = {"lendiff": "long" if long else "short"}
            if place in places:
                names = [name for name in (LONG if long else SHORT) if name in common]
                if not names:
                    return replace(question, category=None, rank=None)
                total = sum(float(value_of(generation, name)) for name in names)
                fields["label"] = int(total > sum(limits[name] for name in names))
            generations.append(with_scores(generation, fields))
            if place in places:
                by_label[bool(fields["label"])].append(generations[-1])
        if not places:
            return replace(question, category=None, rank=None)

        def merit(generation: Generation, sign: int) -> float:
            similarity = value_of(generation, _SIMILARITY) if _SIMILARITY in scaled.columns else 0
            return float(generation.rm_score or 0) + sign * float(similarity or 0)

        question = replace(question, generation=tuple(generations))
        return _with_ranking(
            question,
            max(by_label[True], key=lambda generation: merit(generation, 1), default=None),
            max(by_label[False], key=lambda generation: merit(generation, -1), default=None),
        )


Ranker = Percentile | Length


def _with_ranking(
    question: Question, right: Generation | None, wrong: Generation | None
) -> Question:
    """Return a question with its category and its ranking: right, refusal, wrong."""
    category = ALL_RIGHT if wrong is None else ALL_WRONG if right is None else PARTIAL_RIGHT
    ranking = tuple(g for g in (right, _refusal(question), wrong) if g is not None)
    return replace(question, category=category, rank=ranking)


def _refusal(question: Question) -> Generation | None:
    """Return the refusal with the highest reward, or the first if no refusal has a reward."""
    refusals = [generation for generation in question.generation if generation.type == UNCERTAIN]
    lowest = float("-inf")
    return max(refusals, key=lambda g: lowest if g.rm_score is None else g.rm_score, default=None)


def _notes_on(questions: Sequence[Question]) -> list[str]:
    """Return notes on questions without a ranking or without a refusal."""
    without = sum(q.category is None for q in questions)
    unsure = sum(q.category is not None and _refusal(q) is None for q in questions)
    notes, of_all = [], f"of {counted(len(questions), 'question')}"
    if without:
        notes.append(
            f"{without} {of_all} could not be ranked, because no usable score covers all normal "
            "generations of the question"
        )
    if unsure:
        notes.append(f"{unsure} {of_all} had no refusal for the ranking")
    return notes


def _with_verdict(generation: Generation) -> Generation:
    """Return a generation whose verdict has a score."""
    verdict = value_of(generation, _VERDICT)
    if verdict is None or value_of(generation, _VERDICT_SCORE) is not None:
        return generation
    return with_scores(generation, {_VERDICT_SCORE: int(meaning(str(verdict)) is True)})
