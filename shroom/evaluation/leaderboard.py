"""A leaderboard: ranks with their intervals, and groups of systems that cannot be distinguished.

Systems are ranked by the metrics of the edition: the first one ranks, the next breaks ties. The
interval of a rank comes from resampling the items for all systems at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shroom.core.paths import Source
from shroom.core.problems import ShroomError, UnknownName, nearest, printable
from shroom.evaluation.comparison import INTERVALS, indistinguishable
from shroom.evaluation.contest import Contest, absent, by_name, contests
from shroom.evaluation.leaderboard_result import Leaderboard, Row
from shroom.evaluation.leaderboard_rows import annotator, floors, means
from shroom.evaluation.scoring_outputs import (
    are_outputs,
    columns_of,
    output_rows,
    read_outputs,
    rows_by_column,
    tracks_of,
)
from shroom.evaluation.submission_folder import checked_systems, submissions_in
from shroom.metrics.base import Metric
from shroom.metrics.intervals import Interval, Intervals, interval
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import resolve
from shroom.scoring.in_memory import Data, Submissions, as_source, is_path
from shroom.scoring.kinds.registry import ranking_metrics
from shroom.scoring.signature import joined
from shroom.scoring.units import with_unit


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
    """Return the ranks of all submissions.

    Parameters
    ----------
    submissions : path, mapping by system, or sequence
        A folder of submissions (see
        :func:`~shroom.evaluation.submission_folder.submissions_in`), or of outputs of the scoring
        program, which have scores and no intervals; or several submissions, each a path, rows or
        a data frame.
    gold : path, rows or data frame
        Gold that the submissions are scored against.
    metric : str, optional
        Another one of the edition's metrics than the first, to rank by.
    split : str, optional
        The split to rank, where the gold has several.
    intervals : Intervals
        Settings of the intervals; those of ranks use the same resamples.
    trials : int, optional
        Number of exchanges in each test that forms the groups; by default as many as the
        correction needs.
    edition : Edition, str or path, optional
        The shared task; see :func:`shroom.scoring.check.check`.

    Raises
    ------
    ShroomError
        If there is nothing to rank, or several splits would be ranked as one.

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
        names_of = edition.split_names
        raise UnknownName(
            f"no split '{printable(split)}' of {edition.name};{nearest(split, names_of)} there are "
            f"{', '.join(names_of)}"
        )
    names = tuple(metric.name for metric in metrics)
    systems: Mapping[str, Sequence[Source]]
    if is_path(submissions):
        folder, others = submissions_in(submissions, gold, edition)
        if are_outputs(submissions, folder):
            return _of_outputs(folder, others, gold, metrics, split, edition)
        systems = folder
    else:
        systems, others = {name: [it] for name, it in by_name(submissions, edition).items()}, []
        if not systems:
            raise ShroomError("there is no submission to rank")
    verdicts, invalid = checked_systems(systems, gold, split, edition)
    boards = [contest for contest in contests(verdicts) if split in (None, contest.name.split)]
    only = _only_split(boards, gold)
    if not boards:
        return Leaderboard([], invalid, names, split or "", "", intervals, edition.title, others)
    intervals = with_unit(intervals, (contest.gold for contest in boards), edition)
    rows = [
        row
        for contest in boards
        for row in (
            *_ranked(contest, metrics, intervals, trials),
            *annotator(contest, gold, intervals),
            *floors(contest, metrics),
        )
    ]
    if edition.average and len(boards) > 1:
        rows += means(boards, metrics, intervals, rows)
    of_tracks = joined(contest.signature for contest in boards)
    return Leaderboard(
        rows,
        invalid,
        names,
        only,
        of_tracks,
        intervals,
        edition.title,
        others,
        absent(boards),
    )


def _only_split(tracks: Sequence[Contest], gold: Source) -> str:
    """Return the split of all tracks; empty for no track. Several splits are refused."""
    splits = sorted({contest.name.split for contest in tracks})
    if len(splits) > 1:
        raise ShroomError(
            f"{gold}: has gold for {' and '.join(splits)}, which cannot be ranked together; choose "
            f"one with --split"
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
    """Return the ranks of outputs of the scoring program, with what has no model beside them."""
    tracks = [it for it in tracks_of(gold, edition) if split in (None, it.name.split)]
    if not tracks:
        raise ShroomError(f"{gold}: has no labelled data{f' of {split}' if split else ''}")
    only, none = _only_split(tracks, gold), Intervals(0)
    columns = columns_of(tracks, metrics)
    scored, invalid = read_outputs(systems, columns, edition)
    names, rows = tuple(metric.name for metric in metrics), list[Row]()
    shown = {(column.track, column.metric) for column in columns}
    if all((contest.name.track, names[0]) in shown for contest in tracks):
        for contest, of_systems in output_rows(tracks, scored, metrics):
            rows += of_systems
            if contest is not None:
                rows += (*annotator(contest, gold, none), *floors(contest, metrics))
    elif metrics != ranking_metrics(edition):
        raise ShroomError(f"the edition's columns do not have {names[0]} of every track")
    else:
        names, rows = rows_by_column(tracks, scored, columns)
    listed = rows if scored else []
    return Leaderboard(
        listed, invalid, names, only, "", none, edition.title, others, are_outputs=True
    )


def ranking(edition: Edition, first: str | None) -> tuple[Metric, ...]:
    """Return the ranking metrics of an edition, another one first if it is named."""
    metrics = ranking_metrics(edition)
    names = [metric.name for metric in metrics]
    if first is not None and first not in names:
        raise UnknownName(f"'{printable(first)}': systems are ranked by {' or by '.join(names)}")
    return tuple(sorted(metrics, key=lambda metric: metric.name != (first or names[0])))


def _ranked(
    contest: Contest, metrics: tuple[Metric, ...], settings: Intervals, trials: int | None
) -> list[Row]:
    """Return the systems' rows in the order of their ranks."""
    scored = {metric.name: contest.scored(metric) for metric in ranking_metrics(contest.edition)}
    resampled = contest.resampled(metrics, settings)
    placed = contest.ranks(metrics, resampled, settings.confidence)

    def scores(system: int) -> dict[str, Any]:
        values: dict[str, float | None] = {}
        bounds: dict[str, Interval | None] = {}
        for name, pairs in scored.items():
            metric, rows = pairs[system]
            values[name] = value = metric(rows)
            if value is not None and resampled:
                bounds[name] = interval(metric, rows, value, resampled[name][system], settings)
        return {"scores": values, "intervals": bounds}

    order = sorted(range(len(placed)), key=lambda i: (placed[i][0], contest.systems[i]))
    statistics = contest.statistics(metrics[0])
    ordered = [statistics[i] for i in order]
    group = indistinguishable(metrics[0], ordered, settings.seed, trials, contest.unit)
    return [
        Row(
            contest.systems[system],
            contest.name.track,
            "system",
            *placed[system],
            **scores(system),
            group=int(group[place]),
            n=contest.gold.n,
            in_sample=contest.tracks[contest.systems[system]].in_sample,
        )
        for place, system in enumerate(order)
    ]
