"""What is found in a gold, as values and as tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from shroom.core.extras import install_hint
from shroom.core.printing import counted
from shroom.core.problem_codes import ERROR
from shroom.core.problems import Problems
from shroom.evaluation.gold_quality.findings import Finding
from shroom.evaluation.gold_quality.power import Detectable
from shroom.evaluation.gold_quality.sharing import Shared
from shroom.metrics.intervals import Intervals
from shroom.metrics.leave_one_out import LeftOut
from shroom.scoring.display.text import confidence, doubts, figure, how_made, in_words, number
from shroom.scoring.result import Plain, Result
from shroom.scoring.tables import Estimate, Row, Table


@dataclass(frozen=True)
class FileQuality(Plain):
    file: str
    form: str
    kind: str
    n: int
    annotated: bool
    findings: list[Finding]
    shared: list[Shared]
    annotators: list[LeftOut]
    are_people: bool
    detectable: list[Detectable]

    @property
    def errors(self) -> int:
        return sum(finding.severity == ERROR for finding in self.findings)

    @property
    def warnings(self) -> int:
        return len(self.findings) - self.errors

    def row(self) -> Row:
        known = (it for it in self.detectable if it.difference is not None)
        least = ", ".join(f"{it.metric} {number(it.difference)}" for it in known)
        shown = least or ("none" if self.annotated else "not annotated")
        return (self.file, self.n, self.errors, self.warnings, shown)

    def record(self) -> dict[str, Any]:
        counts = {"items": self.n, "errors": self.errors, "warnings": self.warnings}
        differences = {f"detectable_{it.metric}": it.difference for it in self.detectable}
        return {"file": self.file, **counts, **differences}

    def tables(self, ci: str) -> Iterator[Table]:
        kind = self.kind if self.annotated else "not annotated"
        lines = [line for finding in self.findings for line in finding.lines]
        title = f"{self.file}: {self.form}, {kind}, {counted(self.n, 'item')}"
        yield Table(title, notes=lines or ["  no problem found"])
        if self.annotators:
            head = "annotator" if self.are_people else "position in the list"
            heads = head, "items", "yes", "others", "agreement", "correlation"
            yield Table("", heads, [*map(_annotator, self.annotators)], ci=ci, indent=2)
        if self.detectable:
            least = "detectable difference", "on this gold", "systems differ on"
            yield Table("", least, [one.row for one in self.detectable], indent=2)


def _annotator(one: LeftOut) -> Row:
    rates = Estimate(one.rate), Estimate(one.others_rate)
    agreement = Estimate(one.agreement, one.agreement_ci)
    return (one.name, one.n, *rates, agreement, Estimate(one.correlation, one.correlation_ci))


@dataclass(frozen=True, repr=False)
class GoldQuality(Result):
    files: list[FileQuality]
    intervals: Intervals
    near: bool
    #: The files that were left out.
    left_out: Problems = field(default_factory=Problems)
    keys = ("ok", "errors", "warnings", "near", "files", "**intervals", "left_out")
    listed = "files"
    panels_by = "of_gold"
    figures_after = 1
    heading = "Gold quality"

    def __repr__(self) -> str:
        parts = ((len(self.files), "file"), (self.errors, "error"), (self.warnings, "warning"))
        return f"GoldQuality({', '.join(counted(count, thing) for count, thing in parts)})"

    @property
    def errors(self) -> int:
        return sum(file.errors for file in self.files)

    @property
    def warnings(self) -> int:
        return sum(file.warnings for file in self.files)

    @property
    def ok(self) -> bool:
        return not self.errors

    @property
    def verdict(self) -> str:
        """Whether the gold can be used, its errors, and the smallest detectable difference."""
        counts = ", ".join(
            counted(count, thing) if count else f"no {thing}s"
            for count, thing in ((self.errors, "error"), (self.warnings, "warning"))
        )
        can = f"The gold can be used: {counts}."
        if self.errors:
            files = [file.file for file in self.files if file.errors]
            where = f" in {in_words(files)}" if len(self.files) > 1 else ""
            can = f"Correct the gold before using it: {counts}; errors{where} make scores "
            can += "undefined or wrong."
        if n := self.left_out.count("file-ignored"):
            can += f" {counted(n, 'file')} {'was' if n == 1 else 'were'} ignored."
        return f"{can} {self._smallest()}"

    def _smallest(self) -> str:
        what = "The smallest difference that a test on this gold can detect"
        differences: dict[str, list[float]] = {}
        for one in chain.from_iterable(file.detectable for file in self.files):
            if one.difference is not None and one.difference < 1:
                differences.setdefault(one.metric, []).append(one.difference)
        if not differences:
            return f"{what} is unknown."
        least = []
        for name, values in differences.items():
            ends = dict.fromkeys(map(figure, (min(values), max(values))))
            least.append(f"{' to '.join(ends)} in {name}")
        of = ", depending on the file" if any(" to " in it for it in least) else ""
        return f"{what} in 4 of 5 cases is {in_words(least, len(least))}{of}."

    def tables(self) -> list[Table]:
        heads = ("", "items", "errors", "warnings", "detectable")
        ci = confidence(self.intervals)
        return [
            Table(heads=heads, rows=[file.row() for file in self.files]),
            *(table for file in self.files for table in file.tables(ci)),
            Table(notes=[f"- {note}" for note in self._notes()]),
        ]

    def _notes(self) -> Iterator[str]:
        voted = [file for file in self.files if file.annotators]
        if not self.near and any(file.shared for file in self.files):
            missing = "the search for near-duplicates was skipped, because datasketch is missing"
            yield f"{missing}: {install_hint('data')}"
        if voted:
            others = "of the other annotators"
            share = f"of the annotator's votes with the share of yes votes {others}"
            yield f"agreement: the share of votes that agree with the majority {others}"
            yield f"correlation: {share}; 0 for random votes"
        if not all(file.are_people for file in voted):
            why = "so a position in the list may stand for several people"
            yield f"the votes do not name their annotators, {why}"
        detectable = [one for file in self.files for one in file.detectable]
        if detectable:
            test = "a two-sided paired test of two systems detects at the 5% level in 4 of 5 cases"
            ways = "; or if ".join(dict.fromkeys(one.assumption for one in detectable))
            yield f"detectable: the smallest score difference that {test}, if {ways}"
        if any(one.difference is None for one in detectable):
            needs = "votes of two annotators who differ, or items of both classes"
            yield f"an unknown detectable difference (–) needs {needs}"
        if voted and self.intervals.resamples:
            yield how_made(self.intervals, counted(self.intervals.resamples, "resample"))
            yield from doubts(
                (f"{one.name}, correlation", one.correlation_ci)
                for file in voted
                for one in file.annotators
            )
