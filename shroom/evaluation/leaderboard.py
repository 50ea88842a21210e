"""A leaderboard: ranks with their intervals, and groups of systems that cannot be distinguished."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from shroom.core.paths import Source
from shroom.core.problems import ShroomError, UnknownName, nearest, printable
from shroom.evaluation.board import Board, absent, boards
from shroom.evaluation.comparison import INTERVALS
from shroom.evaluation.leaderboard_result import Leaderboard, Row
from shroom.evaluation.leaderboard_rows import annotator, floors, means, of_systems
from shroom.evaluation.scoring_outputs import (
    are_outputs,
    columns_of,
    output_rows,
    read_outputs,
    rows_by_column,
    tracks_of,
)
from shroom.evaluation.submissions import by_name, checked_systems, submissions_in
from shroom.metrics.base import Metric
from shroom.metrics.intervals import Intervals
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import resolve
from shroom.scoring.in_memory import Data, Submissions, as_source, is_path
from shroom.scoring.kinds.base import ranking_metrics
from shroom.scoring.result import joined
from shroom.scoring.slices import with_unit


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
        Number of trials of each test that forms the groups; by default large enough for the
        correction.
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
    others: list[Path] = []
    if is_path(submissions):
        folder, others = submissions_in(submissions, gold, edition)
        if are_outputs(submissions, folder):
            return _of_outputs(folder, others, gold, metrics, split, edition)
        systems = folder
    else:
        systems = {name: [source] for name, source in by_name(submissions, edition).items()}
        if not systems:
            raise ShroomError("there is no submission to rank")
    verdicts, invalid = checked_systems(systems, gold, split, edition)
    tracks = [board for board in boards(verdicts) if split in (None, board.name.split)]
    only = _only_split(tracks, gold) or split or ""
    intervals = with_unit(intervals, (board.gold for board in tracks), edition)
    rows = [
        row
        for board in tracks
        for row in (
            *of_systems(board, metrics, intervals, trials),
            *annotator(board, gold, intervals),
            *floors(board, metrics),
        )
    ]
    if edition.average and len(tracks) > 1:
        rows += means(tracks, metrics, intervals, rows)
    return Leaderboard(
        rows,
        invalid,
        tuple(metric.name for metric in metrics),
        only,
        joined(board.signature for board in tracks),
        intervals,
        edition.title,
        others,
        absent(tracks),
        higher_is_better=metrics[0].higher_is_better,
        trials=trials,
    )


def _only_split(tracks: Sequence[Board], gold: Source) -> str:
    """Return the only split of the tracks, empty without tracks; raise if there are several."""
    splits = sorted({board.name.split for board in tracks})
    if len(splits) > 1:
        raise ShroomError(
            f"{gold}: contains gold labels for the splits {' and '.join(splits)}, which cannot be "
            "ranked together; choose a split with --split"
        )
    return splits[0] if splits else ""


def _of_outputs(
    systems: Mapping[str, Sequence[Path]],
    others: list[Path],
    gold: Source,
    metrics: tuple[Metric, ...],
    split: str | None,
    edition: Edition,
) -> Leaderboard:
    """Return the ranks of outputs of the scoring program, with floors and references."""
    tracks = [it for it in tracks_of(gold, edition) if split in (None, it.name.split)]
    if not tracks:
        raise ShroomError(f"{gold}: no labelled data{f' for the split {split}' if split else ''}")
    only, none = _only_split(tracks, gold), Intervals(0)
    columns = columns_of(tracks, metrics)
    scored, invalid = read_outputs(systems, columns, edition)
    names, rows = tuple(metric.name for metric in metrics), list[Row]()
    shown = {(column.track, column.metric) for column in columns}
    if all((board.name.track, names[0]) in shown for board in tracks):
        for board, listed in output_rows(tracks, scored, metrics):
            rows += listed
            if board is not None:
                rows += (*annotator(board, gold, none), *floors(board, metrics))
    elif metrics != ranking_metrics(edition):
        raise ShroomError(
            f"the scoring outputs do not contain {names[0]} for every track; choose another metric "
            "with --metric"
        )
    else:
        names, rows = rows_by_column(tracks, scored, columns)
    return Leaderboard(
        rows if scored else [],
        invalid,
        names,
        only,
        "",
        none,
        edition.title,
        others,
        are_outputs=True,
        higher_is_better=metrics[0].higher_is_better,
    )


def ranking(edition: Edition, first: str | None) -> tuple[Metric, ...]:
    """Return the ranking metrics of an edition; a named metric comes first."""
    metrics = ranking_metrics(edition)
    names = [metric.name for metric in metrics]
    if first is not None and first not in names:
        raise UnknownName(f"'{printable(first)}': not a ranking metric; use {' or '.join(names)}")
    return tuple(sorted(metrics, key=lambda metric: metric.name != (first or names[0])))
