"""Scores scaled to [0, 1] over the whole data set, which the rankers read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from shroom.annotate.base import normal, value_of, with_scores
from shroom.core.printing import counted
from shroom.core.problems import ShroomError, show
from shroom.datasets.dreamcatcher import Generation, Question

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
