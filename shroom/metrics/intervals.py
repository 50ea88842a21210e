"""Scores with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from shroom.metrics.base import Array, Metric
from shroom.metrics.bootstrap import (
    bca_interval,
    jackknife,
    joint_bootstrap,
    normal_interval,
    percentile_interval,
)

Interval = tuple[float, float]
Scored = Sequence[tuple[Metric, Array]]

#: With more items than these the interval is computed from influences instead, in one pass.
MAX_ITEMS = 5000
#: How an interval can be made of resamples.
METHODS = ("percentile", "bca")


@dataclass(frozen=True)
class Intervals:
    """The way in which intervals are made: by bootstrap over all items, with replacement.

    Attributes
    ----------
    resamples : int
        How many; 0 for no intervals.
    seed : int
        Of the generator.
    confidence : float
        In (0, 1).
    method : str
        ``percentile``, or ``bca``: bias-corrected and accelerated.
    """

    resamples: int = 1000
    seed: int = 0
    confidence: float = 0.95
    method: str = "percentile"

    def to_dict(self) -> dict[str, Any]:
        """Return them for json, under ``intervals``: nothing where there are none."""
        return {"intervals": vars(self)} if self.resamples else {}


#: A thousand percentile resamples, and none at all.
USUAL, NO_INTERVALS = Intervals(), Intervals(0)


def estimates(
    scored: Scored, how: Intervals
) -> tuple[dict[str, float | None], dict[str, Interval | None]]:
    """Return each metric's score and interval.

    Parameters
    ----------
    scored : sequence of (Metric, array of shape [n, k])
        The metrics, and the statistics of the same items.
    how : Intervals
        How to make intervals.

    Returns
    -------
    scores : dict of float or None
        By metric; ``None`` where it is undefined.
    intervals : dict of tuple or None
        By metric; ``None`` where none was asked for, the score is undefined, or n is below 2.
    """
    scores = {metric.name: metric(statistics) for metric, statistics in scored}
    intervals: dict[str, Interval | None] = dict.fromkeys(scores)
    if not how.resamples:
        return scores, intervals
    rest: list[tuple[Metric, Array, float]] = []
    for metric, statistics in scored:
        value, n = scores[metric.name], len(statistics)
        if value is None or n < 2:
            continue
        if n > MAX_ITEMS and metric.influence is not None:
            intervals[metric.name] = normal_interval(metric, statistics, value, how.confidence)
        else:
            rest.append((metric, statistics, value))
    if rest:
        rows = joint_bootstrap([each[:2] for each in rest], how.resamples, how.seed)
        for (metric, statistics, value), row in zip(rest, rows):
            intervals[metric.name] = interval(metric, statistics, value, row, how)
    return scores, intervals


def interval(
    metric: Metric, statistics: Array, value: float, row: Array, how: Intervals
) -> Interval | None:
    """Return the interval of a metric from its scores on resamples.

    Parameters
    ----------
    metric : Metric
        What was computed.
    statistics : array, shape [n, k]
        Of which items.
    value : float
        Their score.
    row : array, shape [b]
        The scores of resamples.
    how : Intervals
        The method and the confidence.
    """
    if how.method == "bca":
        return bca_interval(row, value, jackknife(metric, statistics), how.confidence)
    return percentile_interval(row, how.confidence)
