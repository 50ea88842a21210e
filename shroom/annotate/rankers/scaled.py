"""The scores of all generations, each scaled to [0, 1] over the whole data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shroom.annotate.base import normal, value_of
from shroom.core.problems import ShroomError, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from shroom.datasets.dreamcatcher.records import Generation, Question


#: Far beyond any score; the distance of two greater ones may be more than a float can be.
_MOST = 1e300


def refuse_great(name: str, values: Iterable[float]) -> None:
    """Refuse numbers that cannot be computed with.

    Raises
    ------
    ShroomError
        With the first of them.
    """
    for value in values:
        if not abs(value) <= _MOST:
            said = f"expected numbers of at most {_MOST:g}, got {show(value)}"
            raise ShroomError(f"{name}: {said}; fix it, or name other scores")


@dataclass(frozen=True, eq=False)
class Scaled:
    """The scores that vary, as columns over all generations that have them.

    Attributes
    ----------
    columns : dict of array
        By name; not scaled.
    constant, absent : tuple of str
        Which scores are the same everywhere, and which nothing has; neither counts.
    """

    columns: dict[str, NDArray[np.float64]]
    constant: tuple[str, ...]
    absent: tuple[str, ...]

    @classmethod
    def of(cls, questions: Sequence[Question], names: Sequence[str]) -> Scaled:
        """Return the scores of these names.

        Raises
        ------
        ShroomError
            Where no generation has any of them, or one is not a number.
        """
        found = {}
        for name in names:
            values = [value_of(each, name) for q in questions for each in q.generation]
            values = [value for value in values if value is not None]
            odd = [value for value in values if isinstance(value, (str, list, dict))]
            if odd:
                said = f"expected numbers, got {show(odd[0])}"
                raise ShroomError(f"{name}: {said}; name other scores")
            refuse_great(name, values)
            found[name] = np.array(values, np.float64)
        absent = tuple(name for name, column in found.items() if not len(column))
        if len(absent) == len(found):
            listed = ", ".join(names)
            raise ShroomError(
                f"no generation has any of the scores {listed}; first run scorers that make them, "
                "or name others"
            )
        constant = tuple(n for n, column in found.items() if len(column) and np.ptp(column) == 0)
        varied = {n: column for n, column in found.items() if n not in absent + constant}
        return cls(varied, constant, absent)

    def of_one(self, generation: Generation, name: str) -> float:
        """Return a generation's score, scaled."""
        column = self.columns[name]
        least = column.min()
        return float((value_of(generation, name) - least) / (column.max() - least))

    def percentiles(self, q: float) -> dict[str, float]:
        """Return a percentile of each scaled score, between neighbours linearly."""
        found = {}
        for name, column in self.columns.items():
            scaled = (column - column.min()) / np.ptp(column)
            found[name] = float(np.percentile(scaled, q))
        return found

    def common(self, question: Question) -> list[str]:
        """Return the scores that all normal generations of a question have."""
        said = [question.generation[place] for place in normal(question)]
        return [
            name for name in self.columns if all(value_of(each, name) is not None for each in said)
        ]

    def notes(self, questions: Sequence[Question]) -> list[str]:
        """Return a sentence for each score that does not count, or not everywhere."""
        notes = [f"no generation has {name}, so it is left out of the sum" for name in self.absent]
        left_out = "is the same everywhere, so it is left out of the sum"
        notes += [f"{name} {left_out}" for name in self.constant]
        for name in self.columns:
            n = sum(bool(normal(each)) and name not in self.common(each) for each in questions)
            if n:
                said = f"{name} does not count where it is missing"
                notes.append(f"{said}, in {n} of {len(questions)} questions")
        return notes
