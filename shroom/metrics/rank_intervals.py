"""Ranks of systems, intervals of ranks, and groups of systems that cannot be distinguished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.base import Metric


def ranks(scores: NDArray[np.float64], ties: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the rank of each system, from 1: one plus the number of better systems.

    Parameters
    ----------
    scores : array, shape [..., systems]
        Scores to rank by, higher is better; ``nan`` is worst.
    ties : array, shape [..., systems]
        Scores that break ties.

    Returns
    -------
    array of int, shape [..., systems]
        Systems with the same scores share a rank, and the next ranks are skipped.

    Examples
    --------
    >>> ranks(np.array([0.7, 0.8, 0.7, 0.7]), np.array([0.4, 0.1, 0.5, 0.4])).tolist()
    [3, 1, 2, 3]
    """
    first, second = (np.where(np.isnan(side), -np.inf, side) for side in (scores, ties))
    places = np.ones(first.shape, np.int64)
    for system in range(first.shape[-1]):  # one by one, because all pairs may need much memory
        own, own_tie = first[..., [system]], second[..., [system]]
        better = (first > own) | ((first == own) & (second > own_tie))
        places[..., system] += better.sum(axis=-1)
    return places


def by_rank(
    metrics: Sequence[Metric], scores: Mapping[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the scores to rank by and the scores that break ties, for :func:`ranks`.

    Parameters
    ----------
    metrics : sequence of Metric
        Systems are ranked by the first metric; the second metric, if there is one, breaks ties.
    scores : mapping of str to array, shape [systems] or [systems, b]
        Scores by name of the metric.
    """
    first, second = (
        (1 if metric.higher_is_better else -1) * np.array(scores[metric.name], np.float64).T
        for metric in (metrics[0], metrics[min(1, len(metrics) - 1)])
    )
    return first, second


def rank_intervals(
    scores: NDArray[np.float64], ties: NDArray[np.float64], confidence: float = 0.95
) -> NDArray[np.int64]:
    """Return the percentile interval of the rank of each system over resamples.

    Parameters
    ----------
    scores, ties : array, shape [b, systems]
        Scores as in :func:`ranks`, on the same resamples for all systems.
    confidence : float
        In (0, 1).

    Returns
    -------
    array of int, shape [systems, 2]
        First and last rank of the interval, which contains at least ``confidence`` of the ranks.

    Examples
    --------
    >>> scores = np.array([[0.9, 0.8], [0.7, 0.8], [0.9, 0.8], [0.9, 0.8]])
    >>> rank_intervals(scores, scores).tolist()
    [[1, 2], [1, 2]]
    """
    count = len(scores)
    ordered = np.sort(ranks(scores, ties), axis=0)
    outside = int(np.floor(count * (1 - confidence) / 2))
    return np.column_stack((ordered[outside], ordered[count - 1 - outside]))


def groups(p: NDArray[np.float64], alpha: float = 0.05) -> NDArray[np.int64]:
    """Return the number of each system's group, from 1.

    The first group begins with the best system. The first of the following systems that differs
    significantly from the best system begins the next group, and so on.

    Parameters
    ----------
    p : array, shape [systems, systems]
        Corrected p-values of the pairs; the systems are in the order of their ranks.
    alpha : float
        Significance level.

    Examples
    --------
    >>> groups(np.array([[1.0, 0.2, 0.01], [0.2, 1.0, 0.3], [0.01, 0.3, 1.0]])).tolist()
    [1, 1, 2]
    """
    numbers = np.ones(len(p), np.int64)
    opener = 0
    for system in range(1, len(p)):
        differs = p[opener, system] <= alpha
        opener = system if differs else opener
        numbers[system] = numbers[system - 1] + differs
    return numbers
