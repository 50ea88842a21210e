"""What is found in a gold, as values and as tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
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

_THERE = "as an item in another split"
_SAME = f"same output and reference {_THERE}"
#: The columns of the overview that count findings: the code, and what is counted.
_COUNTS = {
    "ids": ("id-doubled", "ids that occur more than once"),
    "texts": ("item-doubled", "items with the same texts as an earlier item"),
    "empty": (
        "text-empty",
        "items without an output, or without a text to compare the output with",
    ),
    "shared": ("shared", f"items with the {_SAME}"),
    "near": ("shared-near", f"items with nearly the {_SAME}"),
    "input": (
        "shared-input",
        f"items that have the same input {_THERE} but are not counted under 'shared' or 'near'",
    ),
}
#: How many annotators are listed, and the fewest texts of one who is.
_LISTED, _FEW = 20, 20


@dataclass(frozen=True)
class FileQuality(Plain):
    file: str
    form: str
    kind: str
    n: int
    annotated: bool
    left_out: int
    texts_of: str
    units: int | None
    findings: list[Finding]
    shared: list[Shared]
    annotators: list[LeftOut]
    are_people: bool
    detectable: list[Detectable]

    def __repr__(self) -> str:
        found = "; ".join(f"{it.code} {it.count}" for it in self.findings) or "no problem found"
        return f"FileQuality({self.file}, {counted(self.n, 'item')}: {found})"

    @property
    def has_units(self) -> bool:
        """Whether items depend on each other, so that the detectable differences are larger."""
        return 0 < (self.units or 0) < self.n

    @property
    def counts(self) -> dict[str, int | None]:
        """The counts of the overview, ``None`` if there is nothing to compare with."""
        most = {code: 0 for code, _ in _COUNTS.values()}
        for one in self.findings:
            most[one.code] = max(one.count, most.get(one.code, 0))
        counts: dict[str, int | None] = {name: most[code] for name, (code, _) in _COUNTS.items()}
        if not self.shared:
            counts |= {"shared": None, "input": None}
        if all(other.near is None for other in self.shared):
            counts["near"] = None
        errors = sum(finding.severity == ERROR for finding in self.findings)
        return {**counts, "errors": errors, "warnings": len(self.findings) - errors}

    @property
    def differences(self) -> dict[str, float | None]:
        return {one.metric: one.difference for one in self.detectable}

    @property
    def listed(self) -> list[LeftOut]:
        """The annotators with the most texts, in their order."""
        enough = [one for one in self.annotators if one.n >= _FEW or not self.are_people]
        chosen = sorted(enough, key=lambda one: -one.n)[:_LISTED]
        return [one for one in self.annotators if one in chosen]

    def row(self) -> Row:
        least = [f"{name} {number(it)}" for name, it in self.differences.items() if it is not None]
        shown = ", ".join(least) or ("none" if self.annotated else "not annotated")
        counts = ("" if count is None else count for count in self.counts.values())
        return (self.file, self.n, *counts, shown)

    def record(self) -> dict[str, Any]:
        differences = {f"detectable_{name}": it for name, it in self.differences.items()}
        return {"file": self.file, "items": self.n, **self.counts, **differences}

    def tables(self, ci: str, *, with_fixes: bool) -> Iterator[Table]:
        items = counted(self.n, "item")
        if self.has_units:
            items += f" of {counted(self.units or 0, 'unit')}"
        parts = [self.form, self.kind if self.annotated else "not annotated", items]
        if self.left_out:
            parts.append(f"left out: {counted(self.left_out, 'item')} without judgements")
        if self.texts_of:
            parts.append(f"texts from {self.texts_of}")
        title = f"{self.file}: {', '.join(parts)}"
        heads: tuple[str, ...]
        if self.findings and with_fixes:
            heads = "finding", "where", "severity", "what to do"
            yield Table(title, heads, [finding.row for finding in self.findings], left=4)
        else:
            none = (
                "" if self.annotated else " in the ids and texts; there is no annotation to check"
            )
            lines = [line for finding in self.findings for line in finding.lines]
            yield Table(title, notes=lines or [f"  no problem found{none}"])
        if self.annotators:
            head = "annotator" if self.are_people else "position in the list"
            heads = head, "items", "yes", "others", "agreement", "correlation"
            rest = len(self.annotators) - len(self.listed)
            notes = [f"not shown: {counted(rest, 'annotator')} with fewer texts"] if rest else []
            yield Table("", heads, [*map(_annotator, self.listed)], notes, ci, indent=2)
        if self.detectable:
            heads = "detectable difference", "on this gold", "without noise", "systems differ on"
            notes = [f"{it.metric}: {it.undefined}" for it in self.detectable if it.undefined]
            yield Table("", heads, [one.row for one in self.detectable], notes, indent=2)


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
    heading = "Gold quality"

    def __repr__(self) -> str:
        parts = ((len(self.files), "file"), (self.errors, "error"), (self.warnings, "warning"))
        return f"GoldQuality({', '.join(counted(count, thing) for count, thing in parts)})"

    @property
    def errors(self) -> int:
        return sum(file.counts["errors"] or 0 for file in self.files)

    @property
    def warnings(self) -> int:
        return sum(file.counts["warnings"] or 0 for file in self.files)

    @property
    def ok(self) -> bool:
        return not self.errors

    @property
    def has_units(self) -> bool:
        return any(file.has_units for file in self.files)

    @property
    def verdict(self) -> str:
        """Whether the gold can be used, its errors, and the smallest detectable difference."""
        counts = ", ".join(
            counted(count, thing) if count else f"no {thing}s"
            for count, thing in ((self.errors, "error"), (self.warnings, "warning"))
        )
        can = f"The gold can be used: {counts}."
        if self.errors:
            files = [file.file for file in self.files if file.counts["errors"]]
            where = f" in {in_words(files)}" if len(self.files) > 1 else ""
            can = f"Correct the gold before using it: {counts}; errors{where} make scores "
            can += "undefined or wrong."
        if n := self.left_out.count("file-ignored"):
            can += f" {counted(n, 'file')} {'was' if n == 1 else 'were'} ignored."
        return f"{can} {self._smallest()}"

    def _smallest(self) -> str:
        differences: dict[str, list[float]] = {}
        for name, value in (pair for file in self.files for pair in file.differences.items()):
            if value is not None:
                differences.setdefault(name, []).append(value)
        if not differences:
            return "The smallest difference that a test on this gold can detect is unknown."
        least = []
        for name, values in differences.items():
            if min(values) < 1:
                ends = dict.fromkeys(map(figure, (min(values), max(values))))
                least.append(f"{' to '.join(ends)} in {name}")
        if not least:
            return "This gold has too few items for a test to detect a difference between systems."
        of = ", depending on the file" if any(" to " in it for it in least) else ""
        size = "at least " * self.has_units + in_words(least, len(least))
        what = "The smallest difference that a test on this gold can detect"
        return f"{what} in 4 of 5 cases is {size}{of}."

    def tables(self) -> list[Table]:
        return [*self._tables(with_fixes=False)]

    def page_tables(self) -> list[Table]:
        return [*self._tables(with_fixes=True)]

    def _tables(self, *, with_fixes: bool) -> Iterator[Table]:
        heads = ("", "items", *_COUNTS, "errors", "warnings", "detectable")
        yield Table(heads=heads, rows=[file.row() for file in self.files])
        for file in self.files:
            yield from file.tables(confidence(self.intervals), with_fixes=with_fixes)
        yield Table(notes=[f"- {note}" for note in self._notes()])

    def _notes(self) -> Iterator[str]:
        counts = [file.counts for file in self.files]
        shown = [name for name in _COUNTS if any(own[name] is not None for own in counts)]
        yield from (f"{name}: {_COUNTS[name][1]}" for name in shown)
        voted = [file for file in self.files if file.annotators]
        if any(len(file.shared) > 1 for file in self.files):
            names = ", ".join(shown[3:])
            yield f"{names}: if there are several other splits, the largest count is shown"
        if "shared" in shown and not self.near:
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
        assumptions = dict.fromkeys(it.assumption for file in self.files for it in file.detectable)
        if assumptions:
            test = "a two-sided paired test of two systems detects at the 5% level in 4 of 5 cases"
            least = f"the smallest score difference that {test}"
            source = "an unlimited number of annotators like these"
            yield f"detectable: {least}, if {'; or if '.join(assumptions)}"
            yield f"without noise: the same difference if the labels came from {source}"
        if self.has_units:
            units = "items of one unit (a response, a dialogue) are not independent"
            yield f"{units}, so the detectable differences are larger than shown"
        if voted and self.intervals.resamples:
            yield how_made(self.intervals, counted(self.intervals.resamples, "resample"))
            yield from doubts(
                (f"{one.name}, correlation", one.correlation_ci)
                for file in self.files
                for one in file.listed
            )
