"""Scores that are scaled to [0, 1] over the whole data set, as the rankers read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shroom.annotate.base import normal, value_of, with_scores
from shroom.core.problems import ShroomError, show
from shroom.datasets.dreamcatcher.records import Generation, Question

#: Far beyond any score; the distance of two greater ones may be more than a float can be.
_MOST = 1e300


@dataclass(frozen=True, eq=False)
class Scaled:
    """Questions whose scores are scaled to [0, 1] over all generations that have them.

    Attributes
    ----------
    questions : list of Question
        With scaled scores.
    columns : dict of array
        The scaled scores by name, of all generations that have them.
    constant, absent : list of str
        Which scores are the same everywhere, and which nothing has; neither is scaled or counts.
    """

    questions: list[Question]
    columns: dict[str, NDArray[np.float64]]
    constant: list[str]
    absent: list[str]

    @classmethod
    def of(cls, questions: Sequence[Question], names: Iterable[str]) -> Scaled:
        """Return questions with the scores of these names scaled.

        Raises
        ------
        ShroomError
            Where no generation has any of them, or one is not a number.
        """
        columns: dict[str, NDArray[np.float64]] = {}
        for name in names:
            values = [value_of(generation, name) for q in questions for generation in q.generation]
            values = [value for value in values if value is not None]
            texts = [value for value in values if isinstance(value, (str, list, dict))]
            if texts:
                message = f"{name}: expected numbers, got {show(texts[0])}"
                raise ShroomError(f"{message}; name other scores")
            refuse_great(name, values)
            columns[name] = np.array(values, np.float64)
        absent = [name for name, column in columns.items() if not len(column)]
        if len(absent) == len(columns):
            listed = ", ".join(names)
            raise ShroomError(
                f"no generation has any of the scores {listed}; first run scorers that make them, "
                "or name others"
            )
        constant = [n for n, column in columns.items() if len(column) and np.ptp(column) == 0]
        varied = {n: column for n, column in columns.items() if n not in absent + constant}
        bounds = {name: (column.min(), np.ptp(column)) for name, column in varied.items()}

        def scale(generation: Generation) -> Generation:
            values = {name: value_of(generation, name) for name in bounds}
            scaled = {
                name: float((value - bounds[name][0]) / bounds[name][1])
                for name, value in values.items()
                if value is not None
            }
            return with_scores(generation, scaled)

        return cls(
            [changed(question, scale) for question in questions],
            {name: (varied[name] - least) / span for name, (least, span) in bounds.items()},
            constant,
            absent,
        )

    def percentiles(self, q: float) -> dict[str, float]:
        """Return a percentile of each scaled score, between neighbours linearly."""
        return {name: float(np.percentile(column, q)) for name, column in self.columns.items()}

    def common(self, question: Question) -> list[str]:
        """Return the scores that all normal generations of a question have."""
        generations = [question.generation[place] for place in normal(question)]
        return [
            name
            for name in self.columns
            if all(value_of(generation, name) is not None for generation in generations)
        ]

    def notes(self) -> list[str]:
        """Return a sentence for each score that does not count, or not everywhere."""
        notes = [f"no generation has {name}, so it is left out of the sum" for name in self.absent]
        left_out = "is the same everywhere, so it is left out of the sum"
        notes += [f"{name} {left_out}" for name in self.constant]
        counted = [self.common(question) for question in self.questions if normal(question)]
        for name in self.columns:
            n = sum(name not in names for names in counted)
            if n:
                extent = f"in {n} of {len(self.questions)} questions"
                notes.append(f"{name} does not count where it is missing, {extent}")
        return notes


def changed(question: Question, change: Callable[[Generation], Generation]) -> Question:
    """Return a question with each of its generations changed."""
    return replace(question, generation=tuple(map(change, question.generation)))


def refuse_great(name: str, values: Iterable[float]) -> None:
    """Raise :class:`ShroomError` for a number that cannot be computed with."""
    for value in values:
        if not abs(value) <= _MOST:
            message = f"{name}: expected numbers of at most {_MOST:g}, got {show(value)}"
            raise ShroomError(f"{message}; fix it, or name other scores")
