"""Rescoring with another gold: differences are paired, because resamples are shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from shroom.core.paths import Source
from shroom.core.printing import counted
from shroom.evaluation.board import ranked
from shroom.evaluation.comparison import INTERVALS
from shroom.evaluation.leaderboard import ranking
from shroom.evaluation.submissions import Invalid, refused
from shroom.evaluation.two_golds import TwoGolds, submissions_of, two_golds
from shroom.evaluation.verdicts import of_rescoring
from shroom.metrics.base import Metric
from shroom.metrics.bootstrap import percentile_interval
from shroom.metrics.intervals import Interval, Intervals, resampled_interval
from shroom.metrics.rank_intervals import by_rank, ranks
from shroom.scoring.display.text import confidence, doubts, drawn, footnote, starred
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import resolve
from shroom.scoring.kinds.base import with_ranking_metrics
from shroom.scoring.result import Result, joined
from shroom.scoring.slices import with_unit
from shroom.scoring.tables import ROSE, Estimate, Row, Table

#: The parts of a rank and of each score in a record.
_PARTS = ("old", "new", "change", "change_low", "change_high")
_RANK = "rank"


@dataclass(frozen=True)
class Change:
    """A score or a rank with both golds; the difference is new minus old."""

    old: float | None
    new: float | None
    difference: float | None
    ci: Interval | None

    def cells(self, name: str) -> tuple[Estimate, ...]:
        """Return the cells of a rank, which rises if it becomes smaller, or of a score."""
        difference, ci = self.difference, self.ci
        if name != _RANK:
            return Estimate(self.old), Estimate(self.new), Estimate(difference, ci, form="↕.3f")
        rise = None if difference is None else -difference
        rises = Estimate(rise, ci and (-ci[1], -ci[0]), form=ROSE)
        return (*(Estimate(place, form=".0f") for place in (self.old, self.new)), rises)


@dataclass(frozen=True)
class Rescored:
    """A system on one track with both golds: its rank, and its scores by metric."""

    system: str
    rank: Change
    scores: dict[str, Change]
    in_sample: int = 0

    @property
    def changes(self) -> dict[str, Change]:
        return {_RANK: self.rank, **self.scores}

    @property
    def changed(self) -> bool:
        return any(it.old != it.new for it in self.changes.values())

    @property
    def is_clear(self) -> bool:
        """Whether the interval of the change in rank does not contain 0."""
        ci = self.rank.ci
        return ci is not None and (ci[0] > 0 or ci[1] < 0)

    def record(self) -> dict[str, Any]:
        record: dict[str, Any] = {"system": self.system}
        for name, it in self.changes.items():
            values = (it.old, it.new, it.difference, *(it.ci or (None, None)))
            record |= zip((f"{name}_{part}" for part in _PARTS), values)
        return record


@dataclass(frozen=True)
class TrackChange:
    """The changes on one track; systems are in the order of their new ranks."""

    split: str
    track: str
    old_n: int
    new_n: int
    common_n: int
    systems: list[Rescored]
    old_signature: str
    new_signature: str

    def __repr__(self) -> str:
        return f"TrackChange({self.title}: {self.moved})"

    @property
    def title(self) -> str:
        return f"{self.split} {self.track}".strip()

    @property
    def moved(self) -> str:
        moved = sum(bool(row.rank.difference) for row in self.systems)
        return f"{moved} of {len(self.systems)} ranks {'changes' if moved == 1 else 'change'}"

    @property
    def changed(self) -> list[Rescored]:
        return [row for row in self.systems if row.changed]

    def table(self, ci: str) -> Table:
        """Return the systems that change; ``ci`` is the head of the intervals."""
        rows, heads = list[Row](), ["system"]
        for name in self.systems[0].changes if self.changed else ():
            heads += [f"{name}\nold", "new", "change"]
        for row in self.changed:
            cells = (cell for name, it in row.changes.items() for cell in it.cells(name))
            rows.append((starred(row.system, row.in_sample), *cells))
        same = len(self.systems) - len(rows)
        notes = [f"not shown: {counted(same, 'system')} without any change"] if same else []
        notes += footnote((row.system, row.in_sample, self.old_n) for row in self.changed)
        notes += doubts(
            (f"{row.system}, {name}", change.ci)
            for row in self.changed
            for name, change in row.scores.items()
        )
        items = f"n = {self.old_n} old, {self.new_n} new, {self.common_n} in both"
        return Table(f"{self.title}: {self.moved} ({items})", heads, rows, notes, ci)


@dataclass(frozen=True, repr=False)
class Rescoring(Result):
    """The changes on all tracks, ranked by ``metric``; ``invalid`` submissions have errors."""

    tracks: list[TrackChange]
    invalid: list[Invalid]
    metric: str
    intervals: Intervals
    keys = ("tracks", "invalid", "metric", "**settings")
    heading = "Scores with the old and the new gold"

    def __repr__(self) -> str:
        parts = (f"{track.title}: {track.moved}" for track in self.tracks)
        return f"Rescoring({'; '.join(parts)})"

    @property
    def verdict(self) -> str:
        """Whether anything changes, and which ranks change significantly."""
        return of_rescoring(self)

    def page_tables(self) -> list[Table]:
        return [replace(table, below=True) for table in self.tables()]

    def tables(self) -> list[Table]:
        how = self.intervals
        text = f"Ranked by {self.metric}. ↑: a higher score or a better rank with the new gold."
        if how.resamples:
            text += f" {confidence(how)}s: paired percentile, {drawn(how, 'the items')} in the "
            text += f"old and the new gold, seed {how.seed}."
        old = joined(track.old_signature for track in self.tracks)
        new = joined(track.new_signature for track in self.tracks)
        return [
            *(track.table(confidence(how)) for track in self.tracks),
            refused("not rescored", self.invalid),
            Table(notes=[text, f"old: {old}", f"new: {new}"]),
        ]

    def records(self) -> list[dict[str, Any]]:
        return [
            {"split": track.split, "track": track.track, **system.record()}
            for track in self.tracks
            for system in track.systems
        ]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the intervals, which are all percentile intervals."""
        return self.intervals.to_dict(paired=True)


