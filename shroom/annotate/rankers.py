"""Rankers: scale scores, sort questions into categories, and rank their generations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import replace

from shroom.annotate.base import normal, value_of, with_scores
from shroom.annotate.scaled_scores import Scaled, changed, column
from shroom.core.json_writing import json_lines
from shroom.core.printing import counted
from shroom.core.problems import ShroomError
from shroom.core.registry import Entry, Registry
from shroom.datasets import dreamcatcher
from shroom.datasets.dreamcatcher import (
    ALL_RIGHT,
    ALL_WRONG,
    PARTIAL_RIGHT,
    UNCERTAIN,
    Generation,
    Preference,
    Question,
    Turn,
)
from shroom.detectors.judge.verdicts import meaning
from shroom.detectors.settings import Names, convert_fields

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
        """Check the settings."""
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
        """Check the settings."""
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
        for place, better in enumerate(ranking.preference)
        for worse in ranking.preference[place + 1 :]
    ]


#: The text of each file that annotation writes, from questions.
OUTPUTS: dict[str, Callable[[Sequence[Question]], str]] = {
    "output": dreamcatcher.write,
    "ranked": lambda questions: dreamcatcher.write(preferences(questions)),
    "pairs": lambda questions: json_lines(pairs(preferences(questions))),
}


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
    notes, n = [], len(questions)
    if without:
        share = f"{without} of {counted(n, 'question')}"
        notes.append(
            f"{share} could not be ranked, because each usable score is missing from at least one "
            "normal generation"
        )
    if unsure:
        share = f"{unsure} of {counted(n, 'question')}"
        notes.append(f"{share} had no refusal, so the ranking contains none")
    return notes


def _with_verdict(generation: Generation) -> Generation:
    """Return a generation whose verdict has a score."""
    verdict = value_of(generation, _VERDICT)
    if verdict is None or value_of(generation, _VERDICT_SCORE) is not None:
        return generation
    return with_scores(generation, {_VERDICT_SCORE: int(meaning(str(verdict)) is True)})
