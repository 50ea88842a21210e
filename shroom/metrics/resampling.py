"""Resampling: what a metric would be on other samples of the same size.

A resample is a row of integer weights, how often each item was drawn; a metric scores all rows in
one vectorised call. The rows come in chunks that fit the processor's cache, drawn from one seeded
generator, so that two runs with one seed give the same digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from shroom.metrics.base import Metric

    Floats = NDArray[np.float64]

#: How many weights one chunk holds, at most (unless one resample alone is larger).
CHUNK = 1 << 16


def resamples(n: int, count: int, seed: int = 0) -> Iterator[Floats]:
    """Yield ``count`` resamples of ``n`` items with replacement, as chunks of weights [b, n].

    Examples
    --------
    >>> [chunk.sum(axis=1).tolist() for chunk in resamples(5, count=2)]
    [[5.0, 5.0]]
    """
    generator = np.random.default_rng(seed)
    rows = max(1, CHUNK // max(n, 1))
    for start in range(0, count, rows):
        size = min(rows, count - start)
        drawn = generator.integers(0, n, size=(size, n))
        drawn += np.arange(size)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def bootstrap(metric: Metric, statistics: Floats, count: int = 1000, seed: int = 0) -> Floats:
    """Return the metric on ``count`` resamples of the items.

    Parameters
    ----------
    metric : Metric
        What to compute.
    statistics : array, shape [n, k]
        The items' statistics.
    count : int
        How many resamples.
    seed : int
        Of the generator.

    Returns
    -------
    array, shape [count]
        ``nan`` where the metric is undefined on a resample.
    """
    scores = [metric.score(statistics, chunk) for chunk in resamples(len(statistics), count, seed)]
    return np.concatenate(scores)


def percentile_interval(
    scores: NDArray[Any], confidence: float = 0.95
) -> tuple[float, float] | None:
    """Return the percentile interval of bootstrap scores, or ``None`` where all are undefined.

    Examples
    --------
    >>> import numpy as np
    >>> percentile_interval(np.arange(5.0), confidence=0.5)
    (1.0, 3.0)
    """
    defined = np.sort(scores[~np.isnan(scores)])
    if not len(defined):
        return None
    # numpy.quantile does the same, but loads numpy.ma, a tenth of the whole start-up.
    places = np.array([1 - confidence, 1 + confidence]) / 2 * (len(defined) - 1)
    low, high = np.interp(places, np.arange(len(defined)), defined).tolist()
    return low, high


def normal_interval(
    metric: Metric, statistics: NDArray[Any], value: float, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the normal interval by the infinitesimal jackknife, within the metric's bounds.

    It takes one pass where the bootstrap takes thousands, and agrees with it on large samples.

    Parameters
    ----------
    metric : Metric
        What was computed.
    statistics : array, shape [n, k]
        The items' statistics.
    value : float
        The metric's score of them.
    confidence : float
        In (0, 1).
    """
    from statistics import NormalDist

    influences = metric.influence(statistics)
    half = NormalDist().inv_cdf((1 + confidence) / 2) * float(np.sqrt(np.sum(influences**2)))
    return max(metric.bounds[0], value - half), min(metric.bounds[1], value + half)
