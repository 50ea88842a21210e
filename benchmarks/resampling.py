"""The benchmark measures the time to compute bootstrap intervals for 1500 made-up items.

The peer is `scipy.stats.bootstrap`. For rho, it calls `spearmanr` once for each resample; the last
row shows a vectorised rho instead. The peer computes fewer resamples than the kit, so its time is
multiplied accordingly. The intervals must agree to within four Monte Carlo standard errors.
"""

from __future__ import annotations

import math
import sys
import time
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.stats
from run import check, figure, main, progress

from shroom.metrics.bootstrap import bootstrap, percentile_interval
from shroom.metrics.classification import ACCURACY
from shroom.metrics.correlation import RHO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Array = NDArray[Any]

SCIPY, VECTORISED = "scipy.stats", "scipy.stats, vectorised"
#: How many resamples scipy gets, at most, for what it does one by one, and for a vectorised rho.
FEWER, SOME = 300, 1000


def measure(
    items: int = 1500, resamples: int = 10_000, repeats: int = 3
) -> Iterator[dict[str, Any]]:
    """Yield the best seconds of each metric beside each peer."""
    label, p, gold_label, gold_p = made_items(items)
    for metric, peers in (
        (ACCURACY, [(SCIPY, (label == gold_label,), mean, resamples)]),
        (RHO, [(SCIPY, (p, gold_p), spearman, FEWER), (VECTORISED, (p, gold_p), ranked, SOME)]),
    ):
        progress(f"{metric.name}: {resamples} resamples")

        def by_kit(metric: Any = metric) -> Array:
            # The statistics (for rho, the sorting) are part of the work.
            rows = metric.statistics(label, p, gold_label, gold_p)
            return bootstrap(metric, rows, resamples)

        seconds, scores = timed(by_kit, repeats)
        interval = percentile_interval(scores, 0.95)
        for name, data, statistic, most in peers:
            count = min(most, resamples)
            progress(f"{metric.name}: {name}, {count} resamples")
            taken, found = timed(bootstrap_of(data, statistic, count), repeats)
            off = apart(interval, found.confidence_interval, np.nanstd(scores), resamples, count)
            check(off <= 4, f"{metric.name}: the interval of {name} differs by {off:.1f} errors")
            work = f"{resamples:,} resamples of {metric.name}"
            yield figure(work, seconds, taken * resamples / count, name)


def made_items(n: int) -> tuple[Array, Array, Array, Array]:
    """Return label, p, gold label and gold p; five annotators vote, and p knows a part of it."""
    generator = np.random.default_rng(0)
    leaning = generator.beta(0.8, 1.0, n)
    gold_p = generator.binomial(5, leaning) / 5
    p = np.round((leaning + generator.random(n)) / 2, 6)
    return (p > 0.5).astype(np.int8), p, (gold_p > 0.5).astype(np.int8), gold_p


def timed(work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Return the best time of some runs, and the result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def bootstrap_of(data: tuple[Array, ...], statistic: Any, count: int) -> Callable[[], Any]:
    """Return scipy's bootstrap of a statistic, vectorised if that has an axis."""
    return lambda: scipy.stats.bootstrap(
        data,
        statistic,
        paired=True,
        n_resamples=count,
        method="percentile",
        batch=1000,
        random_state=np.random.default_rng(1),
    )


def mean(values: Array, axis: int = -1) -> Array:
    """Return the mean along an axis."""
    return np.asarray(np.mean(values, axis=axis))


def spearman(x: Array, y: Array) -> float:
    """Return Spearman's rho of two rows, as scipy's users compute it."""
    return float(scipy.stats.spearmanr(x, y).correlation)


def ranked(x: Array, y: Array, axis: int = -1) -> Array:
    """Return Spearman's rho along an axis."""
    return pearson(*(scipy.stats.rankdata(side, axis=axis) for side in (x, y)), axis)


def pearson(x: Array, y: Array, axis: int = -1) -> Array:
    """Return Pearson's correlation along an axis."""
    dx, dy = (side - side.mean(axis=axis, keepdims=True) for side in (x, y))
    squares = np.sum(dx * dx, axis=axis) * np.sum(dy * dy, axis=axis)
    return np.asarray(np.sum(dx * dy, axis=axis) / np.sqrt(squares))


def apart(ours: Any, theirs: Any, spread: float, *counts: int) -> float:
    """Return how far two intervals are apart, in Monte-Carlo standard errors of an end.

    The q-quantile of B draws has the standard error sqrt(q (1 - q) / B) / density(q); the density
    is taken as normal, with the spread of the resamples.
    """
    q = 0.025
    density = NormalDist().pdf(NormalDist().inv_cdf(q)) / spread
    error = math.sqrt(sum(q * (1 - q) / count for count in counts)) / density
    return max(abs(a - b) for a, b in zip(ours, theirs)) / error


if __name__ == "__main__":
    sys.exit(main("resampling"))
