"""Combine submissions by means, ranks, votes, or weights fitted on labelled data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shroom.core.problems import ShroomError
from shroom.learners.folds import Places, out_of_fold, random_splits
from shroom.learners.logistic import Floats, Logistic, Words
from shroom.metrics.accuracy_by_threshold import DEFAULT_THRESHOLD, thresholds_by_task
from shroom.metrics.calibration import log_loss
from shroom.metrics.correlation import levels, twice_ranks

Flags = NDArray[np.bool_]

#: Inverse strengths of the L2 penalty to try.
STRENGTHS = (0.01, 0.03, 0.1, 0.3)
#: Number of folds for choosing strength and thresholds.
INNER = 5
#: Number of folds for the figures, with all choices made within each.
FOLDS = 10
#: Minimum number of different datapoints to fit on.
_FEWEST = 10
#: Decimal places of p, as for detectors.
_DIGITS = 6


class Combined(NamedTuple):
    label: Flags  # whether it is Hallucination
    p: Floats  # p(Hallucination), in [0, 1]

    @classmethod
    def by(cls, p: Floats, threshold: float | Floats) -> Combined:
        """Return p as it is written, and the labels that follow from it."""
        rounded = np.clip(np.round(p, _DIGITS), 0, 1) + 0.0
        return cls(rounded > threshold, rounded)


def mean(p: Floats, label: Flags) -> Combined:
    """Return the mean p of the submissions; the label is Hallucination if it exceeds 0.5."""
    del label
    return Combined.by(p.mean(axis=1), DEFAULT_THRESHOLD)


def rank(p: Floats, label: Flags) -> Combined:
    """Return the mean rank, scaled to exceed 0.5 as often as the submissions flag on average."""
    n = len(p)
    from_zero = np.column_stack([(twice_ranks(levels(column)) - 1) / 2 for column in p.T])
    ranks = from_zero.mean(axis=1) / max(n - 1, 1)
    flagged = round(float(label.sum()) / label.shape[1])
    ordered = np.sort(ranks)
    if flagged >= n:
        return Combined.by(0.5 + (0.5 + ranks / 2) / 2, DEFAULT_THRESHOLD)  # all above 0.5
    border = float(ordered[n - 1 - flagged])
    low = 0.5 * ranks / border if border > 0 else np.full(n, 0.5)
    high = 0.5 + 0.5 * (ranks - border) / (1 - border) if border < 1 else low
    return Combined.by(np.where(ranks <= border, low, high), DEFAULT_THRESHOLD)


def vote(p: Floats, label: Flags) -> Combined:
    """Return the share of Hallucination among the labels; the mean p breaks ties."""
    share = Combined.by(label.mean(axis=1), DEFAULT_THRESHOLD)
    even = share.p == DEFAULT_THRESHOLD
    return Combined(np.where(even, p.mean(axis=1) > DEFAULT_THRESHOLD, share.label), share.p)


#: The methods that need no training data.
METHODS: dict[str, Callable[[Floats, Flags], Combined]] = {"mean": mean, "rank": rank, "vote": vote}


class Training(NamedTuple):
    """Labelled datapoints as columns."""

    values: Floats  # log-odds of the submissions
    tasks: Words
    p: Floats  # the annotators' proportions
    label: Flags  # whether the majority label is Hallucination
    groups: NDArray[Any]  # datapoints that share a text have one group, and stay in one fold

    def at(self, rows: NDArray[np.intp]) -> Training:
        return Training._make(column[rows] for column in self)

    def fitted(self, c: float) -> Logistic:
        """Return a model with an intercept for each task; c as for :meth:`Logistic.fit`."""
        return Logistic.fit(self.values, self.tasks, self.p, c, slopes=False)

    def refuse_too_little(self) -> None:
        """Raise :class:`ShroomError` for constant p, a single label, or too few datapoints."""
        is_constant = self.label.all() or not self.label.any() or not np.ptp(self.values, 0).any()
        if is_constant or len(np.unique(self.groups)) < _FEWEST:
            raise ShroomError(
                "no weights can be fitted: expected a training gold with both labels and at least "
                f"{_FEWEST} different datapoints, and submissions whose p varies; use other data, "
                "or --method mean"
            )


@dataclass(frozen=True, eq=False)
class Weighted:
    model: Logistic
    threshold: float  # the label is Hallucination if p is greater
    thresholds: dict[str, float]  # of tasks that have their own

    @classmethod
    def fit(cls, data: Training) -> Weighted:
        """Fit the weights, and choose strength and thresholds by out-of-fold p."""

        def predict(train: Places, test: Places) -> Floats:
            part, (values, tasks, *_) = data.at(train), data.at(test)
            return np.column_stack([part.fitted(c).p(values, tasks) for c in STRENGTHS])

        p = np.array(out_of_fold(predict, random_splits(data.groups, INNER)))
        unseen = dict(zip(STRENGTHS, p.T))
        best = min(STRENGTHS, key=lambda c: log_loss(unseen[c], data.p))
        thresholds = thresholds_by_task(unseen[best], data.label, data.tasks)
        return cls(data.fitted(best), *thresholds)

    def predict(self, values: Floats, tasks: Words) -> Combined:
        """Return labels and p of datapoints, given as in :class:`Training`."""
        thresholds = [self.thresholds.get(task, self.threshold) for task in tasks.tolist()]
        return Combined.by(self.model.p(values, tasks), np.array(thresholds, np.float64))


def cross_validated(data: Training) -> Combined:
    """Return out-of-fold labels and p, with strength and thresholds chosen within each fold."""

    def predict(train: Places, test: Places) -> Floats:
        values, tasks, *_ = data.at(test)
        return np.column_stack(Weighted.fit(data.at(train)).predict(values, tasks))

    label, p = np.array(out_of_fold(predict, random_splits(data.groups, FOLDS))).T
    return Combined(label == 1, p)
