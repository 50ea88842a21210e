"""A leaderboard as values and as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from shroom.evaluation.submission_folder import Invalid, refused
from shroom.metrics.intervals import Interval, Intervals
from shroom.scoring.display.text import confidence, doubts, drawn, footnote, methods, starred
from shroom.scoring.result import Result
from shroom.scoring.results import flat
from shroom.scoring.tables import Beside, Estimate, Table, plain_cells, score_cells
from shroom.scoring.tables import Row as Cells


@dataclass(frozen=True)
class Row:
    """A system's place on one track, or what a system without a model, or a person, would score.

    Attributes
    ----------
    system, track, kind : str
        The kind is ``system``, ``floor`` or ``ceiling``.
    rank : int or None
        From 1; ``None`` for a floor or ceiling.
    rank_ci : tuple of int or None
        Its interval.
    scores : dict of float or None
        By metric; ``None`` where undefined.
    intervals : dict of tuple or None
        By metric.
    group : int or None
        Systems of one group cannot be distinguished from the first of them.
    n, in_sample : int
        The number of items, and how many of them the system's detector was fitted on.
    """

    system: str
    track: str
    kind: str
    rank: int | None = None
    rank_ci: tuple[int, int] | None = None
    scores: Mapping[str, float | None] = field(default_factory=dict)
    intervals: Mapping[str, Interval | None] = field(default_factory=dict)
    group: int | None = None
    n: int = 0
    in_sample: int = 0

    @property
    def estimates(self) -> dict[str, Estimate]:
        """The scores with their intervals."""
        return score_cells(self.scores, self.intervals, self.in_sample)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for json: each metric, and its interval with ``_ci``."""
        values: dict[str, Any] = {}
        for key, value in asdict(self).items():
            if key == "scores":
                for metric in self.scores:
                    ci = self.intervals.get(metric)
                    values |= flat({metric: self.scores[metric]}, {metric: ci})
            elif key != "intervals":
                values[key] = value
        return values


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
    keys_of_none = (
        *("system", "track", "kind", "rank", "rank_low", "rank_high"),
        *("group", "n", "in_sample"),
    )

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
            scores = {name: row.estimates.get(name, Estimate(None)) for name in self.columns}
            ranks = plain_cells({"rank": Estimate(row.rank, row.rank_ci)})
            del ranks["rank_note"]  # a rank has none
            place = {"system": row.system, "track": row.track, "kind": row.kind, **ranks}
            counts = {"group": row.group, "n": row.n, "in_sample": row.in_sample}
            records.append({**place, **plain_cells(scores), **counts})
        return records

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
