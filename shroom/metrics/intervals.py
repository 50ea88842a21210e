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

#: With more items, the interval is computed from influences instead, in one pass.
MAX_ITEMS = 5000
#: Methods of computing an interval from resamples.
METHODS = ("percentile", "bca")


@dataclass(frozen=True)
class Intervals:
    """The way in which intervals are made: by bootstrap over all items, with replacement.

    Attributes
    ----------
    resamples : int
        How many; 0 for no intervals.
    seed : int
        Seed of the random generator.
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
DEFAULT_INTERVALS, NO_INTERVALS = Intervals(), Intervals(0)


def estimates(
    scored: Scored, settings: Intervals
) -> tuple[dict[str, float | None], dict[str, Interval | None]]:
    """Return each metric's score and interval.

    Parameters
    ----------
    scored : sequence of (Metric, array of shape [n, k])
        The metrics, and the statistics of the same items.
    settings : Intervals
        Settings of the intervals.

    Returns
    -------
    scores : dict of float or None
        By metric; ``None`` where it is undefined.
    intervals : dict of tuple or None
        By metric; ``None`` where none was asked for, the score is undefined, or n is below 2.
    """
    scores = {metric.name: metric(statistics) for metric, statistics in scored}
    intervals: dict[str, Interval | None] = dict.fromkeys(scores)
    if not settings.resamples:
        return scores, intervals
    rest: list[tuple[Metric, Array, float]] = []
    for metric, statistics in scored:
        value, n = scores[metric.name], len(statistics)
        if value is None or n < 2:
            continue
        if n > MAX_ITEMS and metric.influence is not None:
            intervals[metric.name] = normal_interval(metric, statistics, value, settings.confidence)
        else:
            rest.append((metric, statistics, value))
    if rest:
        rows = joint_bootstrap([entry[:2] for entry in rest], settings.resamples, settings.seed)
        for (metric, statistics, value), row in zip(rest, rows):
            intervals[metric.name] = interval(metric, statistics, value, row, settings)
    return scores, intervals


def interval(
    metric: Metric, statistics: Array, value: float, row: Array, settings: Intervals
) -> Interval | None:
    """Return the interval of a metric from its scores on resamples.

    Parameters
    ----------
    metric : Metric
        The metric.
    statistics : array, shape [n, k]
        Statistics of the items.
    value : float
        Their score.
    row : array, shape [b]
        The scores of resamples.
    settings : Intervals
        The method and the confidence.
    """
    if settings.method == "bca":
        return bca_interval(row, value, jackknife(metric, statistics), settings.confidence)
    return percentile_interval(row, settings.confidence)
