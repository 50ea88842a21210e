"""The rows of a leaderboard: systems, the mean over tracks, floors and references."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from shroom.core.paths import Source
from shroom.core.problems import ShroomError
from shroom.evaluation.board import Board, Rank, ranked
from shroom.evaluation.comparison import indistinguishable
from shroom.evaluation.leaderboard_result import Row
from shroom.metrics.base import Floats, Metric
from shroom.metrics.human_ceiling import CEILING
from shroom.metrics.intervals import Intervals, interval, mean_interval
from shroom.scoring.in_memory import InMemory
from shroom.scoring.kinds.base import floor_or_reference, kind_of, ranking_metrics
from shroom.scoring.slices import share_items
from shroom.scoring.tables import Estimate, score_cells
from shroom.scoring.votes import estimated, read_votes


def of_systems(
    board: Board, metrics: Sequence[Metric], settings: Intervals, trials: int | None
) -> list[Row]:
    """Return the systems' rows in the order of their ranks."""
    drawn, seen = board.resampled(metrics, settings), board.in_sample
    estimates = [dict[str, Estimate]() for _ in seen]
    for shown in ranking_metrics(board.edition):
        for system, (metric, rows) in enumerate(board.scored(shown)):
            value, ci = metric(rows), None
            if drawn:
                ci = interval(metric, rows, value, drawn[shown.name][system], settings)
            estimates[system][shown.name] = Estimate(value, ci, seen[system])
    places = board.ranks(metrics, drawn, settings.confidence)
    listed = in_order(board.name.track, board.systems, places, estimates, board.gold.n, seen)
    ordered = board.statistics(metrics[0])[[board.systems.index(row.system) for row in listed]]
    tested = indistinguishable(metrics[0], ordered, settings.seed, trials, board.unit)
    return [replace(row, group=it, like_first=same) for row, it, same in zip(listed, *tested)]


def in_order(
    track: str,
    systems: Sequence[str],
    places: Sequence[Rank],
    estimates: Sequence[Mapping[str, Estimate]],
    n: int,
    in_sample: Iterable[int] = repeat(0),
) -> list[Row]:
    """Return the rows of systems in the order of their ranks."""
    rows = [
        Row(system, track, "system", *place, own, n=n, in_sample=seen)
        for system, place, own, seen in zip(systems, places, estimates, in_sample)
    ]
    return sorted(rows, key=lambda row: (row.rank, row.system))


def means(
    tracks: Sequence[Board], metrics: Sequence[Metric], settings: Intervals, rows: Sequence[Row]
) -> list[Row]:
    """Return the systems with all tracks, ranked by the unweighted mean of their scores."""
    systems = [s for s in tracks[0].systems if all(s in other.tracks for other in tracks)]
    if not systems:
        return []
    every = [board.chosen(systems) for board in tracks]
    shared = share_items((board.gold for board in tracks), tracks[0].edition)
    resampled = [
        board.resampled(metrics, replace(settings, seed=settings.seed + place * (not shared)))
        for place, board in enumerate(every)
    ]
    mean = _mean([board.scores(metrics) for board in every], metrics)
    drawn = _mean(resampled, metrics) if all(resampled) else {}
    estimates = [dict[str, Estimate]() for _ in systems]
    seen = [sum(board.tracks[system].in_sample for board in every) for system in systems]
    for place, system in enumerate(systems):
        own = [row.estimates for row in rows if row.kind == "system" and row.system == system]
        for name, scores in mean.items():
            values = [cells[name].value for cells in own]
            ends = [cells[name].ci for cells in own] if drawn and None not in values else []
            ci = mean_interval([it for it in values if it is not None], ends, share_items=shared)
            value = None if np.isnan(scores[place]) else float(scores[place])
            estimates[place][name] = Estimate(value, ci, seen[place])
    track, n = f"mean of {len(tracks)} tracks", sum(board.gold.n for board in tracks)
    places = ranked(metrics, mean, drawn, settings.confidence)
    return in_order(track, systems, places, estimates, n, seen)


def _mean(scores: Sequence[Mapping[str, Any]], metrics: Sequence[Metric]) -> dict[str, Floats]:
    """Return the means over tracks, by metric; ``nan`` if a score is undefined."""
    return {
        it.name: np.mean([np.array(own[it.name], np.float64) for own in scores], axis=0)
        for it in metrics
    }


def annotator(board: Board, gold: Source, settings: Intervals) -> list[Row]:
    """Return the row of one annotator, if the gold has the annotators' votes."""
    path, edition = board.gold.file, board.edition
    if edition.annotation.kind != "binary":
        return []
    try:
        named_gold = isinstance(gold, InMemory) or not Path(path).is_file()
        voted, _ = read_votes(gold if named_gold else path, edition)
    except ShroomError:
        return []
    same = board.gold.hash
    votes = next((file.votes[file.judged] for file in voted if file.gold.hash == same), None)
    if votes is None:
        return []
    names = [metric.name for metric in ranking_metrics(edition) if metric.name in CEILING]
    figures = estimated({name: CEILING[name] for name in names}, votes, settings)
    return [Row("one annotator", board.name.track, "reference", estimates=figures, n=board.gold.n)]


def floors(board: Board, metrics: Sequence[Metric]) -> list[Row]:
    """Return the rows of floors, and of gold labels used as p."""
    track, n = board.name.track, board.gold.n
    floors = kind_of(board.edition).floors(board.gold, metrics, board.edition)
    return [
        Row(name, track, floor_or_reference(name), estimates=score_cells(scores, {}), n=n)
        for name, scores in floors.items()
    ]
