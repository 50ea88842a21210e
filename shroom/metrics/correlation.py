"""Spearman's rank correlation of a sample and of many resamples, by the same code.

In a resample, an item that was drawn ``w`` times counts as ``w`` equal items. Its average rank is
``before + (tied + 1) / 2``, where ``before`` and ``tied`` are the total weights of the smaller and
of the equal values. Twice its deviation from the mean rank, ``2 * before + tied - total``, is a
whole number. Up to about 200,000 items, all sums are therefore exact in any order of summation, and
the result is the same on every machine.

Values are sorted only once, into levels 0, 1, 2, …; a resample or a slice only sums the weights of
each level.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.base import SCORE, Array, Exchange, Floats, metric_of


def rho(x: Array, y: Array, weights: Array | None = None) -> float:
    """Return Spearman's rank correlation of ``x`` and ``y``; tied values get their average rank.

    Only the order of p matters, and ties lower rho. If a system uses its labels (0 or 1) as p, rho
    is far below 1 even if every label is right; the row *gold label as p* in the output of ``shroom
    score`` shows this limit. The result equals ``scipy.stats.spearmanr(x, y)`` to the last digit.

    Parameters
    ----------
    x, y : array, shape [n]
        Numbers without ``nan``.
    weights : array of int, shape [n], optional
        Weight of each item; 1 by default.

    Returns
    -------
    float
        In [-1, 1]; ``nan`` if ``x`` or ``y`` is constant, or if there are fewer than two items.

    References
    ----------
    C. Spearman (1904), "The proof and measurement of association between two things".

    Examples
    --------
    >>> import numpy as np
    >>> rho(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0.0, 0.2, 0.6, 1.0]))
    0.9486832980505139
    """
    return RHO.weighted(_levels(x, y), weights)


def levels(x: Array) -> NDArray[np.int64]:
    """Return the position of each value among the distinct values, from 0."""
    order = np.argsort(x)
    ranked = np.asarray(x)[order]
    rises = np.concatenate(([0], ranked[1:] != ranked[:-1]))[: len(ranked)]
    places = np.empty(len(ranked), np.int64)
    places[order] = np.cumsum(rises)
    return places


def twice_ranks(level: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``2 * rank - 1`` of each item, given its :func:`levels`: whole numbers from 1."""
    counts = np.bincount(level)
    return np.asarray((2 * np.cumsum(counts) - counts)[level])


def _influence(statistics: NDArray[np.int64]) -> Floats:
    """Return the derivative of rho with respect to each item's weight."""
    # B. Efron (1982), "The Jackknife, the Bootstrap and Other Resampling Plans", section 6.3.
    levels_x, levels_y = statistics.T
    ones = np.ones((1, len(levels_x)))
    dx, dy = _deviations(levels_x, ones)[0], _deviations(levels_y, ones)[0]
    sxx, syy, sxy = np.sum(dx * dx), np.sum(dy * dy), np.sum(dx * dy)
    with np.errstate(invalid="ignore", divide="ignore"):
        # The weight of item i adds its own term, and shifts the rank of item j by sign(x_j - x_i).
        by_weight = dx * dy + _signed_sums(levels_x, dy) + _signed_sums(levels_y, dx)
        by_weight_x = dx * dx + 2 * _signed_sums(levels_x, dx)
        by_weight_y = dy * dy + 2 * _signed_sums(levels_y, dy)
        value = sxy / np.sqrt(sxx) / np.sqrt(syy)
        slope = by_weight / np.sqrt(sxx) / np.sqrt(syy)
        return np.asarray(slope - value * (by_weight_x / sxx + by_weight_y / syy) / 2)


def _signed_sums(level: NDArray[np.int64], values: Floats) -> Floats:
    """Return for each item the sum of ``values`` at higher levels minus that at lower levels."""
    sums = np.bincount(level, weights=values)
    through = np.cumsum(sums)
    return np.take(through[-1] - 2 * through + sums, level)


def _deviations(level: NDArray[np.int64], weights: Floats) -> Floats:
    """Return twice each item's deviation from the mean rank, shape [b, n]."""
    rows, size = len(weights), int(level.max()) + 1
    place = level + size * np.arange(rows)[:, None]
    tied = np.bincount(place.ravel(), weights.ravel(), rows * size).reshape(rows, size)
    deviations = 2 * np.cumsum(tied, axis=1)
    deviations -= tied
    deviations -= weights.sum(axis=1, keepdims=True)
    return np.asarray(np.take(deviations.ravel(), place))


def _rhos(systems: Sequence[NDArray[np.int64]], weights: Floats) -> Floats:
    """Return rho of several systems; systems in a row with the same gold have it ranked once."""
    rhos = np.full((len(systems), len(weights)), np.nan)
    gold: NDArray[np.int64] | None = None
    for place, statistics in enumerate(systems):
        if len(statistics) == 0:
            continue
        if gold is None or not np.array_equal(gold, statistics[:, 1]):
            gold = statistics[:, 1]
            dy = _deviations(gold, weights)
            wdy = weights * dy
            syy = np.einsum("bi,bi->b", wdy, dy)
        dx = _deviations(statistics[:, 0], weights)
        sxy, sxx = np.einsum("bi,bi->b", wdy, dx), np.einsum("bi,bi,bi->b", weights, dx, dx)
        # The operations of numpy.corrcoef in the same order, so that the last digit is the same.
        with np.errstate(invalid="ignore", divide="ignore"):
            scale = np.true_divide(1, weights.sum(axis=1) - 1)
            cov, var_x, var_y = (total / 4 * scale for total in (sxy, sxx, syy))
            rhos[place] = np.clip(cov / np.sqrt(var_y) / np.sqrt(var_x), -1, 1)
    return rhos


def _levels(x: Array, y: Array) -> NDArray[np.int64]:
    return np.column_stack((levels(x), levels(y)))


def _rank_terms(statistics: NDArray[np.int64]) -> Floats:
    """Return the contribution of each item to the sums of rho, in whole numbers."""
    ones = np.ones((1, len(statistics)))
    dx = _deviations(statistics[:, 0], ones)[0]
    dy = _deviations(statistics[:, 1], ones)[0]
    return np.column_stack((dx, dx * dx, dx * dy, dy * dy))


def _rho_of_sums(sums: Floats, n: int) -> Floats:
    x, xx, xy, yy = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        # The gold's deviations add up to 0, whatever is exchanged.
        value = xy / np.sqrt((xx - x * x / n) * yy)
    return np.asarray(np.clip(value, -1, 1))


#: Spearman's rho of p(Hallucination) with the annotators' proportion.
RHO = metric_of(
    "rho",
    _levels,
    lambda statistics, weights: np.asarray(_rhos([statistics], weights)[0]),
    (-1.0, 1.0),
    ("p", "gold_p"),
    influence=_influence,
    # The systems exchange ranks, not p, because their p may be on different scales.
    exchange=Exchange(_rank_terms, _rho_of_sums),
    joint=_rhos,
    about="Spearman's correlation of p with the share of votes for Hallucination",
    formula="Pearson's correlation of rank(p) and rank(gold p)",
    undefined="if p or the gold's p is constant, or there are fewer than two items",
    reference="C. Spearman (1904), The proof and measurement of association between two things",
    function="shroom.metrics.correlation:rho",
    command=SCORE,
)
