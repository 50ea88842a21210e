"""A leaderboard: ranks with their intervals, and groups of systems that cannot be distinguished.

Systems are ranked by the metrics of the edition: the first one ranks, the next breaks ties. The
interval of a rank comes from resampling the items for all systems at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from shroom.core.paths import Source
from shroom.core.problems import ShroomError, UnknownName, nearest, printable
from shroom.evaluation.comparison import INTERVALS, indistinguishable
from shroom.evaluation.contest import Contest, absent, by_name, contests
from shroom.evaluation.leaderboard_rows import Row, annotator, floors, means
from shroom.evaluation.scoring_outputs import (
    are_outputs,
    columns_of,
    output_rows,
    read_outputs,
    rows_by_column,
    tracks_of,
)
from shroom.evaluation.submission_folder import Invalid, checked_systems, refused, submissions_in
from shroom.metrics.base import Metric
from shroom.metrics.intervals import Interval, Intervals, interval
from shroom.scoring.display.text import confidence, doubts, drawn, footnote, methods, starred
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import named
from shroom.scoring.in_memory import Data, Submissions, as_source, is_path
from shroom.scoring.kinds.registry import ranking_metrics
from shroom.scoring.result import Result, bounds
from shroom.scoring.signature import joined
from shroom.scoring.tables import Beside, Estimate, Table
from shroom.scoring.tables import Row as Cells
from shroom.scoring.units import with_unit


@dataclass(frozen=True, repr=False)
class Leaderboard(Result):
    """The rows of all tracks, and what could not be ranked.

    Attributes
    ----------
    rows : list of Row
        Track by track: systems in the order of their ranks, then ceilings and floors.
    invalid : list of Invalid
        The submissions with errors.
    metrics : tuple of str
        Those of the ranking: the first one ranks, the next breaks ties.
    split, signature : str
        Signature of the scores; empty for outputs of the scoring program.
    intervals : Intervals
        Settings of the intervals.
    title : str
        Title of the edition.
    others : list of path
        Other files in the folder.
    absent : dict of list of str
        The systems without a file for a track, by track; only tracks that some system lacks.
    are_outputs : bool
        Whether the scores are those of outputs of the scoring program, without predictions.
    """

    rows: list[Row]
    invalid: list[Invalid]
    metrics: tuple[str, ...]
    split: str
    signature: str
    intervals: Intervals
    title: str = ""
    others: list[Path] = field(default_factory=list)
    absent: dict[str, list[str]] = field(default_factory=dict)
    are_outputs: bool = False
    panels_by = "shroom.report.result_plots:of_leaderboard"

    def __repr__(self) -> str:
        systems = {row.system for row in self.rows if row.kind == "system"}
        count = f"{len(systems)} {'system' if len(systems) == 1 else 'systems'}"
        ranked = f"{count} by {self.metrics[0]}"
        invalid = f"{len(self.invalid)} invalid" if self.invalid else ""
        return f"Leaderboard({', '.join(filter(None, [self.split, ranked, invalid]))})"

    @property
    def heading(self) -> str:
        """The heading of its page."""
        return f"{self.title} leaderboard {self.split}".strip()

    @property
    def tracks(self) -> dict[str, list[Row]]:
        """The rows of each track, by its title."""
        tracks: dict[str, list[Row]] = {}
        for row in self.rows:
            tracks.setdefault(f"{self.split} {row.track}".strip(), []).append(row)
        return tracks

    def tables(self) -> list[Table]:
        """Return the ranks of each track, the submissions with errors, and how to read them."""
        tables = [
            Table(
                title,
                ("system", ("rank", "ranks"), "group", *self.columns),
                [self._cells(row) for row in rows],
                self._notes(rows),
                confidence(self.intervals),
                sort="rank",
                groups="group",
            )
            for title, rows in self.tracks.items()
        ]
        how = [self.explanation, self.signature] if self.rows else []
        return [*tables, refused("not ranked", self.invalid), Table(notes=[*filter(None, how)])]

    def _cells(self, row: Row) -> Cells:
        """Return the cells of a row, with stars where figures are in-sample."""
        star, is_system = row.in_sample, row.kind == "system"
        cells = (
            starred(row.system, star) if is_system else f"({row.kind}: {row.system})",
            "" if row.rank is None else Estimate(row.rank, row.rank_ci, star, "d"),
            "" if row.group is None else row.group,
            *(row.estimates.get(it, "") for it in self.columns),
        )
        return cells if is_system else Beside(cells)

    def _notes(self, rows: Sequence[Row]) -> list[str]:
        cases = ((row.system, row.in_sample, row.n) for row in rows)
        unclear = ((f"{row.system}, {it}", ci) for row in rows for it, ci in row.intervals.items())
        absent = ", ".join(self.absent.get(rows[0].track, []))
        listed = [f"no file for this track: {absent}"] if absent else []
        return [*footnote(cases, ", so its rank says little"), *doubts(unclear), *listed]

    @property
    def explanation(self) -> str:
        """An explanation of the ranks, in a few sentences."""
        ties = f", ties by {self.metrics[1]}" if len(self.metrics) > 1 else ""
        text = f"Ranked by {self.metrics[0]}{ties}. "
        if self.are_outputs:
            return text + (
                "The scores are those of the scoring program's outputs. Without predictions there "
                "are no intervals and no groups, and a track that was not handed in has the score "
                "that the program writes for it."
            )
        how = self.intervals
        if how.resamples:
            text += (
                f"Intervals: {methods(how)}, {drawn(how, 'the items')}, the same for all systems, "
                f"seed {how.seed}. "
            )
        if any(row.kind == "system" and row.scores.get("rho", 0) is None for row in self.rows):
            text += "rho is undefined (–) where p or the gold is the same on all items. "
        return text + (
            "Group: systems that a paired randomisation test, corrected by Holm's method, cannot "
            f"distinguish from the group's first by {self.metrics[0]}."
        )

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each system, floor and ceiling of each track."""
        records = []
        for row in self.rows:
            plain = row.to_dict()
            for name in ("rank", *self.columns):
                plain.setdefault(name, None)
                plain |= bounds(name, plain.pop(f"{name}_ci", None))
                plain.pop(f"{name}_ci_note", None)
            del plain["rank_note"]  # a rank has none
            records.append(plain)
        heads = list(records[0]) if records else []
        return [{head: record[head] for head in heads} for record in records]

    @property
    def columns(self) -> list[str]:
        """The metrics in the order in which they are shown, whichever of them ranks."""
        return list(next((row.scores for row in self.rows if row.kind == "system"), {}))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for json."""
        return {
            "metric": self.metrics[0],
            "split": self.split,
            "rows": [row.to_dict() for row in self.rows],
            "invalid": [asdict(entry) for entry in self.invalid],
            "absent": self.absent,
            "signature": self.signature,
            **self.intervals.to_dict(),
        }


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
    edition = named(edition, gold)
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
