"""Thresholds for each task, chosen so that chance differences do not move them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Where nothing speaks for another.
USUAL = 0.5
#: How many standard errors a threshold must gain. Among ninety that are tried, one gains two by
#: chance in every sixth data set, and two and a half in every twentieth.
STANDARD_ERRORS = 2.5
#: The thresholds that are tried.
GRID = np.round(np.arange(0.05, 0.951, 0.01), 2)


def tuned(
    p: NDArray[np.float64], truth: NDArray[np.bool_], tasks: NDArray[np.str_]
) -> tuple[float, dict[str, float]]:
    """Return a threshold for all datapoints, and those of tasks that want another.

    A threshold must earn its place: it replaces the one before it (0.5 for all of them, then that
    of all for a task) only where it gets more right by ``STANDARD_ERRORS``, one being the root of
    the number of datapoints on which the two labellings differ.

    Parameters
    ----------
    p : array of float, shape [n]
        Out of fold; thresholds tuned on p that has seen the labels are worth nothing.
    truth : array of bool, shape [n]
        Whether the label is Hallucination.
    tasks : array of str, shape [n]
        Each datapoint's task.

    Examples
    --------
    >>> p = np.repeat([0.1, 0.3, 0.4, 0.8], 50)
    >>> tasks = np.repeat("DM", 200)
    >>> tuned(p, p > 0.5, tasks)
    (0.5, {})
    >>> tuned(p, p > 0.35, tasks)
    (0.39, {})
    """
    common = _better(p, truth, USUAL)
    own = {}
    for task in sorted(set(tasks.tolist())):
        here = tasks == task
        chosen = _better(p[here], truth[here], common)
        if chosen != common:
            own[task] = chosen
    return common, own


def _better(p: NDArray[np.float64], truth: NDArray[np.bool_], before: float) -> float:
    """Return the threshold that gets most right, or the one before where it does not earn it."""
    grid = GRID[np.argsort(np.abs(GRID - before), kind="stable")]  # of equals, the nearest
    right = ((p > grid[:, None]) == truth).sum(axis=1)
    best = float(grid[int(right.argmax())])
    changed = int(((p > best) != (p > before)).sum())
    gain = int(right.max()) - int(((p > before) == truth).sum())
    return best if gain > STANDARD_ERRORS * changed**0.5 else before
