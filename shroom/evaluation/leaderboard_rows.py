"""The rows of a leaderboard: the mean over tracks, and what needs no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.paths import Source
from shroom.core.problems import ShroomError
from shroom.evaluation.contest import Contest
from shroom.evaluation.leaderboard_result import Row
from shroom.metrics.base import Metric
from shroom.metrics.human_ceiling import CEILING
from shroom.metrics.intervals import Interval, Intervals, mean_interval
from shroom.metrics.rank_intervals import by_rank, rank_intervals, ranks
from shroom.scoring.in_memory import InMemory
from shroom.scoring.kinds.registry import kind_of, ranking_metrics
from shroom.scoring.signature import gold_hash
from shroom.scoring.units import share_items
from shroom.scoring.vote_estimates import estimated
from shroom.scoring.votes import read_votes


def means(
    contests: Sequence[Contest],
    metrics: Sequence[Metric],
    settings: Intervals,
    of_tracks: Sequence[Row],
) -> list[Row]:
    """Return the systems that are on every track, ranked by their mean score over the tracks.

    Every track counts alike, whatever its size. Resamples are drawn for each track by itself,
    unless tracks have items in common.

    Parameters
    ----------
    contests : sequence of Contest
        The tracks.
    metrics : sequence of Metric
        The one that ranks, and those that break ties.
    settings : Intervals
        Settings of the intervals of ranks.
    of_tracks : sequence of Row
        The systems' rows on the tracks, from whose intervals those of the means follow.

    Examples
    --------
    >>> from shroom.evaluation.contest import contests, read
    >>> from shroom.scoring.editions.files import default
    >>> from shroom.scoring.kinds.registry import ranking_metrics
    >>> tracks = contests(read(["shroom/sample"], "shroom/sample")[0])
    >>> means(tracks, ranking_metrics(default()), Intervals(0), [])[0].scores
    {'accuracy': 1.0, 'rho': 1.0}
    """
    systems = [s for s in contests[0].systems if all(s in other.tracks for other in contests)]
    if not systems:
        return []
    shared = share_items((contest.gold for contest in contests), contests[0].edition)
    mean = {metric.name: _mean_scores(contests, systems, metric) for metric in metrics}
    drawn = _mean_resampled(contests, systems, metrics, settings, shared=shared)
    places = ranks(*by_rank(metrics, mean)).tolist()
    bounds: list[Any] = [None] * len(systems)
    if drawn:
        of_ranks = rank_intervals(*by_rank(metrics, drawn), settings.confidence)
        bounds = [tuple(row) for row in of_ranks.tolist()]
    rows = []
    for place, system in enumerate(systems):
        values = {name: _defined(scores[place]) for name, scores in mean.items()}
        own = [row for row in of_tracks if row.kind == "system" and row.system == system]
        intervals: dict[str, Interval | None] = {}
        for name in drawn:
            scores = [value for row in own if (value := row.scores[name]) is not None]
            if len(scores) == len(own):
                ends = [row.intervals.get(name) for row in own]
                intervals[name] = mean_interval(scores, ends, share_items=shared)
        rows.append(
            Row(
                system,
                f"mean of {len(contests)} tracks",
                "system",
                places[place],
                bounds[place],
                values,
                intervals,
                n=sum(contest.gold.n for contest in contests),
                in_sample=sum(contest.tracks[system].in_sample for contest in contests),
            )
        )
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
    *,
    shared: bool,
) -> dict[str, NDArray[np.float64]]:
    """Return the means of resamples, by metric: shape [systems, b]; empty for no intervals."""
    of_tracks = []
    for place, contest in enumerate(contests):
        seed = settings.seed + place * (not shared)
        resampled = contest.resampled(metrics, replace(settings, seed=seed))
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


def annotator(contest: Contest, gold: Source, settings: Intervals) -> list[Row]:
    """Return the row of what one annotator scores, where the gold has the annotators' votes."""
    path, edition = contest.gold.file, contest.edition
    if edition.annotation.kind != "binary":
        return []
    try:
        named_gold = isinstance(gold, InMemory) or not Path(path).is_file()
        voted, _ = read_votes(gold if named_gold else path, edition)
    except ShroomError:
        return []
    same = gold_hash(contest.gold)
    votes = next((file.votes[file.judged] for file in voted if gold_hash(file.gold) == same), None)
    if votes is None:
        return []
    names = [metric.name for metric in ranking_metrics(edition) if metric.name in CEILING]
    figures = estimated({name: CEILING[name] for name in names}, votes, settings)
    return [
        Row(
            "one annotator",
            contest.name.track,
            "ceiling",
            scores={name: figure.value for name, figure in figures.items()},
            intervals={name: figure.ci for name, figure in figures.items()},
            n=contest.gold.n,
        )
    ]


def floors(contest: Contest, metrics: Sequence[Metric]) -> list[Row]:
    """Return the rows of what needs no model."""
    return [
        Row(
            name,
            contest.name.track,
            "ceiling" if name == "gold label as p" else "floor",
            scores=scores,
            n=contest.gold.n,
        )
        for name, scores in kind_of(contest.edition)
        .floors(contest.gold, metrics, contest.edition)
        .items()
    ]
