"""Ranks by the mean over tracks, such as languages, for editions that rank so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.evaluation.contest import Contest
from shroom.metrics.base import Metric
from shroom.metrics.bootstrap import percentile_interval
from shroom.metrics.intervals import Interval, Intervals
from shroom.metrics.rank_intervals import rank_intervals, ranks


@dataclass(frozen=True)
class MeanRank:
    """A system's mean scores over all tracks.

    Attributes
    ----------
    system : str
        Its name.
    rank : int
        From 1.
    rank_ci : tuple of int or None
        Its interval.
    scores : dict of float or None
        The mean over tracks by metric; ``None`` where a score of one track is undefined.
    intervals : dict of tuple or None
        By metric.
    n, in_sample : int
        Items of all tracks, and how many of them the system's detector was fitted on.
    """

    system: str
    rank: int
    rank_ci: tuple[int, int] | None
    scores: dict[str, float | None]
    intervals: dict[str, Interval | None]
    n: int
    in_sample: int


def mean_ranks(
    contests: Sequence[Contest], metrics: Sequence[Metric], settings: Intervals
) -> list[MeanRank]:
    """Return the systems that are on every track, ranked by their mean score over the tracks.

    Every track counts alike, whatever its size. Resamples are drawn for each track by itself.

    Parameters
    ----------
    contests : sequence of Contest
        The tracks.
    metrics : sequence of Metric
        The one that ranks, and those that break ties.
    settings : Intervals
        Settings of the intervals, which are percentiles.

    Examples
    --------
    >>> from shroom.evaluation.contest import contests, read
    >>> from shroom.scoring.editions.files import default
    >>> from shroom.scoring.kinds.registry import ranking_metrics
    >>> tracks = contests(read(["shroom/sample"], "shroom/sample")[0])
    >>> mean_ranks(tracks, ranking_metrics(default()), Intervals(0))[0].scores
    {'accuracy': 1.0, 'rho': 1.0}
    """
    systems = [s for s in contests[0].systems if all(s in other.tracks for other in contests)]
    if not systems:
        return []
    means = {metric.name: _mean_scores(contests, systems, metric) for metric in metrics}
    drawn = _mean_resampled(contests, systems, metrics, settings)
    signs = [1 if metric.higher_is_better else -1 for metric in metrics]
    names = [metrics[0].name, metrics[min(1, len(metrics) - 1)].name]
    signs = [signs[0], signs[min(1, len(metrics) - 1)]]
    places = ranks(*(sign * means[name] for sign, name in zip(signs, names))).tolist()
    bounds: list[Any] = [None] * len(systems)
    if drawn:
        first, second = (sign * drawn[name].T for sign, name in zip(signs, names))
        bounds = [tuple(row) for row in rank_intervals(first, second, settings.confidence).tolist()]
    rows = []
    for place, system in enumerate(systems):
        values = {name: _defined(mean[place]) for name, mean in means.items()}
        intervals: dict[str, Interval | None] = {}
        for name in drawn:
            if values[name] is not None:
                intervals[name] = percentile_interval(drawn[name][place], settings.confidence)
        n = sum(contest.gold.n for contest in contests)
        in_sample = sum(contest.tracks[system].in_sample for contest in contests)
        rank_ci = bounds[place]
        rows.append(MeanRank(system, places[place], rank_ci, values, intervals, n, in_sample))
    return sorted(rows, key=lambda row: (row.rank, row.system))


def _mean_scores(
    contests: Sequence[Contest], systems: Sequence[str], metric: Metric
) -> NDArray[np.float64]:
    """Return the mean of each system over the tracks: shape [systems], nan where undefined."""
    scores = [
        [metric.weighted(metric.statistics(*contest.tracks[system].columns)) for system in systems]
        for contest in contests
    ]
    return np.asarray(np.mean(np.array(scores, np.float64), axis=0))


def _mean_resampled(
    contests: Sequence[Contest],
    systems: Sequence[str],
    metrics: Sequence[Metric],
    settings: Intervals,
) -> dict[str, NDArray[np.float64]]:
    """Return the means of resamples, by metric: shape [systems, b]; empty for no intervals."""
    of_tracks = []
    for place, contest in enumerate(contests):
        resampled = contest.resampled(metrics, replace(settings, seed=settings.seed + place))
        if not resampled:
            return {}
        rows = [contest.systems.index(system) for system in systems]
        of_tracks.append({name: scores[rows] for name, scores in resampled.items()})
    return {
        metric.name: np.mean([scores[metric.name] for scores in of_tracks], axis=0)
        for metric in metrics
    }


def _defined(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
