"""Several submissions in one: means, votes, and weights that are fitted on labelled data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from shroom.core.problems import ShroomError
from shroom.detectors.out_of_fold import best_strength
from shroom.learners.logistic import KernelLogistic
from shroom.metrics.accuracy_by_threshold import DEFAULT_THRESHOLD, thresholds_by_task
from shroom.metrics.correlation import levels, twice_ranks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Words = NDArray[np.str_]

#: The inverse strengths of the L2 penalty that are tried.
STRENGTHS = (0.01, 0.03, 0.1, 0.3)
#: The parts of the cross-validation by which strength and thresholds are chosen.
INNER = 5
#: The parts of the cross-validation around all of it, for the figures.
FOLDS = 10
#: Fewer different datapoints than this are not worth fitting on.
_FEWEST = 10
#: p keeps as many digits as the detectors' do.
_DIGITS = 6


@dataclass(frozen=True, eq=False)
class Combined:
    """Labels and p of an ensemble.

    Attributes
    ----------
    label : array of bool, shape [n]
        Whether it is Hallucination.
    p : array, shape [n]
        p(Hallucination), in [0, 1].
    """

    label: Flags
    p: Values

    @classmethod
    def by(cls, p: Values, threshold: float | Values) -> Combined:
        """Return p as it will be written, and the labels by it."""
        rounded = np.clip(np.round(p, _DIGITS), 0, 1) + 0.0
        return cls(rounded > threshold, rounded)


def mean(p: Values, label: Flags) -> Combined:
    """Return the mean p of the submissions; Hallucination where it is greater than 0.5.

    Parameters
    ----------
    p : array, shape [n, m]
        Of each of m submissions for each of n datapoints of one track.
    label : array of bool, shape [n, m]
        Their labels.

    Examples
    --------
    >>> mean(np.array([[0.2, 0.9], [0.4, 0.1]]), np.array([[False, True], [False, False]])).p
    array([0.55, 0.25])
    """
    del label
    return Combined.by(p.mean(axis=1), DEFAULT_THRESHOLD)


def rank(p: Values, label: Flags) -> Combined:
    """Return the mean rank of p among the track's; parameters as of :func:`mean`.

    Ranks do not show where Hallucination begins. So as many datapoints are labelled Hallucination
    as the submissions label on average (fewer where several are tied at the border), those of the
    highest ranks, and p is stretched so that the border lies at 0.5. It rises with the mean rank.

    Examples
    --------
    >>> p = np.array([[0.1, 0.01], [0.2, 0.02], [0.9, 0.04], [0.8, 0.03]])
    >>> found = rank(p, p > 0.5)
    >>> found.p, found.label
    (array([0.  , 0.25, 1.  , 0.5 ]), array([False, False,  True, False]))
    """
    n = len(p)
    from_zero = np.column_stack([(twice_ranks(levels(column)) - 1) / 2 for column in p.T])
    ranks = from_zero.mean(axis=1) / max(n - 1, 1)
    flagged = round(float(label.sum()) / label.shape[1])
    ordered = np.sort(ranks)
    if flagged >= n:
        return Combined.by(0.5 + (0.5 + ranks / 2) / 2, DEFAULT_THRESHOLD)  # all of them beyond 0.5
    border = float(ordered[n - 1 - flagged])
    low = 0.5 * ranks / border if border > 0 else np.full(n, 0.5)
    high = 0.5 + 0.5 * (ranks - border) / (1 - border) if border < 1 else low
    return Combined.by(np.where(ranks <= border, low, high), DEFAULT_THRESHOLD)


def vote(p: Values, label: Flags) -> Combined:
    """Return the share of submissions that say Hallucination; parameters as of :func:`mean`.

    Where they are evenly split, the label goes by the mean p.

    Examples
    --------
    >>> p = np.array([[0.6, 0.3], [0.9, 0.3]])
    >>> found = vote(p, p > 0.5)
    >>> found.p, found.label
    (array([0.5, 0.5]), array([False,  True]))
    """
    share = Combined.by(label.mean(axis=1), DEFAULT_THRESHOLD)
    even = share.p == DEFAULT_THRESHOLD
    return Combined(np.where(even, p.mean(axis=1) > DEFAULT_THRESHOLD, share.label), share.p)


#: What needs no training data.
METHODS: dict[str, Callable[[Values, Flags], Combined]] = {"mean": mean, "rank": rank, "vote": vote}


@dataclass(frozen=True, eq=False)
class Training:
    """Labelled datapoints as columns.

    Attributes
    ----------
    values : array, shape [n, k]
        What the submissions say, and perhaps measures of the texts.
    tasks : array of str, shape [n]
        Each datapoint's task.
    p : array, shape [n]
        The annotators' proportions.
    label : array of bool, shape [n]
        Whether their majority is Hallucination.
    groups : array, shape [n]
        Datapoints of one group, such as duplicates, stay in one fold.
    """

    values: Values
    tasks: Words
    p: Values
    label: Flags
    groups: NDArray[Any]

    @property
    def columns(self) -> tuple[Values, Words]:
        """What is known without labels."""
        return self.values, self.tasks

    def at(self, rows: NDArray[np.intp]) -> Training:
        """Return some of the datapoints."""
        columns = self.values, self.tasks, self.p, self.label, self.groups
        return Training(*(column[rows] for column in columns))  # type: ignore[arg-type]

    def parts(self, folds: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield the places to fit on and the places to judge, for each fold."""
        distinct, place = np.unique(self.groups, return_inverse=True)
        part = np.random.default_rng(0).permutation(len(distinct)) % min(folds, len(distinct))
        fold = part[place.ravel()]
        for number in range(int(fold.max()) + 1):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)

    def refuse_too_little(self) -> None:
        """Raise :class:`ShroomError` where there is nothing to learn, or to hold apart."""
        if self.label.all() or not self.label.any():
            raise ShroomError(
                "the training gold has one label on every item, so there is nothing to learn; give "
                "more data, or use --method mean"
            )
        if len(np.unique(self.groups)) < _FEWEST:
            raise ShroomError(
                f"the training gold has fewer than {_FEWEST} different datapoints, too few to "
                "learn from; give more data, or use --method mean"
            )


