"""Paired tests: whether two systems differ on the same items by more than chance.

Both systems label the same items, so the tests compare them item by item. A test that ignores the
pairing is far weaker, and the separate intervals of the two scores say little about the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.base import Array, Exchange, Floats, Metric
from shroom.metrics.bootstrap import chunks

#: Differences closer than this are equal, because sums in another order differ by rounding.
_SAME = 1e-12
#: Matrix products are faster with larger chunks than :mod:`~shroom.metrics.bootstrap` uses.
_CHUNK = 1 << 19


def randomisation(
    metric: Metric,
    systems: Sequence[Array],
    pairs: Sequence[tuple[int, int]],
    trials: int = 10_000,
    seed: int = 0,
    unit: NDArray[np.intp] | None = None,
) -> Floats:
    """Return two-sided p-values of the paired approximate randomisation test.

    If two systems are equally good, it makes no difference if their predictions for an item are
    exchanged. Each trial exchanges the predictions for a random half of the items. The p-value is
    the share of trials in which the systems differ at least as much as in the sample. The sample
    itself counts as one trial.

    Parameters
    ----------
    metric : Metric
        The metric. The attribute ``exchange`` defines what is exchanged. If it is ``None``, rows of
        the statistics are exchanged, which takes far longer. These rows must be comparable across
        systems.
    systems : sequence of array, shape [n, k]
        Each system's statistics of the same items in the same order.
    pairs : sequence of (int, int)
        The systems to compare.
    trials : int
        Number of trials; the smallest possible p is ``1 / (trials + 1)``.
    seed : int
        Random seed. All pairs are tested on the same exchanges.
    unit : array of int, shape [n], optional
        The unit of each item, in [0, g). All items of a unit are exchanged together, because they
        are not independent.

    Returns
    -------
    array, shape [len(pairs)]
        In (0, 1]; ``nan`` if a system's score is undefined.

    References
    ----------
    E. Noreen (1989), "Computer-Intensive Methods for Testing Hypotheses"; A. Yeh (2000), "More
    accurate tests for the statistical significance of result differences".

    Examples
    --------
    >>> from shroom.metrics.classification import ACCURACY
    >>> good, poor = np.ones((20, 1)), np.tile([[1.0], [0.0]], (10, 1))
    >>> randomisation(ACCURACY, [good, poor], [(0, 1), (0, 0)]).round(3).tolist()
    [0.002, 1.0]
    """
    n = len(systems[0])
    side = np.array(pairs, np.intp).reshape(-1, 2).T
    if metric.exchange is not None:
        tried = _by_sums(metric.exchange, systems, side[0], side[1])
    else:
        tried = _by_weights(metric, systems, side[0], side[1])
    observed = np.abs(tried(np.zeros((1, n)))[0])
    generator = np.random.default_rng(seed)
    count = np.zeros(len(pairs))
    units = n if unit is None else int(unit.max()) + 1
    for size in map(len, chunks(n, trials, _CHUNK)):
        exchanged = generator.integers(0, 2, size=(size, units), dtype=np.int8).astype(np.float64)
        exchanged = exchanged if unit is None else exchanged[:, unit]
        # A trial with an undefined score counts as one with a larger difference.
        count += np.sum(~(np.abs(tried(exchanged)) < observed - _SAME), axis=0)
    return np.where(np.isnan(observed), np.nan, (count + 1) / (trials + 1))


def _by_sums(
    exchange: Exchange, systems: Sequence[Array], first: NDArray[np.intp], second: NDArray[np.intp]
) -> Callable[[Floats], Floats]:
    """Return a function from exchanges [b, n] of 0 and 1 to the pairs' differences [b, pairs]."""
    n, count = len(systems[0]), len(systems)
    terms = np.concatenate([exchange.terms(statistics) for statistics in systems], axis=1)
    totals = terms.sum(axis=0).reshape(count, -1)

    def differences(exchanged: Floats) -> Floats:
        # One product for all systems; a pair exchanges the difference of its rows.
        part = (exchanged @ terms).reshape(len(exchanged), count, -1)
        moved = part[:, second] - part[:, first]
        of_first = exchange.score(totals[first] + moved, n)
        return of_first - exchange.score(totals[second] - moved, n)

    return differences


