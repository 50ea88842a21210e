"""Resampling: the metric on other samples of the same size.

A resample is a row of integer weights: the number of times that each item was drawn. A metric
scores many rows in one vectorised call. The rows come in chunks that fit into the processor's
cache. They come from one seeded generator, so the same seed always gives the same results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from shroom.metrics.base import Array, Floats, Metric

Interval = tuple[float, float]

#: The most weights in one chunk, unless a single resample is larger.
CHUNK = 1 << 16


def chunks(n: int, count: int, chunk: int = CHUNK) -> Iterator[range]:
    """Yield ``range(count)`` in parts, each of the number of rows of ``n`` that fit a chunk."""
    rows = max(1, chunk // max(n, 1))
    for start in range(0, count, rows):
        yield range(count)[start : start + rows]


def resamples(n: int, count: int, seed: int = 0) -> Iterator[Floats]:
    """Yield ``count`` resamples of ``n`` items with replacement, as chunks of weights [b, n].

    Examples
    --------
    >>> [chunk.sum(axis=1).tolist() for chunk in resamples(5, count=2)]
    [[5.0, 5.0]]
    """
    generator = np.random.default_rng(seed)
    for size in map(len, chunks(n, count)):
        drawn = generator.integers(0, n, size=(size, n))
        drawn += np.arange(size)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def bootstrap(metric: Metric, statistics: Array, count: int = 1000, seed: int = 0) -> Floats:
    """Return the metric on ``count`` resamples of the items.

    Parameters
    ----------
    metric : Metric
        Metric to compute.
    statistics : array, shape [n, k]
        The items' statistics.
    count : int
        Number of resamples.
    seed : int
        Random seed.

    Returns
    -------
    array, shape [count]
        ``nan`` for resamples on which the metric is undefined.
    """
    return np.asarray(joint_bootstrap([(metric, statistics)], count, seed)[0])


def joint_bootstrap(
    scored: Sequence[tuple[Metric, Array]], count: int = 1000, seed: int = 0
) -> Floats:
    """Return scores of several metrics or systems on the same resamples of the same items.

    The rows are paired: subtracting one row from another gives bootstrap scores of their
    difference.

    Parameters
    ----------
    scored : sequence of (Metric, array of shape [n, k])
        Metrics and their statistics of the same items in the same order.
    count, seed : int
        See :func:`bootstrap`.

    Returns
    -------
    array, shape [len(scored), count]
        ``nan`` for resamples on which a metric is undefined.
    """
    n = len(scored[0][1])
    jobs = [
        (metric, [statistics for _, statistics in group])
        for metric, group in groupby(scored, key=lambda pair: pair[0])
    ]
    parts = [
        np.concatenate([metric.scores(systems, weights) for metric, systems in jobs])
        for weights in resamples(n, count, seed)
    ]
    return np.concatenate(parts, axis=1)


def percentile_interval(scores: Array, confidence: float = 0.95) -> Interval | None:
    """Return the percentile interval of bootstrap scores, or ``None`` if all are undefined.

    References
    ----------
    B. Efron and R. Tibshirani (1993), "An Introduction to the Bootstrap", chapter 13.

    Examples
    --------
    >>> import numpy as np
    >>> percentile_interval(np.arange(5.0), confidence=0.5)
    (1.0, 3.0)
    """
    return _quantiles(scores, (1 - confidence) / 2, (1 + confidence) / 2)


def bca_interval(
    scores: Array, value: float, left_out: Array, confidence: float = 0.95
) -> Interval | None:
    """Return the bias-corrected and accelerated interval of bootstrap scores.

    Parameters
    ----------
    scores : array, shape [b]
        The scores of resamples.
    value : float
        The score of the sample.
    left_out : array, shape [n]
        The scores with each item left out in turn; see :func:`jackknife`.
    confidence : float
        In (0, 1).

    Returns
    -------
    tuple of float or None
        ``None`` if no score is defined. If all scores of resamples are on one side of ``value``,
        the correction would be infinite, so the result is the percentile interval.

    References
    ----------
    B. Efron (1987), "Better Bootstrap Confidence Intervals", JASA 82.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([1.0, 2.0, 3.0, 10.0])
    >>> means = np.random.default_rng(0).choice(x, (1000, 4)).mean(axis=1)
    >>> bca_interval(means, 4.0, (x.sum() - x) / 3, confidence=0.9)
    (1.75, 8.0)
    """
    from statistics import NormalDist

    defined = scores[~np.isnan(scores)]
    if not len(defined):
        return None
    below = float(np.mean(defined < value) + np.mean(defined <= value)) / 2
    if not 0 < below < 1:
        return percentile_interval(defined, confidence)
    normal = NormalDist()
    bias = normal.inv_cdf(below)
    gone = left_out[~np.isnan(left_out)]
    deviations = gone.mean() - gone if len(gone) else np.zeros(1)
    spread = float(np.sum(deviations**2)) ** 1.5  # may be 0 by underflow
    acceleration = float(np.sum(deviations**3)) / (6 * spread) if spread else 0.0
    low = normal.inv_cdf((1 - confidence) / 2)
    places = []
    for z in (bias + low, bias - low):
        # Only tiny samples reach the pole of the correction: then the quantile is 0 or 1.
        room = 1 - acceleration * z
        places.append(normal.cdf(bias + z / room) if room > 0 else float(z > 0))
    return _quantiles(defined, *places)


def jackknife(metric: Metric, statistics: Array) -> Floats:
    """Return the metric with each item left out in turn: shape [n].

    Examples
    --------
    >>> import numpy as np
    >>> from shroom.metrics.classification import ACCURACY
    >>> jackknife(ACCURACY, np.array([[1.0], [1.0], [0.0]])).tolist()
    [0.5, 0.5, 1.0]
    """
    n, scores = len(statistics), []
    for items in chunks(n, n):
        weights = np.ones((len(items), n))
        weights[np.arange(len(items)), items] = 0
        scores.append(metric.score(statistics, weights))
    return np.concatenate(scores)


def normal_interval(
    metric: Metric, statistics: Array, value: float, confidence: float = 0.95
) -> Interval:
    """Return the normal interval by the infinitesimal jackknife, within the metric's bounds.

    This method needs no resamples. On large samples, the result agrees with the bootstrap.

    Parameters
    ----------
    metric : Metric
        Metric with an influence.
    statistics : array, shape [n, k]
        The items' statistics.
    value : float
        The score of the items.
    confidence : float
        In (0, 1).
    """
    from statistics import NormalDist

    assert metric.influence is not None  # noqa: S101 - for mypy
    influences = metric.influence(statistics)
    # (1 + confidence) / 2 may round to 1, which has no quantile; (1 - confidence) / 2 is never 0.
    half = -NormalDist().inv_cdf((1 - confidence) / 2) * float(np.sqrt(np.sum(influences**2)))
    return max(metric.bounds[0], value - half), min(metric.bounds[1], value + half)


def _quantiles(scores: Array, low: float, high: float) -> Interval | None:
    defined = np.sort(scores[~np.isnan(scores)])
    if not len(defined):
        return None
    # numpy.quantile does the same, but imports numpy.ma, which takes a tenth of the start-up time.
    places = np.array([low, high]) * (len(defined) - 1)
    first, last = np.interp(places, np.arange(len(defined)), defined).tolist()
    return first, last
