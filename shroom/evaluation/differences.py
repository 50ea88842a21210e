"""Differences between systems, as values: of one pair, and of all compared pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from shroom.core.printing import counted
from shroom.core.problems import Problems, printable
from shroom.evaluation.verdicts import ALPHA, of_comparisons
from shroom.metrics.intervals import Interval, Intervals
from shroom.scoring.display.text import (
    WHY_UNDEFINED,
    confidence,
    doubts,
    footnote,
    lacking,
    p_value,
    starred,
)
from shroom.scoring.result import Plain, Result, doubt
from shroom.scoring.tables import Estimate, Row, Table, bounds

#: The keys of a pair.
_SCORES = ("a", "b", "track", "split", "n", "metric", "a_score", "b_score", "difference")
_TEST = ("p", "p_adjusted", "test", "detectable_difference")
_SEEN = ("a_in_sample", "b_in_sample")
#: The mark of a pair that differs significantly.
REAL = "†"


@dataclass(frozen=True)
class McNemar:
    p: float
    p_adjusted: float
    only_a: int
    only_b: int


@dataclass(frozen=True)
class Comparison(Plain):
    """Two systems on one metric of one track.

    Attributes
    ----------
    a, b : str
        The systems.
    a_in_sample, b_in_sample : int
        Number of items that the detector of each system was fitted on.
    track, split : str
        See :class:`~shroom.scoring.results.TrackScore`.
    n : int
        Number of items.
    metric : str
        Name of the metric.
    a_score, b_score, difference : float or None
        The scores, and the score of a minus the score of b; ``None`` if undefined.
    ci : tuple of float or None
        Paired bootstrap interval of the difference.
    p, p_adjusted : float or None
        p-value of the test, before and after Holm's correction for the pairs of the track and
        metric.
    test : str
        ``approximate randomisation``.
    detectable_difference : float or None
        The smallest difference that one uncorrected test detects in 4 of 5 cases, given ``n`` and
        the spread of the difference; ``None`` if the systems do not differ on any resample.
    mcnemar : McNemar or None
        McNemar's test, for accuracy only.
    higher_is_better : bool
        Whether a higher score is better in this metric.
    """

    a: str
    b: str
    track: str
    split: str
    n: int
    metric: str
    a_score: float | None
    b_score: float | None
    difference: float | None
    ci: Interval | None
    p: float | None
    p_adjusted: float | None
    test: str
    detectable_difference: float | None
    mcnemar: McNemar | None = None
    a_in_sample: int = 0
    b_in_sample: int = 0
    higher_is_better: bool = True
    keys = (*_SCORES, "ci", *_TEST, "**exact", *_SEEN, "**doubt")
    columns = (*_SCORES, *_TEST, *_SEEN, "**ends", "mcnemar_p", "significant")

    def __repr__(self) -> str:
        shown = f"{Estimate(self.difference, form='+.3f')}, adjusted p {p_value(self.p_adjusted)}"
        return f"Comparison({self.a} - {self.b}, {f'{self.place} {self.metric}'.strip()}: {shown})"

    @property
    def significant(self) -> bool:
        """Whether the systems differ significantly, after the correction."""
        return self.p_adjusted is not None and self.p_adjusted <= ALPHA

    @property
    def exact(self) -> dict[str, McNemar]:
        """McNemar's test under its key, if there is one."""
        return {} if self.mcnemar is None else {"mcnemar": self.mcnemar}

    @property
    def mcnemar_p(self) -> float | None:
        """The p-value of McNemar's test, not adjusted."""
        return None if self.mcnemar is None else self.mcnemar.p

    @property
    def doubt(self) -> dict[str, str]:
        """The reason why the interval is doubtful, if it is, under the key of the reason."""
        return doubt("ci_note", self.ci)

    @property
    def ends(self) -> dict[str, Any]:
        """The ends of the interval under their keys."""
        return bounds("difference", self.ci)

    @property
    def place(self) -> str:
        """The split and track."""
        return f"{self.split} {self.track}".strip()

    def row(self) -> Row:
        """Return the cells of its row."""
        exact = self.mcnemar and (self.mcnemar.p, self.mcnemar.p_adjusted)
        return (
            starred(self.a, self.a_in_sample),
            starred(self.b, self.b_in_sample),
            Estimate(self.a_score, star=self.a_in_sample),
            Estimate(self.b_score, star=self.b_in_sample),
            Estimate(self.difference, self.ci, form="+.3f"),
            *map(p_value, (self.p, self.p_adjusted, *(exact or ()))),
            Estimate(self.detectable_difference),
            REAL if self.significant else "",
        )


