"""The check of a gold: errors, warnings, and the smallest detectable difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from shroom.core.extras import install_hint
from shroom.core.paths import Source
from shroom.core.printing import counted
from shroom.core.problem_codes import ERROR
from shroom.core.problems import Problems, ShroomError, show
from shroom.evaluation.gold_quality.findings import PLACES, Finding
from shroom.evaluation.gold_quality.item_checks import answer, findings
from shroom.evaluation.gold_quality.power import Detectable, detectable
from shroom.evaluation.gold_quality.rows import (
    GoldFile,
    annotation_keys,
    are_of_people,
    named_votes,
    read_gold,
)
from shroom.evaluation.gold_quality.sharing import Shared, can_look_for_near, shared
from shroom.metrics.intervals import Intervals
from shroom.metrics.leave_one_out import LeftOut, left_out, usual_correlation
from shroom.scoring.display.text import confidence, doubts, figure, how_made, in_words, number
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import file_beside, resolve
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
            can = f"Correct the gold before using it: {counts}; errors make scores "
            can += "undefined or wrong."
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


def gold_quality(
    gold: Source,
    *,
    edition: Edition | Source | None = None,
    against: Sequence[Source] = (),
    intervals: Intervals | None = None,
) -> GoldQuality:
    """Return the errors of a gold, and the smallest detectable difference between systems.

    Parameters
    ----------
    gold : path or "-"
        A file, a folder, a zip or a pipe. Several files are compared with each other. If labels
        are in separate files, the texts are taken from the data next to them.
    edition : Edition, str or path, optional
        The shared task; by default the ``edition.toml`` next to the gold, otherwise the edition
        recognised by the rows of each file.
    against : sequence of path
        Other splits that are searched for the items of the gold.
    intervals : Intervals, optional
        Settings of the annotators' intervals, which are percentile intervals.

    Raises
    ------
    InvalidInput
        If a file cannot be read; the exception contains all problems.
    ShroomError
        If nothing in the gold is annotated.

    Examples
    --------
    >>> quality = gold_quality("shroom/sample/val.model-aware.json")
    >>> [finding.code for finding in quality.files[0].findings], quality.errors
    ([], 0)
    >>> [(one.metric, round(one.difference, 3)) for one in quality.files[0].detectable]
    [('accuracy', 0.188), ('rho', 0.193)]
    """
    settings = intervals or Intervals()
    problems, chosen = Problems(), None
    if edition is not None or file_beside(gold) is not None:
        chosen, _ = resolve(edition, gold)
    files = read_gold(gold, chosen, problems)
    if not any(file.is_annotated for file in files):
        own = files[0].edition
        keys = ", ".join(map(own.item.key, annotation_keys(own)))
        found = show([*next(iter(own.with_file_keys(files[0].rows)))], width=200)
        raise ShroomError(
            f"{gold}: no item is annotated (keys {keys}), so there is nothing to check; got keys "
            f"{found}; specify labelled files, or set [item] keys in the edition"
        )
    others = [file for source in against for file in read_gold(source, chosen, problems)]
    named = {file.place for file in others}
    others += [file for file in files if len(files) > 1 and file.place not in named]
    near = bool(others) and can_look_for_near()
    qualities = []
    for file in files:
        name, pairs, contradictions = file.split_and_track, list[Shared](), list[Finding]()
        for other in others:
            is_named, other_name = other.place in named, other.split_and_track
            is_version = name == other_name != ("", "") and not is_named
            if is_version or other.place == file.place:
                continue
            # Unlabelled data next to the gold may be large, so near duplicates would take minutes.
            is_near = near and (is_named or other.is_annotated)
            title = other.file if is_named else other.name
            pair = shared(file.texts, other.texts, title, near=is_near)
            if name[0] == other_name[0] != "":
                pair = replace(pair, inputs={})  # tracks may have the same inputs
            pairs.append(pair)
            if file.is_annotated and other.is_annotated and file.edition == other.edition:
                contradictions.append(_contradiction(file, other, pair))
        qualities.append(_of_file(file, pairs, contradictions, settings))
    return GoldQuality(qualities, settings, near, problems)


def _contradiction(file: GoldFile, other: GoldFile, pair: Shared) -> Finding:
    """Return the items with another annotation in another file."""
    own, theirs = ([answer(row, it) for row in it.rows] for it in (file, other))
    there = pair.exact.get
    differ = [(at := there(row)) is not None and own[row] != theirs[at] for row in range(len(own))]
    return file.finding("shared-answer", differ, f"with a different annotation in {pair.file}")


def _of_file(
    file: GoldFile, pairs: list[Shared], contradictions: list[Finding], settings: Intervals
) -> FileQuality:
    votes = named_votes(file) if file.is_annotated else None
    are_people = votes is not None and are_of_people(file)
    how = settings.resamples, settings.seed, settings.confidence
    annotators = [] if votes is None else left_out(votes, *how)
    listed = [*findings(file)]
    for pair in pairs:
        for code, there, about in (
            ("shared", pair.exact, "with the same output and reference"),
            ("shared-near", pair.near or {}, "with nearly the same output and reference"),
            ("shared-input", pair.inputs, "with the same input"),
        ):
            is_there = [row in there for row in range(len(file.rows))]
            listed.append(file.finding(code, is_there, f"{about} as an item in {pair.file}"))
    listed += contradictions
    if are_people:
        usual = usual_correlation(annotators)
        constant = [it.name for it in annotators if it.is_constant]
        random = [it.name for it in annotators if it.is_random(usual) and not it.is_constant]
        same = "gave nearly all items the same vote, unlike the others"
        for code, names, about in (
            ("annotator-constant", constant, f"who {same}"),
            ("annotator-random", random, "whose votes cannot be distinguished from random votes"),
        ):
            who = counted(len(names), "annotator")
            listed.append(Finding(code, len(names), f"{who} {about}", tuple(names[:PLACES])))
    return FileQuality(
        file=file.name,
        form=file.edition.name,
        kind=file.kind,
        n=len(file.rows),
        annotated=file.is_annotated,
        findings=sorted(
            (finding for finding in listed if finding.count),
            key=lambda finding: finding.severity != ERROR,
        ),
        shared=pairs,
        annotators=annotators,
        are_people=are_people,
        detectable=detectable(file) if file.is_annotated else [],
    )
