"""Rankers: scale scores, sort questions into categories, and rank their generations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta
from msgspec.structs import replace
from numpy.typing import NDArray

from shroom.annotate.base import is_normal, normal, value_of, with_scores
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

#: The rankers by name.
RANKERS = Registry(
    "ranker",
    {
        "percentile": Entry("shroom.annotate.rankers:Percentile"),
        "length": Entry("shroom.annotate.rankers:Length"),
    },
)
#: Far beyond any score; the distance between two larger numbers may overflow.
_MOST = 1e300
_OVERLAP, _SIMILARITY = "unigram_overlap_with_answer_score", "sim2answer_score"
_VERDICT, _VERDICT_SCORE = "gpt_judgement", "gpt_judgement_score"
#: The scores that the source's program adds up, in its order.
SCORES = ("probe_score", _OVERLAP, _SIMILARITY, "sim2gen_score")
#: The scores that decide on a generation that is hardly longer than the answer, or much longer.
SHORT = (_OVERLAP,)
LONG = (_VERDICT_SCORE, _SIMILARITY, _OVERLAP, "top_k_avg_probs_score")

#: What notes say about questions.
_UNRANKED = (
    "could not be ranked, because no usable score covers all normal generations of the question"
)
_PARTIAL = "lacked a score in some normal generation, so this score is left out of their sums"
_WITHOUT_REFUSAL = "had no refusal for the ranking"

_Percent = Annotated[float, Meta(ge=0, le=100)]
#: A question, perhaps changed, with its right and its wrong generation.
_Choice = tuple[Question, Generation | None, Generation | None]


class Ranked(NamedTuple):
    """The result of a ranker."""

    questions: list[Question]  # with scaled scores; with categories and rankings, if possible
    limits: dict[str, float]  # the limits that decided, by name
    notes: list[str]  # notes for the user, each a sentence


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
        above, below = scaled.percentiles(self.up), scaled.percentiles(self.down)

        def choose(question: Question, names: list[str]) -> _Choice:
            said = [(_total(it, names), it) for it in question.generation if is_normal(it)]
            most, right = max(said, key=itemgetter(0))
            least, wrong = min(said, key=itemgetter(0))
            return (
                question,
                right if most > sum(above[name] for name in names) else None,
                wrong if least < sum(below[name] for name in names) else None,
            )

        limits = {"right above": sum(above.values()), "wrong below": sum(below.values())}
        return scaled.ranked(choose, limits)


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
        scaled = Scaled.of([_changed(question, _with_verdict) for question in questions], LONG)
        medians = scaled.percentiles(50)
        if _VERDICT_SCORE in medians:  # a judge says yes or no: 1 or 0
            medians[_VERDICT_SCORE] = 0.5

        def merit(generation: Generation, sign: int) -> float:
            similarity = value_of(generation, _SIMILARITY) if _SIMILARITY in medians else 0
            return float(generation.rm_score or 0) + sign * float(similarity or 0)

        def choose(question: Question, names: list[str]) -> _Choice | None:
            generations, sides = [], dict[int, list[Generation]]({1: [], 0: []})
            for generation in question.generation:
                long = len(generation.text) - len(question.answer) >= self.difference
                fields: dict[str, Any] = {"lendiff": "long" if long else "short"}
                if is_normal(generation):
                    own = [name for name in (LONG if long else SHORT) if name in names]
                    if not own:
                        return None
                    limit = sum(medians[name] for name in own)
                    fields["label"] = int(_total(generation, own) > limit)
                generations.append(with_scores(generation, fields))
                if is_normal(generation):
                    sides[fields["label"]].append(generations[-1])
            return (
                replace(question, generation=tuple(generations)),
                max(sides[1], key=lambda generation: merit(generation, 1), default=None),
                max(sides[0], key=lambda generation: merit(generation, -1), default=None),
            )

        limits = {
            f"right above, {word}": sum(medians[name] for name in names if name in medians)
            for word, names in (("short", SHORT), ("long", LONG))
        }
        return scaled.ranked(choose, limits)


Ranker = Percentile | Length


@dataclass(frozen=True, eq=False)
class Scaled:
    """Questions whose scores are scaled to [0, 1] over all generations that have them."""

    questions: list[Question]
    columns: dict[str, NDArray[np.float64]]  # the scaled scores of all generations
    notes: list[str]  # a sentence for each score that is left out of some or all sums

    @classmethod
    def of(cls, questions: Sequence[Question], names: Iterable[str]) -> Scaled:
        """Return questions with the named scores scaled."""
        columns = {name: column(name, questions) for name in names}
        if not any(map(len, columns.values())):
            listed = ", ".join(columns)
            raise ShroomError(
                f"no generation has any of the scores {listed}; first run scorers that add them, "
                "or choose other scores"
            )
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

        def scale(generation: Generation) -> Generation:
            scores = {
                name: float((value - least) / span)
                for name, (least, span) in bounds.items()
                if (value := value_of(generation, name)) is not None
            }
            return with_scores(generation, scores)

        scores = {name: (columns[name] - least) / span for name, (least, span) in bounds.items()}
        return cls([_changed(question, scale) for question in questions], scores, notes)

    def percentiles(self, q: float) -> dict[str, float]:
        """Return a percentile of each scaled score, with linear interpolation."""
        return {name: float(np.percentile(column, q)) for name, column in self.columns.items()}

    def common(self, question: Question) -> list[str]:
        """Return the scores that all normal generations of a question have; none without any."""
        places = normal(question)
        return [
            name
            for name in self.columns
            if places and all(value_of(question.generation[it], name) is not None for it in places)
        ]

    def ranked(
        self, choose: Callable[[Question, list[str]], _Choice | None], limits: dict[str, float]
    ) -> Ranked:
        """Return the questions with category and ranking: the right one, a refusal, the wrong."""
        questions, counts = [], Counter[str]()
        for question in self.questions:
            names = self.common(question)
            choice = choose(question, names) if names else None
            if choice is None:
                counts[_UNRANKED] += 1
                questions.append(replace(question, category=None, rank=None))
                continue
            changed, right, wrong = choice
            category = ALL_RIGHT if wrong is None else ALL_WRONG if right is None else PARTIAL_RIGHT
            refusal = _refusal(changed)
            counts[_PARTIAL] += len(names) < len(self.columns)
            counts[_WITHOUT_REFUSAL] += refusal is None
            rank = tuple(it for it in (right, refusal, wrong) if it is not None)
            questions.append(replace(changed, category=category, rank=rank))
        of_all = f"of {counted(len(questions), 'question')}"
        notes = [f"{n} {of_all} {what}" for what, n in counts.items() if n]
        return Ranked(questions, limits, [*self.notes, *notes])


def column(name: str, questions: Sequence[Question]) -> NDArray[np.float64]:
    """Return a score of all generations that have it; raise an error if it is not a number."""
    values = [value_of(generation, name) for q in questions for generation in q.generation]
    values = [value for value in values if value is not None]
    for value in values:
        if not isinstance(value, (int, float)) or not abs(value) <= _MOST:
            message = f"{name}: expected numbers of at most {_MOST:g}, got {show(value)}"
            raise ShroomError(f"{message}; correct the value, or choose other scores")
    return np.array(values, np.float64)


def _total(generation: Generation, names: Iterable[str]) -> float:
    return sum(float(value_of(generation, name)) for name in names)


def _refusal(question: Question) -> Generation | None:
    """Return the refusal with the highest reward, or the first if no refusal has a reward."""
    refusals = [generation for generation in question.generation if generation.type == UNCERTAIN]
    lowest = float("-inf")
    return max(refusals, key=lambda g: lowest if g.rm_score is None else g.rm_score, default=None)


def _changed(question: Question, change: Callable[[Generation], Generation]) -> Question:
    """Return a question with each of its generations changed."""
    return replace(question, generation=tuple(map(change, question.generation)))


def _with_verdict(generation: Generation) -> Generation:
    """Return a generation whose verdict has a score."""
    verdict = value_of(generation, _VERDICT)
    if verdict is None or value_of(generation, _VERDICT_SCORE) is not None:
        return generation
    return with_scores(generation, {_VERDICT_SCORE: int(meaning(str(verdict)) is True)})
