"""Thresholds: the accuracy at each of them, and which to choose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.base import Array, Floats
from shroom.metrics.discrimination import is_hallucination

#: The threshold if nothing speaks for another.
DEFAULT_THRESHOLD = 0.5
#: By how many standard errors a threshold must be better to replace another. Of ninety that are
#: compared, one gains two by chance in every sixth data set, two and a half in every twentieth.
STANDARD_ERRORS = 2.5
#: The thresholds that are compared for it.
GRID = np.round(np.arange(0.05, 0.951, 0.01), 2)


@dataclass(frozen=True, eq=False)
class AccuracyByThreshold:
    """The accuracy of saying Hallucination if p is greater than a threshold: a step function.

    Attributes
    ----------
    thresholds : array, shape [k]
        Where the steps begin, rising from 0: the distinct p. A step lasts until the next begins,
        the last one through 1.
    accuracies : array, shape [k]
        The accuracy from each of them on; ``nan`` for no items.
    """

    thresholds: Floats
    accuracies: Floats

    def at(self, threshold: float) -> float:
        """Return the accuracy at a threshold in [0, 1]."""
        step = int(np.searchsorted(self.thresholds, threshold, side="right")) - 1
        return float(self.accuracies[max(step, 0)])

    @property
    def best(self) -> tuple[float, float]:
        """The step of the best accuracy, from where to where; of equals the nearest to 0.5."""
        starts, ends = self.thresholds, np.append(self.thresholds[1:], 1.0)
        away = np.maximum(np.maximum(starts - DEFAULT_THRESHOLD, DEFAULT_THRESHOLD - ends), 0.0)
        away[self.accuracies < np.max(self.accuracies)] = np.inf
        # A step that ends at 0.5 does not hold it; the one that begins there does.
        step = int(np.lexsort((ends <= DEFAULT_THRESHOLD, away))[0])
        return float(starts[step]), float(ends[step])

    @property
    def best_threshold(self) -> float:
        """The threshold to choose: 0.5 if it is among the best, else the middle of ``best``."""
        start, end = self.best
        if start <= DEFAULT_THRESHOLD < end:
            return DEFAULT_THRESHOLD
        middle = start + (end - start) / 2
        return middle if middle < end else start  # the two may be neighbours among floats


def accuracy_by_threshold(p: Array, gold_label: Array) -> AccuracyByThreshold:
    """Return the accuracy at every threshold in [0, 1], Hallucination being where p is greater.

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
    hits, rejections, truth = _correct(p, gold_label)
    with np.errstate(invalid="ignore"):
        return AccuracyByThreshold(_steps(p), (hits + rejections) / np.float64(len(truth)))


def balanced_accuracy_by_threshold(p: Array, gold_label: Array) -> AccuracyByThreshold:
    """Return the balanced accuracy at every threshold; see :func:`accuracy_by_threshold`.

    Returns
    -------
    AccuracyByThreshold
        Of balanced accuracies; ``nan`` throughout if a gold label is missing.

    Examples
    --------
    >>> found = balanced_accuracy_by_threshold(np.array([0.1, 0.2, 0.4]), np.array([0, 1, 0]))
    >>> found.thresholds.tolist(), found.accuracies.tolist(), found.best
    ([0.0, 0.1, 0.2, 0.4], [0.5, 0.75, 0.25, 0.5], (0.1, 0.2))
    """
    hits, rejections, truth = _correct(p, gold_label)
    positives = np.float64(np.count_nonzero(truth))
    with np.errstate(invalid="ignore"):
        shares = hits / positives, rejections / (len(truth) - positives)
    return AccuracyByThreshold(_steps(p), (shares[0] + shares[1]) / 2)


def thresholds_by_task(
    p: Array, truth: NDArray[np.bool_], tasks: NDArray[np.str_]
) -> tuple[float, dict[str, float]]:
    """Return a threshold for all items, and those of tasks that need another.

    A threshold replaces the one before it (0.5 for all items, then that of all for a task) only
    where it labels more items correctly by ``STANDARD_ERRORS``, one being the root of the number of
    items whose label changes.

    Parameters
    ----------
    p : array of float, shape [n]
        Out of fold; thresholds tuned on p that has seen the labels are worth nothing.
    truth : array of bool, shape [n]
        Whether the label is Hallucination.
    tasks : array of str, shape [n]
        Each item's task.

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
    """Return the threshold of ``GRID`` that is best, or the one before if the gain is too small."""
    grid = GRID[np.argsort(np.abs(GRID - before), kind="stable")]  # of equals, the nearest
    correct = ((p > grid[:, None]) == truth).sum(axis=1)
    best = float(grid[int(correct.argmax())])
    changed = int(((p > best) != (p > before)).sum())
    gain = int(correct.max()) - int(((p > before) == truth).sum())
    return best if gain > STANDARD_ERRORS * changed**0.5 else before


def _steps(p: Array) -> Floats:
    """Return the thresholds at which a label changes; by rounding p may lie beyond [0, 1]."""
    return np.unique(np.append(np.clip(np.asarray(p, np.float64), 0.0, 1.0), 0.0))


def _correct(
    p: Array, gold_label: Array
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]]:
    """Return the hallucinations and the others that each threshold labels correctly."""
    truth, thresholds = is_hallucination(gold_label), _steps(p)
    p = np.clip(np.asarray(p, np.float64), 0.0, 1.0)
    hits, misses = np.sort(p[truth]), np.sort(p[~truth])
    flagged_rightly = len(hits) - np.searchsorted(hits, thresholds, side="right")
    return flagged_rightly, np.searchsorted(misses, thresholds, side="right"), truth
