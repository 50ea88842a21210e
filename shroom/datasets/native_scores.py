"""Scores of predictions in a data set's own form, by its own metrics: those of FELM."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.metrics.intervals import DEFAULT_INTERVALS, NO_INTERVALS, Intervals
from shroom.scoring.results import TrackScore, records_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shroom.core.paths import Source

#: The data sets whose predictions have a form of their own.
SCORED = ("felm",)


@dataclass(frozen=True)
class NativeResult(TrackScore):
    """The scores of a data set, which is named in the place of the track.

    Attributes
    ----------
    counts : dict of int
        How many things were scored; ``n`` is the number of those that are resampled.
    """

    counts: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for json."""
        return {
            "dataset": self.track,
            **self.counts,
            **self.whole,
            **{f"by_{key}": slices for key, slices in self.slices.items()},
            "floors": self.floors,
            "signature": self.signature,
        }


@dataclass(frozen=True)
class NativeScore:
    """The scores of predictions, the warnings, and the settings of the intervals."""

    results: list[NativeResult]
    problems: Problems
    intervals: Intervals
    #: No mean over the results ranks.
    mean: ClassVar[Mapping[str, float | None]] = {}

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each result, each trivial system and each slice."""
        return records_of(self.results)

    @property
    def signature(self) -> str:
        """The signature of the result."""
        return self.results[0].signature

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for json; floats in full, undefined as ``None``."""
        return {
            "signature": self.signature,
            "results": [result.to_dict() for result in self.results],
            **self.intervals.to_dict(),
            "warnings": [problem.sentence for problem in self.problems],
        }


def score(
    name: str, predictions: Source, gold: Source, how: Intervals = DEFAULT_INTERVALS
) -> NativeScore:
    """Return the scores of predictions in a data set's own form.

    Parameters
    ----------
    name : str
        The data set's.
    predictions, gold : path
        Each a file, a folder or a zip; one of them may be ``"-"`` for a pipe.
    how : Intervals
        How to make intervals.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors.
    ShroomError
        Where the data set has no form of predictions.
    """
    if name not in SCORED:
        raise ShroomError(
            f"{name} has no predictions of a form of its own, as {' and '.join(SCORED)} has; "
            f"'shroom datasets convert {name} {gold} -o gold.json' makes SHROOM's gold of it, "
            f"for submissions in SHROOM's form"
        )
    from shroom.datasets.felm.scores import score as of_felm

    return of_felm(predictions, gold, how)


def check(name: str, predictions: Source, gold: Source) -> Problems:
    """Return everything that is wrong with predictions: what this passes, :func:`score` scores."""
    try:
        return score(name, predictions, gold, NO_INTERVALS).problems
    except InvalidInput as error:
        return error.problems