@dataclass(frozen=True, eq=False)
class Weighted:
    """An ensemble with fitted weights.

    Attributes
    ----------
    model : KernelLogistic
        The weights.
    c : float
        The inverse strength of the penalty that was chosen.
    threshold : float
        Hallucination where p is greater, in tasks without one of their own.
    thresholds : dict of float
        Those of tasks that have one of their own.
    """

    model: KernelLogistic
    c: float
    threshold: float
    thresholds: dict[str, float]

    @classmethod
    def fit(cls, data: Training) -> Weighted:
        """Fit weights, strength and thresholds; the latter two on p out of fold."""
        c, unseen = best_strength(
            KernelLogistic.fit, STRENGTHS, *data.columns, data.p, list(data.parts(INNER))
        )
        model = KernelLogistic.fit(*data.columns, data.p, c)
        return cls(model, c, *thresholds_by_task(unseen, data.label, data.tasks))

    def predict(self, values: Values, tasks: Words) -> Combined:
        """Return labels and p of datapoints, given as in :class:`Training`."""
        thresholds = [self.thresholds.get(task, self.threshold) for task in tasks.tolist()]
        return Combined.by(self.model.p(values, tasks), np.array(thresholds, np.float64))


def out_of_fold(data: Training, folds: int = FOLDS) -> Combined:
    """Return labels and p of datapoints from ensembles that were fitted without them.

    Strength and thresholds are chosen anew within each fold, so they have not seen it either.
    """
    p, label = np.empty(len(data.p)), np.empty(len(data.p), bool)
    for fitted_on, judged in data.parts(folds):
        combined = Weighted.fit(data.at(fitted_on)).predict(*data.at(judged).columns)
        p[judged], label[judged] = combined.p, combined.label
    return Combined(label, p)
