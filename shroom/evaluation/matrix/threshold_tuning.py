"""A detector's own threshold, or one that is tuned on items that are not scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint
from shroom.core.problems import ShroomError
from shroom.evaluation.matrix.datasets import Subject
from shroom.metrics.accuracy_by_threshold import (
    accuracy_by_threshold,
    balanced_accuracy_by_threshold,
)
from shroom.scoring.result import Plain

#: Metrics that a threshold can be tuned for.
MEASURES = {
    "balanced_accuracy": balanced_accuracy_by_threshold,
    "accuracy": accuracy_by_threshold,
}


@dataclass(frozen=True)
class Threshold:
    """The threshold above which p is labelled Hallucination, and its origin."""

    value: float
    source: str


@dataclass(frozen=True, eq=False, repr=False)
class Split(Plain):
    """The datapoints that thresholds are tuned on, which are not scored."""

    name: str
    datapoints: list[Datapoint]
    label: NDArray[np.bool_]
    left_out: int
    tuned_for: str
    keys = ("name", "n", "hallucinations", "left_out", "tuned_for")

    def __repr__(self) -> str:
        return f"Split({self.name}, n={self.n}, hallucinations={self.hallucinations})"

    def threshold(self, p: NDArray[np.float64], *, seen: bool = False) -> Threshold:
        """Return the best threshold, in a tie the nearest to 0.5; ``seen``: it is in-sample."""
        curve = MEASURES[self.tuned_for](p, self.label)
        source = f"tuned for {self.tuned_for} on {self.name} (n = {len(p)})"
        source += ", with items that the detector was fitted on" if seen else ""
        return Threshold(curve.best_threshold, source)

    @property
    def n(self) -> int:
        return len(self.datapoints)

    @property
    def hallucinations(self) -> int:
        return int(self.label.sum())


def split(tuned_on: Sequence[Subject], scored: Sequence[Subject], measure: str) -> Split:
    for subject in tuned_on:
        for other in scored:
            if subject.files & other.files:
                raise ShroomError(
                    f"{', '.join(subject.paths)}: tuning data and scored data share a file, but "
                    "thresholds are never tuned on scored items; choose another split to tune on"
                )
    scored_hyps = {point.hyp for subject in scored for point in subject.datapoints}
    points = [point for subject in tuned_on for point in subject.datapoints]
    label = np.concatenate([subject.label for subject in tuned_on])
    free = np.array([point.hyp not in scored_hyps for point in points])
    name = " and ".join(f"{subject.name} ({', '.join(subject.paths)})" for subject in tuned_on)
    if not label[free].any() or label[free].all():
        raise ShroomError(
            f"{name}: tuning needs unscored items with both labels, but "
            f"{len(points) - int(free.sum())} of {len(points)} items are also scored; "
            "choose another split to tune on"
        )
    chosen = [point for point, ok in zip(points, free) if ok]
    return Split(name, chosen, label[free], len(points) - len(chosen), measure)
