"""How often a detector's p rises when a faithful hypothesis is made inconsistent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint
from shroom.evaluation.corruption.corrupt import METHODS, corruptions, is_faithful
from shroom.evaluation.corruption.names import Rules
from shroom.evaluation.matrix.datasets import Subject
from shroom.metrics.base import mean_of
from shroom.metrics.cluster_bootstrap import clustered, places
from shroom.metrics.intervals import Intervals, estimates

#: The methods write English. A data set that is in other languages is left out, for this reason.
OTHER_LANGUAGES = {
    "mushroom2025": "it has answers in many languages, and the corruptions are for English",
    "dreamcatcher": "it is Chinese, and the corruptions are for English",
}
#: All methods together.
ALL = "all"


def _risen(
    label: NDArray[Any], p: NDArray[Any], gold_label: NDArray[Any], gold_p: NDArray[Any]
) -> NDArray[np.float64]:
    del label, gold_label
    return np.asarray((p > gold_p) + (p == gold_p) / 2, np.float64)


#: p of the corrupted hypothesis is used as p, and that of the faithful one as the gold's p.
RISES = mean_of(
    "rises",
    _risen,
    (0.0, 1.0),
    about="the share of pairs in which p rises when the hypothesis is corrupted, a tie half one",
    formula="(1/n) Σ ([p′ᵢ > pᵢ] + ½[p′ᵢ = pᵢ])",
)


@dataclass(frozen=True, eq=False)
class Corrupted:
    """The corruptions of a subject's faithful datapoints.

    Attributes
    ----------
    of : array of int, shape [m]
        The place of each one's faithful datapoint.
    method : array of str, shape [m]
        Method of each.
    datapoints : list of Datapoint
        The inconsistent ones.
    faithful : int
        How many datapoints could be corrupted, if a method knew how.
    """

    of: NDArray[np.intp]
    method: NDArray[np.str_]
    datapoints: list[Datapoint]
    faithful: int


@dataclass(frozen=True)
class Rise:
    """How often p rises.

    Attributes
    ----------
    method : str
        Method of corruption, or ``all``.
    n : int
        How many pairs there are.
    share : float
        In [0, 1]: of pairs in which p rises, a tie half one; 0.5 for p without information.
    ci : tuple of float, or None
        Its interval.
    """

    method: str
    n: int
    share: float | None
    ci: tuple[float, float] | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for json."""
        ci = None if self.ci is None else list(self.ci)
        return {"method": self.method, "n": self.n, "share": self.share, "share_ci": ci}


def why_not(subject: Subject) -> str | None:
    """Return why a subject cannot be corrupted, or ``None`` if it can."""
    return OTHER_LANGUAGES.get(subject.dataset)


def corrupted(subject: Subject, seed: int) -> Corrupted:
    """Return the corruptions of each faithful datapoint by each method.

    Names are found by rules, so that two machines give the same.
    """
    faithful = [place for place, point in enumerate(subject.datapoints) if is_faithful(point)]
    points = [subject.datapoints[place] for place in faithful]
    listed = corruptions(points, seed=seed, recogniser=Rules())
    return Corrupted(
        np.array([faithful[corruption.of] for corruption in listed], np.intp),
        np.array([corruption.method for corruption in listed], np.str_),
        [corruption.datapoint for corruption in listed],
        len(faithful),
    )


def rises(
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    corrupted: Corrupted,
    unit: NDArray[np.intp],
    intervals: Intervals,
) -> list[Rise]:
    """Return how often p rises, for all methods together and for each.

    Parameters
    ----------
    before : array, shape [n]
        The p of the subject's datapoints.
    after : array, shape [m]
        p of the corrupted datapoints.
    made : Corrupted
        The corruptions.
    unit : array of int, shape [n]
        What the subject's datapoints belong to, and are drawn with.
    intervals : Intervals
        Settings of the intervals.
    """
    nothing = np.zeros(len(after))
    statistics = RISES.statistics(nothing, after, nothing, before[corrupted.of])
    units = unit[corrupted.of]
    parts = {ALL: np.ones(len(after), bool)}
    parts |= {method: corrupted.method == method for method in METHODS}
    return [_rise(name, statistics[part], units[part], intervals) for name, part in parts.items()]


def _rise(
    method: str, statistics: NDArray[Any], units: Sequence[Any] | NDArray[Any], settings: Intervals
) -> Rise:
    by_unit = clustered(RISES, statistics, places(np.asarray(units).tolist()))
    scores, intervals = estimates([by_unit], settings)
    return Rise(method, len(statistics), scores[RISES.name], intervals[RISES.name])