def tables_of_pairs(comparisons: Sequence[Comparison], intervals: Intervals) -> list[Table]:
    """Return the pairs of each track and metric."""
    pairs: dict[tuple[str, str], list[Comparison]] = {}
    for pair in comparisons:
        pairs.setdefault((pair.place, pair.metric), []).append(pair)
    tables = []
    for (place, metric), of_metric in pairs.items():
        exact = ("McNemar", "adjusted") if of_metric[0].mcnemar is not None else ()
        scores = ("a", "b", f"{metric} a", f"{metric} b", "a - b")
        tables.append(
            Table(
                f"{place}, {metric}, n = {of_metric[0].n}".removeprefix(", "),
                (*scores, "p", "p adjusted", *exact, "detectable", ""),
                [pair.row() for pair in of_metric],
                ci=confidence(intervals),
                left=2,
            )
        )
    return tables


@dataclass(frozen=True, repr=False)
class Comparisons(Result):
    """All comparisons, their settings, and warnings.

    Attributes
    ----------
    comparisons : list of Comparison
        One for each pair of systems, track and metric.
    signature : str
        Signature of the scores, with the settings of the tests.
    intervals : Intervals
        Settings of the intervals of the differences.
    trials : int
        Number of trials of the randomisation tests.
    warnings : Problems
        Warnings about the submissions and the gold.
    baseline : str or None
        The system that all others are compared with; ``None`` if every pair is compared.
    left_out : list of str
        Tracks with fewer than two submissions, or without the baseline.
    remarks : list of str
        Sentences about identical predictions, and about alignments by order only.
    """

    comparisons: list[Comparison]
    signature: str
    intervals: Intervals
    trials: int
    warnings: Problems = field(default_factory=Problems)
    baseline: str | None = None
    left_out: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    keys = ("comparisons", "baseline", "left_out", "signature", "**settings", "warnings")
    listed = "comparisons"
    panels_by = "of_comparisons"

    def __repr__(self) -> str:
        significant = sum(pair.significant for pair in self.comparisons)
        return f"Comparisons({significant} of {len(self.comparisons)} differences significant)"

    @property
    def verdict(self) -> str:
        """Which systems are better in which metric, and which differences are not significant."""
        return of_comparisons(self)

    def tables(self) -> list[Table]:
        """Return the pairs of each track and metric, and how they were tested."""
        tables = tables_of_pairs(self.comparisons, self.intervals)
        return [*tables, Table(notes=list(self._notes()))]

    def _notes(self) -> Iterator[str]:
        yield from self.remarks
        missing = "only one submission has a file for this track"
        if self.baseline is not None:
            missing = "the baseline has no file for this track, or no other submission has one"
            yield f"baseline: {self.baseline}; pairs without the baseline are not tested"
        for track in self.left_out:
            yield f"{track}: not compared, because {missing}"
        yield f"p-values: paired approximate randomisation test, {counted(self.trials, 'trial')}"
        yield "adjusted: p after Holm's correction for all pairs in a table"
        yield f"{REAL}: significant (adjusted p is at most 0.05)"
        if any(pair.mcnemar for pair in self.comparisons):
            yield (
                "McNemar: exact test on the items labelled correctly by only one of the two systems"
            )
        how = self.intervals
        if how.resamples:
            units = f" of whole units ({printable(how.unit)})" if how.unit else ""
            yield (
                f"intervals: paired bootstrap, percentile, "
                f"{counted(how.resamples, 'resample')}{units}{lacking(how)}, "
                f"seed {how.seed}, not corrected for the number of pairs"
            )
            yield (
                f"decide by {REAL}, not by the interval; an interval that ends near 0 may "
                "disagree with the test"
            )
            yield "detectable: the smallest difference that a single test finds in 4 of 5 cases"
        if any(pair.difference is None for pair in self.comparisons):
            yield WHY_UNDEFINED
        yield from doubts(
            (f"{pair.a} - {pair.b}, " + f"{pair.place} {pair.metric}".strip(), pair.ci)
            for pair in self.comparisons
        )
        cases = (
            (f"{name}, {pair.split} {pair.track}", in_sample, pair.n)
            for pair in self.comparisons
            for name, in_sample in ((pair.a, pair.a_in_sample), (pair.b, pair.b_in_sample))
        )
        yield from footnote(cases, "; this comparison is not fair")
        yield self.signature

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the intervals, which are all percentile intervals."""
        return self.intervals.to_dict(paired=True)

    @property
    def fitted(self) -> list[str]:
        """The systems whose detectors were fitted on items that they are compared on."""
        names = {pair.a for pair in self.comparisons if pair.a_in_sample}
        return sorted(names | {pair.b for pair in self.comparisons if pair.b_in_sample})
