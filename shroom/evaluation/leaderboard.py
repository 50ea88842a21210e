"""A leaderboard: ranks with their intervals, and groups of systems that cannot be distinguished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from shroom.core.paths import Source
from shroom.core.problems import ShroomError, UnknownName, nearest, printable
from shroom.evaluation.board import Board, absent, boards, ranked
from shroom.evaluation.comparison import INTERVALS, indistinguishable
from shroom.evaluation.leaderboard_result import Leaderboard, Row, in_order
from shroom.evaluation.scoring_outputs import (
    are_outputs,
    keys_of,
    output_rows,
    read_outputs,
    tracks_of,
)
from shroom.evaluation.submissions import (
    Invalid,
    by_name,
    checked_systems,
    refuse_all_invalid,
    submissions_in,
)
from shroom.metrics.agreement import Votes
from shroom.metrics.base import Floats, Metric
from shroom.metrics.human_ceiling import CEILING
from shroom.metrics.intervals import Intervals, interval, mean_interval
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import resolve
from shroom.scoring.in_memory import Data, InMemory, Submissions, as_source, is_path
from shroom.scoring.kinds.base import floor_or_reference, kind_of, ranking_metrics
from shroom.scoring.result import joined
from shroom.scoring.slices import share_items, with_unit
from shroom.scoring.tables import Estimate, score_cells
from shroom.scoring.votes import estimated, read_votes


def leaderboard(
    submissions: Source | Submissions,
    gold: Data,
    *,
    metric: str | None = None,
    split: str | None = None,
    intervals: Intervals = INTERVALS,
    trials: int | None = None,
    edition: Edition | Source | None = None,
) -> Leaderboard:
    """Return the ranking of all submissions.

    Parameters
    ----------
    submissions : path, mapping by system, or sequence
        A folder of submissions (see :func:`~shroom.evaluation.submissions.submissions_in`), or
        of scoring outputs, which contain scores but no predictions. In a mapping or sequence,
        each submission is a path, rows or a data frame.
    gold : path, rows or data frame
        Gold that the submissions are scored against.
    metric : str, optional
        Metric of the edition to rank by; by default the first metric.
    split : str, optional
        The split to rank if the gold has several splits.
    intervals : Intervals
        Settings of the intervals for scores and ranks, which use the same resamples.
    trials : int, optional
        Number of trials of each of the tests that form the groups; the default is large enough for
        the correction.
    edition : Edition, str or path, optional
        The shared task; see :func:`shroom.scoring.check.check`.

    Raises
    ------
    ShroomError
        If there is nothing to rank, or if the gold has several splits and no split is chosen.

    Examples
    --------
    >>> from shroom.metrics.intervals import Intervals
    >>> gold = "shroom/sample/val.model-aware.json"
    >>> rows = [{"label": "Hallucination", "p(Hallucination)": 0.9}] * 60
    >>> board = leaderboard({"team7": gold, "all": rows}, gold, intervals=Intervals(100))
    >>> [(row.system, row.rank, row.scores["accuracy"]) for row in board.rows][:2]
    [('team7', 1, 1.0), ('all', 2, 0.4166666666666667)]
    """
    gold = as_source(gold, "gold")
    edition, _ = resolve(edition, gold)
    metrics = ranking(edition, metric)
    if split is not None and split not in edition.split_names:
        names = edition.split_names
        raise UnknownName(
            f"{edition.name} has no split '{printable(split)}';{nearest(split, names)} "
            f"its splits are {', '.join(names)}"
        )
    systems: Mapping[str, Sequence[Source]]
    outputs: Mapping[str, Sequence[Path]] = {}
    others: list[Path] = []
    if is_path(submissions):
        folder, others = submissions_in(submissions, gold, edition)
        outputs = folder if are_outputs(submissions, folder, edition) else {}
        systems = folder
    else:
        systems = {name: [source] for name, source in by_name(submissions, edition).items()}
    if not systems:
        raise ShroomError("there is no submission to rank")
    rows = list[Row]()
    if outputs:
        intervals = Intervals(0)
        tracks = _of_split(tracks_of(gold, edition), split, gold)
        if not tracks:
            of_split = f" for the split {split}" if split else ""
            raise ShroomError(f"{gold}: no labelled data{of_split}")
        rows, invalid = _of_outputs(outputs, tracks, metrics, gold)
    else:
        verdicts, invalid = checked_systems(systems, gold, split, edition)
        tracks = _of_split(boards(verdicts), split, gold)
        intervals = with_unit(intervals, (board.gold for board in tracks), edition)
        for board in tracks:
            rows += _of_systems(board, metrics, intervals, trials)
            rows += _beside(board, metrics, gold, intervals)
        if edition.average and len(tracks) > 1:
            rows += _means(tracks, metrics, intervals, rows)
    return Leaderboard(
        rows,
        invalid,
        tuple(metric.name for metric in metrics),
        tracks[0].name.split,
        joined(board.signature for board in tracks),
        intervals,
        edition.title,
        others,
        {} if outputs else absent(tracks),
        are_outputs=bool(outputs),
        higher_is_better=metrics[0].higher_is_better,
    )


def _of_split(tracks: Sequence[Board], split: str | None, gold: Source) -> list[Board]:
    """Return the tracks of a split, by default of the only one."""
    chosen = [board for board in tracks if split in (None, board.name.split)]
    splits = sorted({board.name.split for board in chosen})
    if len(splits) > 1:
        raise ShroomError(
            f"{gold}: contains gold labels for the splits {' and '.join(splits)}; rank each "
            "separately with --split"
        )
    return chosen


def _of_outputs(
    outputs: Mapping[str, Sequence[Path]],
    tracks: Sequence[Board],
    metrics: Sequence[Metric],
    gold: Source,
) -> tuple[list[Row], list[Invalid]]:
    """Return the rows of outputs, and the outputs without scores."""
    keys = keys_of(tracks, metrics)
    scored, invalid = read_outputs(outputs, keys, tracks[0].edition)
    refuse_all_invalid(invalid, scored)
    parts = output_rows(tracks, scored, keys, metrics)
    for board, part in zip(tracks, parts):
        part.extend(_beside(board, metrics, gold, Intervals(0)))
    return list(chain(*parts)), invalid


def ranking(edition: Edition, first: str | None) -> tuple[Metric, ...]:
    metrics = ranking_metrics(edition)
    names = [metric.name for metric in metrics]
    if first is not None and first not in names:
        raise UnknownName(f"'{printable(first)}': not a ranking metric; use {' or '.join(names)}")
    return tuple(sorted(metrics, key=lambda metric: metric.name != (first or names[0])))


def _of_systems(
    board: Board, metrics: Sequence[Metric], settings: Intervals, trials: int | None
) -> list[Row]:
    drawn, seen = board.resampled(metrics, settings), board.in_sample
    estimates = [dict[str, Estimate]() for _ in seen]
    for shown in ranking_metrics(board.edition):
        for system, (metric, rows) in enumerate(board.scored(shown)):
            value, ci = metric(rows), None
            if drawn:
                ci = interval(metric, rows, value, drawn[shown.name][system], settings)
            estimates[system][shown.name] = Estimate(value, ci, seen[system])
    places = ranked(metrics, board.scores(metrics), drawn, settings.confidence)
    listed = in_order(board.name.track, board.systems, places, estimates, board.gold.n, seen)
    ordered = board.statistics(metrics[0])[[board.systems.index(row.system) for row in listed]]
    tested = indistinguishable(metrics[0], ordered, settings.seed, trials, board.unit)
    return [replace(row, group=it, like_first=same) for row, it, same in zip(listed, *tested)]


def _means(
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

    def mean(scores: Sequence[Mapping[str, Any]]) -> dict[str, Floats]:
        arrays = {it.name: [np.array(own[it.name], float) for own in scores] for it in metrics}
        return {name: np.mean(values, axis=0) for name, values in arrays.items()}

    means = mean([board.scores(metrics) for board in every])
    drawn = mean(resampled) if all(resampled) else {}
    seen = [sum(board.tracks[system].in_sample for board in every) for system in systems]
    estimates = []
    for place, system in enumerate(systems):
        own = [row.estimates for row in rows if row.kind == "system" and row.system == system]
        cells = {}
        for name, scores in means.items():
            values = [it[name].value for it in own]
            ends = [it[name].ci for it in own] if drawn and None not in values else []
            ci = mean_interval([it for it in values if it is not None], ends, share_items=shared)
            value = None if np.isnan(scores[place]) else float(scores[place])
            cells[name] = Estimate(value, ci, seen[place])
        estimates.append(cells)
    track, n = f"mean of {len(tracks)} tracks", sum(board.gold.n for board in tracks)
    places = ranked(metrics, means, drawn, settings.confidence)
    return in_order(track, systems, places, estimates, n, seen)


def _beside(
    board: Board, metrics: Sequence[Metric], gold: Source, settings: Intervals
) -> list[Row]:
    """Return the rows of one annotator, if the gold has votes, and of floors and references."""
    edition, rows = board.edition, dict[str, Mapping[str, Estimate]]()
    if (votes := _votes(board, gold)) is not None:
        ranked_by = (metric.name for metric in ranking_metrics(edition))
        ceilings = {name: CEILING[name] for name in ranked_by if name in CEILING}
        rows["one annotator"] = estimated(ceilings, votes, settings)
    for name, scores in kind_of(edition).floors(board.gold, metrics, edition).items():
        rows[name] = score_cells(scores, {})
    return [
        Row(name, board.name.track, floor_or_reference(name), estimates=cells, n=board.gold.n)
        for name, cells in rows.items()
    ]


def _votes(board: Board, gold: Source) -> Votes | None:
    """Return the annotators' votes on the gold of a board, if it has them."""
    file = board.gold.file
    if board.edition.annotation.kind == "binary":
        is_named = isinstance(gold, InMemory) or not Path(file).is_file()
        with suppress(ShroomError):
            for voted in read_votes(gold if is_named else file, board.edition)[0]:
                if voted.gold.hash == board.gold.hash:
                    return voted.votes[voted.judged]
    return None
