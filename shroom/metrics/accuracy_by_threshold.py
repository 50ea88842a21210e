"""The accuracy at every threshold of p, and the choice of a threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.base import Array, Floats
from shroom.metrics.discrimination import is_hallucination

#: The default threshold.
DEFAULT_THRESHOLD = 0.5
#: A threshold must be better by this many standard errors to replace the default. By chance, the
#: best of ninety thresholds is better by 2 standard errors in one of six data sets, and by 2.5 in
#: one of twenty.
STANDARD_ERRORS = 2.5
#: The thresholds that are compared.
GRID = np.round(np.arange(0.05, 0.951, 0.01), 2)


@dataclass(frozen=True, eq=False)
class AccuracyByThreshold:
    """The accuracy as a step function of the threshold; a higher p means Hallucination.

    Attributes
    ----------
    thresholds : array, shape [k]
        Starts of the steps in ascending order: 0 and the distinct values of p. Each step ends where
        the next step begins, and the last step ends at 1.
    accuracies : array, shape [k]
        Accuracy of each step; ``nan`` if there are no items.
    """

    thresholds: Floats
    accuracies: Floats

    def at(self, threshold: float) -> float:
        """Return the accuracy at a threshold in [0, 1]."""
        step = int(np.searchsorted(self.thresholds, threshold, side="right")) - 1
        return float(self.accuracies[max(step, 0)])

    @property
    def best(self) -> tuple[float, float]:
        """Start and end of the step with the best accuracy; among ties, the step nearest to 0.5."""
        starts, ends = self.thresholds, np.append(self.thresholds[1:], 1.0)
        away = np.maximum(np.maximum(starts - DEFAULT_THRESHOLD, DEFAULT_THRESHOLD - ends), 0.0)
        away[self.accuracies < np.max(self.accuracies)] = np.inf
        # A step that ends at 0.5 does not contain 0.5; the step that begins there does.
        step = int(np.lexsort((ends <= DEFAULT_THRESHOLD, away))[0])
        return float(starts[step]), float(ends[step])

    @property
    def best_threshold(self) -> float:
        """The best threshold: 0.5 if its accuracy is the best, otherwise the middle of ``best``."""
        start, end = self.best
        if start <= DEFAULT_THRESHOLD < end:
            return DEFAULT_THRESHOLD
        middle = start + (end - start) / 2
        return middle if middle < end else start  # start and end may be adjacent floats


def accuracy_by_threshold(p: Array, gold_label: Array) -> AccuracyByThreshold:
    """Return the accuracy at every threshold in [0, 1]; p above a threshold means Hallucination.

    Parameters
    ----------
    p : array, shape [n]
        In [0, 1].
    gold_label : array, shape [n]
        Labels, 1 or True for a hallucination.

    Returns
    -------
    AccuracyByThreshold

    Raises
    ------
    ValueError
        If a label is neither 0 nor 1.

    Examples
    --------
    >>> found = accuracy_by_threshold(np.array([0.1, 0.2, 0.4, 0.7]), np.array([0, 1, 1, 1]))
    >>> found.thresholds.tolist(), found.accuracies.tolist()
    ([0.0, 0.1, 0.2, 0.4, 0.7], [0.75, 1.0, 0.75, 0.5, 0.25])
    >>> found.best, round(found.best_threshold, 3), found.at(0.5)
    ((0.1, 0.2), 0.15, 0.5)
    """
    thresholds, hits, rejections, truth = _correct(p, gold_label)
    with np.errstate(invalid="ignore"):
        return AccuracyByThreshold(thresholds, (hits + rejections) / np.float64(len(truth)))


def balanced_accuracy_by_threshold(p: Array, gold_label: Array) -> AccuracyByThreshold:
    """Return the balanced accuracy at every threshold; see :func:`accuracy_by_threshold`.

    Returns
    -------
    AccuracyByThreshold
        The balanced accuracies; ``nan`` if only one gold label occurs.

    Examples
    --------
    >>> found = balanced_accuracy_by_threshold(np.array([0.1, 0.2, 0.4]), np.array([0, 1, 0]))
    >>> found.thresholds.tolist(), found.accuracies.tolist(), found.best
    ([0.0, 0.1, 0.2, 0.4], [0.5, 0.75, 0.25, 0.5], (0.1, 0.2))
    """
    thresholds, hits, rejections, truth = _correct(p, gold_label)
    positives = np.float64(np.count_nonzero(truth))
    with np.errstate(invalid="ignore"):
        shares = hits / positives, rejections / (len(truth) - positives)
    return AccuracyByThreshold(thresholds, (shares[0] + shares[1]) / 2)


def thresholds_by_task(
    p: Array, truth: NDArray[np.bool_], tasks: NDArray[np.str_]
) -> tuple[float, dict[str, float]]:
    """Return a common threshold, and the thresholds of tasks that need another one.

    The common threshold is 0.5 by default, and tasks use the common threshold by default. Any
    other threshold must be clearly better: the gain in correct labels must exceed
    ``STANDARD_ERRORS`` times the square root of the number of items whose label changes.

    Parameters
    ----------
    p : array of float, shape [n]
        Out-of-fold p: in-sample p would give useless thresholds.
    truth : array of bool, shape [n]
        Whether the label is Hallucination.
    tasks : array of str, shape [n]
        Task of each item.

    Examples
    --------
    >>> p = np.repeat([0.1, 0.3, 0.4, 0.8], 50)
    >>> tasks = np.repeat("DM", 200)
    >>> thresholds_by_task(p, p > 0.5, tasks)
    (0.5, {})
    >>> thresholds_by_task(p, p > 0.35, tasks)
    (0.39, {})
    """
    common = _better(p, truth, DEFAULT_THRESHOLD)
    by_task = {}
    for task in sorted(set(tasks.tolist())):
        here = tasks == task
        chosen = _better(p[here], truth[here], common)
        if chosen != common:
            by_task[task] = chosen
    return common, by_task


def _better(p: Array, truth: NDArray[np.bool_], before: float) -> float:
    """Return the best threshold of ``GRID``, or ``before`` if the gain is too small."""
    grid = GRID[np.argsort(np.abs(GRID - before), kind="stable")]  # among equals, the nearest
    correct = ((p > grid[:, None]) == truth).sum(axis=1)
    best = float(grid[int(correct.argmax())])
    changed = int(((p > best) != (p > before)).sum())
    gain = int(correct.max()) - int(((p > before) == truth).sum())
    return best if gain > STANDARD_ERRORS * changed**0.5 else before


def _correct(p: Array, gold_label: Array) -> tuple[Floats, Array, Array, Array]:
    """Return the thresholds, and how many items of each label they label correctly, and labels."""
    truth = is_hallucination(gold_label)
    p = np.clip(np.asarray(p, np.float64), 0.0, 1.0)  # rounding may put p outside
    thresholds = np.unique(np.append(p, 0.0))  # at which a label changes
    hits, misses = np.sort(p[truth]), np.sort(p[~truth])
    flagged_rightly = len(hits) - np.searchsorted(hits, thresholds, side="right")
    rejections = np.searchsorted(misses, thresholds, side="right")
    return thresholds, flagged_rightly, rejections, truth
