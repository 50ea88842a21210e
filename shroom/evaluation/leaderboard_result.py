"""A leaderboard as values and as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

from shroom.core.printing import counted
from shroom.evaluation.board import Rank
from shroom.evaluation.submissions import Invalid, refused
from shroom.evaluation.verdicts import of_leaderboard
from shroom.metrics.intervals import Intervals
from shroom.scoring.display.text import confidence, doubts, drawn, footnote, methods, starred
from shroom.scoring.result import Result, Scored
from shroom.scoring.tables import Beside, Estimate, Table
from shroom.scoring.tables import Row as Cells

#: The keys of a row around its rank and its scores.
_PLACE, _COUNTS = ("system", "track", "kind"), ("group", "n", "in_sample")
#: Words in its tables.
_TERMS = {
    "rho": "rank correlation of predicted p with gold p",
    "floor": "a trivial system that ignores the texts",
    "reference": "a score computed from the annotations",
}


@dataclass(frozen=True)
class Row(Scored):
    """The place of a system on one track, or the scores of a floor or a reference."""

    system: str
    track: str
    kind: str
    rank: int | None = None
    rank_ci: tuple[int, int] | None = None
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    group: int | None = None
    n: int = 0
    in_sample: int = 0
    #: Whether the test cannot tell it apart from the first system.
    like_first: bool = False
    keys = (*_PLACE, "rank", "rank_ci", "**estimates", *_COUNTS)

    def __repr__(self) -> str:
        scores = ", ".join(f"{name} {cell}" for name, cell in self.estimates.items())
        place = self.kind if self.rank is None else f"rank {self.rank}"
        return f"Row({self.system}, {self.track}: {place}, {scores})"


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


@dataclass(frozen=True, repr=False)
class Leaderboard(Result):
    """The rows of all tracks, and the submissions that could not be ranked.

    Attributes
    ----------
    rows : list of Row
        Track by track: systems in the order of their ranks, then references and floors.
    invalid : list of Invalid
        The submissions with errors.
    metrics : tuple of str
        The ranking metrics: systems are ranked by the first one, and the next one breaks ties.
    split : str
        The split that all tracks belong to.
    signature : str
        Signature of the scores; empty for outputs of the scoring program.
    intervals : Intervals
        Settings of the intervals.
    title : str
        Title of the edition.
    others : list of path
        The files in the folder that are not submissions.
    absent : dict of list of str
        The systems without a file for a track, by track.
    are_outputs : bool
        Whether the scores come from outputs of the scoring program, without predictions.
    higher_is_better : bool
        Whether a higher score is better in the ranking metric.
    trials : int or None
        Number of trials of each test; ``None`` for the default, which suits the number of pairs.
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
    higher_is_better: bool = True
    trials: int | None = None
    keys = ("metric", "split", "rows", "invalid", "absent", "signature", "**intervals")
    listed = "rows"
    panels_by = "of_leaderboard"

    def __repr__(self) -> str:
        systems = {row.system for row in self.rows if row.kind == "system"}
        ranked = f"{counted(len(systems), 'system')} by {self.metric}"
        invalid = f"{len(self.invalid)} invalid" if self.invalid else ""
        return f"Leaderboard({', '.join(filter(None, [self.split, ranked, invalid]))})"

    @property
    def metric(self) -> str:
        """The metric that systems are ranked by."""
        return self.metrics[0]

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

    @property
    def verdict(self) -> str:
        """The first system on each track, and which systems or floor do not differ from it."""
        return of_leaderboard(self)

    def tables(self) -> list[Table]:
        """Return the ranks of each track, an explanation, and the submissions with errors."""
        tables = [self._table(title, rows) for title, rows in self.tracks.items()]
        known = {*self.metrics, *(row.kind for row in self.rows)}
        terms = "; ".join(f"{name}: {it}" for name, it in _TERMS.items() if name in known)
        how = [self.explanation, terms, self.signature]
        return [*tables, refused("not ranked", self.invalid), Table(notes=[*filter(None, how)])]

    def _table(self, title: str, rows: Sequence[Row]) -> Table:
        shown, n = self.metrics, rows[0].n
        cells: list[Cells] = []
        for row in rows:
            first, *others = (row.estimates.get(name, "") for name in shown)
            if row.kind == "system":
                rank = Estimate(row.rank, row.rank_ci, row.in_sample, "d")
                group = "" if row.group is None else row.group
                cells.append((starred(row.system, row.in_sample), first, rank, group, *others))
            else:
                cells.append(Beside((f"{row.kind}: {row.system}", first, "", "", *others)))
        cases = ((row.system, row.in_sample, row.n) for row in rows)
        unclear = ((f"{row.system}, {it}", ci) for row in rows for it, ci in row.intervals.items())
        absent = ", ".join(self.absent.get(rows[0].track, []))
        listed = [f"no file for this track: {absent}"] if absent else []
        return Table(
            f"{title}, n = {n}" if n else title,
            ("system", shown[0], ("rank", "ranks"), "group", *shown[1:]),
            cells,
            [*footnote(cases, ", so its rank says little"), *doubts(unclear), *listed],
            confidence(self.intervals),
            sort="rank",
            groups="group",
        )

    @property
    def explanation(self) -> str:
        """An explanation of the ranks, in a few sentences."""
        ties = f"; ties are broken by {self.metrics[1]}" if len(self.metrics) > 1 else ""
        text = f"Ranked by {self.metric}{ties}. "
        if self.are_outputs:
            return text + (
                "The scores are read from scoring outputs. Without predictions, there are no "
                "intervals and no groups. A missing track has the score that the scoring program "
                "gives it."
            )
        how = self.intervals
        if how.resamples:
            text += (
                f"Intervals: {methods(how)}, {drawn(how, 'the items')}; all systems share the same "
                f"resamples (seed {how.seed}). Ranks: the interval for the rank. It is not "
                "corrected for the number of systems and is not a test: even if it is 1–1, other "
                "systems may not be significantly worse. "
            )
        if any(row.kind == "system" and row.scores.get("rho", 0) is None for row in self.rows):
            text += "rho is undefined (–) if p or the gold p is constant. "
        return text + (
            f"Group: systems without a significant difference in {self.metric} from the first "
            "system of the group (paired randomisation test, Holm's correction)."
        )