def _by_weights(
    metric: Metric, systems: Sequence[Array], first: NDArray[np.intp], second: NDArray[np.intp]
) -> Callable[[Floats], Floats]:
    """Do as :func:`_by_sums` for any metric: weights select half of both systems' items."""

    def differences(exchanged: Floats) -> Floats:
        of_first = np.hstack((1 - exchanged, exchanged))
        of_second = np.hstack((exchanged, 1 - exchanged))
        rows = []
        for a, b in zip(first, second):
            both = np.concatenate((systems[a], systems[b]))
            rows.append(metric.score(both, of_first) - metric.score(both, of_second))
        return np.asarray(rows).reshape(len(first), len(exchanged)).T

    return differences


def mcnemar(correct: Array, other: Array) -> tuple[float, int, int]:
    """Return the two-sided p-value of McNemar's exact test and its two counts.

    Parameters
    ----------
    correct, other : array of bool, shape [n]
        Whether each of the two systems is right on each item.

    Returns
    -------
    p : float
        In (0, 1]; 1.0 if the systems are right on the same items.
    only_first, only_second : int
        The numbers of items on which only the first or only the second system is right.

    References
    ----------
    Q. McNemar (1947), "Note on the sampling error of the difference between correlated proportions
    or percentages".

    Examples
    --------
    >>> first, second = np.arange(12) < 10, np.arange(12) < 4
    >>> p, only_first, only_second = mcnemar(first, second)
    >>> round(p, 12), only_first, only_second
    (0.03125, 6, 0)
    """
    here = int(np.sum(np.greater(correct, other)))
    there = int(np.sum(np.less(correct, other)))
    return _binomial_p(min(here, there), here + there), here, there


def _binomial_p(least: int, n: int) -> float:
    """Return the two-sided binomial p-value of ``least`` heads or fewer among n fair coins."""
    # The binomial coefficients are computed relative to the largest one, so that none overflows;
    # coefficients that underflow do not change the sum.
    heads = np.arange(n // 2, 0, -1, dtype=np.float64)
    relative = np.concatenate(([1.0], np.cumprod(heads / (n - heads + 1))))  # n // 2, ..., 1, 0
    everything = 2 * relative.sum() - (n % 2 == 0)
    p = 2 * relative[n // 2 - least :].sum() / everything
    return float(np.clip(p, np.finfo(np.float64).tiny, 1.0))


def holm(p: Array | Sequence[float]) -> Floats:
    """Return p-values corrected for multiple comparisons by Holm's method.

    Call a pair different if its corrected p-value is at most 0.05. The probability that this is
    wrong for at least one pair is then at most 0.05, whatever the true differences are. Undefined
    p-values (``nan``) stay undefined and are not counted as tests.

    References
    ----------
    S. Holm (1979), "A simple sequentially rejective multiple test procedure".

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, np.float64)
    adjusted = np.full(len(values), np.nan)
    order = np.argsort(values, kind="stable")[: int(np.sum(~np.isnan(values)))]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * values[order]))
    return adjusted


def detectable_difference(standard_error: float, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the smallest difference that a two-sided test detects with the given power.

    Parameters
    ----------
    standard_error : float
        Standard error of the difference between the two systems.
    alpha : float
        Significance level of the test, in (0, 1).
    power : float
        Probability of detecting a difference of that size, in (0, 1).

    Examples
    --------
    >>> round(detectable_difference(0.01), 4)
    0.028
    """
    from statistics import NormalDist

    normal = NormalDist()
    return (normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)) * standard_error