def rescore(
    old: Source,
    new: Source,
    submissions: Sequence[Source],
    *,
    metric: str | None = None,
    metrics: Sequence[Metric | str] = (),
    intervals: Intervals = INTERVALS,
    edition: Edition | Source | None = None,
) -> Rescoring:
    """Return every system's scores and ranks with two golds.

    Parameters
    ----------
    old, new : path
        The golds. Items are matched by id if both golds have ids, otherwise by order.
    submissions : sequence of path
        Files, folders or zips with one submission each, or one folder of submissions as for a
        leaderboard.
    metric : str, optional
        Metric of the edition to rank by, by default the first metric. Another metric breaks ties.
    metrics : sequence of Metric or str
        Further metrics to report.
    intervals : Intervals
        Settings of the intervals, which are percentile intervals.
    edition : Edition, str or path, optional
        The shared task; by default the edition of the old gold.

    Raises
    ------
    InvalidInput
        If all submissions have errors; the exception contains all problems.
    ShroomError
        If the golds have no track in common, or their items cannot be matched.

    Examples
    --------
    >>> gold = "shroom/sample/val.model-aware.json"
    >>> same = rescore(gold, gold, [gold], intervals=Intervals(100)).tracks[0]
    >>> same.common_n, same.systems[0].scores["accuracy"].difference
    (60, 0.0)
    """
    edition, _ = resolve(edition, old)
    usual = ranking(edition, metric)
    computed = tuple(dict.fromkeys((*usual, *with_ranking_metrics(edition, metrics))))
    golds, invalid = two_golds(submissions_of(submissions, edition), old, new, edition)
    intervals = with_unit(intervals, (pair.old.gold for pair in golds), edition)
    tracks = [_track_change(pair, computed, usual, intervals) for pair in golds]
    return Rescoring(tracks, invalid, usual[0].name, intervals)


def _track_change(
    golds: TwoGolds, metrics: Sequence[Metric], usual: Sequence[Metric], settings: Intervals
) -> TrackChange:
    old, new = golds.old, golds.new
    values: list[dict[str, Any]] = []
    for board in (old, new):
        scores = board.scores(metrics)
        values.append({_RANK: [place for place, _ in ranked(usual, scores)], **scores})
    moved = _moved(golds, metrics, usual, settings)

    def change(name: str, system: int) -> Change:
        one, other = (own[name][system] for own in values)
        if one is None or other is None:
            return Change(one, other, None, None)
        ends = percentile_interval if name == _RANK else resampled_interval
        ci = ends(moved[name][system], settings.confidence) if moved else None
        return Change(one, other, other - one, ci)

    systems = []
    for place, system in enumerate(old.systems):
        changes = {name: change(name, place) for name in values[0]}
        systems.append(Rescored(system, changes.pop(_RANK), changes, old.in_sample[place]))
    systems.sort(key=lambda row: (row.rank.new, row.rank.old, row.system))
    sizes = (old.gold.n, new.gold.n, old.gold.n + new.gold.n - golds.n)
    return TrackChange(
        old.name.split, old.name.track, *sizes, systems, old.signature, new.signature
    )


def _moved(
    golds: TwoGolds, metrics: Sequence[Metric], usual: Sequence[Metric], settings: Intervals
) -> dict[str, Any]:
    """Return the changes of ranks and scores on the same resamples, by name: [systems, b]."""
    unit = golds.unit
    old, new = (
        board.resampled(metrics, settings, unit[items], int(unit.max()) + 1)
        for board, items in ((golds.old, golds.old_items), (golds.new, golds.new_items))
    )
    if not (old and new):
        return {}
    by_old, by_new = (ranks(*by_rank(usual, drawn)) for drawn in (old, new))
    return {_RANK: (by_new - by_old).T, **{name: new[name] - old[name] for name in new}}
