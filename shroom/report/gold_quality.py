"""The quality of a gold: as text, as figures and as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.core.extras import install_hint, require
from shroom.core.printing import counted, printable
from shroom.core.problem_codes import ERROR
from shroom.evaluation.gold_quality.quality import FileQuality, GoldQuality
from shroom.report.figure_files import Panel, in_page
from shroom.report.page_templates import column_head, rendered
from shroom.report.report_plots import Line, draw_forest
from shroom.scoring.display.columns import align
from shroom.scoring.display.style import LIGHT
from shroom.scoring.display.text import doubts, interval, methods, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shroom.metrics.leave_one_out import LeftOut

#: The columns of the overview that count findings, by code.
COUNTS = {
    "ids": "id-doubled",
    "texts": "item-doubled",
    "empty": "text-empty",
    "shared": "shared",
    "near": "shared-near",
    "input": "shared-input",
}
#: How many annotators are listed, and the fewest texts of one who is.
_LISTED, _FEW = 20, 20
#: The shares of items on which two systems differ that the figure spans, in percent.
_SHARES = range(2, 42, 2)


def text(quality: GoldQuality) -> str:
    """Return an overview, and for each file what is found in it."""
    lines = [*_overview(quality), ""]
    for file in quality.files:
        lines += [*_of_file(file, column_head(quality.intervals)), ""]
    lines += [f"- {note}" for note in notes(quality)]
    meaning = "; errors make scores undefined or wrong" if quality.errors else ""
    counts = f"{counted(quality.errors, 'error')}, {counted(quality.warnings, 'warning')}"
    return "\n".join([*lines, "", f"{counts}{meaning}"]) + "\n"


def _overview(quality: GoldQuality) -> list[str]:
    rows: list[tuple[str, ...] | None] = [
        ("", "items", *COUNTS, "errors", "warnings", "detectable"),
        None,
    ]
    rows += [
        (
            printable(file.file),
            str(file.n),
            *(cell(file, code) for code in COUNTS.values()),
            str(file.severities(ERROR)),
            str(len(file.findings) - file.severities(ERROR)),
            shown(file),
        )
        for file in quality.files
    ]
    return align(rows)


def cell(file: FileQuality, code: str) -> str:
    """Return a count of the overview; nothing where there was nothing to compare with."""
    if code.startswith("shared") and not file.shared:
        return ""
    if code == "shared-near" and all(other.near is None for other in file.shared):
        return ""
    return str(file.count(code))


def shown(file: FileQuality) -> str:
    """Return the differences that a file can show, as short as they can be."""
    parts = [
        f"{one.metric} {number(one.difference)}"
        for one in file.detectable
        if one.difference is not None
    ]
    return ", ".join(parts) or ("none" if file.annotated else "not annotated")


def title(file: FileQuality) -> str:
    """Return what a file is, in a line."""
    parts = [file.form, file.kind if file.annotated else "not annotated", counted(file.n, "item")]
    if file.units is not None and file.units < file.n:
        parts[-1] += f" of {counted(file.units, 'unit')}"
    if file.left_out:
        parts.append(f"{file.left_out} more that nobody judged")
    if file.texts_of:
        parts.append(f"texts of {file.texts_of}")
    return ", ".join(parts)


def _of_file(file: FileQuality, confidence: str) -> list[str]:
    lines = [f"{printable(file.file)}: {printable(title(file))}"]
    for finding in file.findings:
        lines.append(f"  {finding.severity}: {printable(finding.about)} [{finding.code}]")
        if finding.places:
            rest = finding.count - len(finding.places)
            more = f" and {rest} more" if rest > 0 else ""
            lines.append(f"    {printable(', '.join(finding.places[:5]))}{more}")
    if not file.findings:
        lines.append("  nothing is wrong")
    if file.annotators:
        lines += ["", *(f"  {line}" for line in _annotators(file, confidence))]
    if file.detectable:
        lines += ["", *(f"  {line}" for line in _detectable(file))]
    return lines


def listed(file: FileQuality) -> list[LeftOut]:
    """Return the annotators who are listed: those with the most texts, in their order."""
    enough = [one for one in file.annotators if one.n >= _FEW or not file.are_people]
    chosen = sorted(enough, key=lambda one: -one.n)[:_LISTED]
    return [one for one in file.annotators if one in chosen]


def unlisted(file: FileQuality) -> str:
    """Return how many annotators are not listed, in words; empty if all are."""
    rest = len(file.annotators) - len(listed(file))
    return f"{counted(rest, 'annotator')} with fewer texts not shown" if rest else ""


def _annotators(file: FileQuality, confidence: str) -> list[str]:
    head = "annotator" if file.are_people else "place in the list"
    rows: list[tuple[str, ...] | None] = [
        (head, "items", "yes", "others", "agreement", confidence, "correlation", confidence),
        None,
    ]
    rows += [
        (
            printable(one.name),
            str(one.n),
            number(one.rate),
            number(one.others_rate),
            number(one.agreement),
            interval(one.agreement_ci),
            number(one.correlation),
            interval(one.correlation_ci),
        )
        for one in listed(file)
    ]
    rest = unlisted(file)
    return [*(align(rows, indent=2) if listed(file) else []), *([rest] if rest else [])]


def _detectable(file: FileQuality) -> list[str]:
    rows: list[tuple[str, ...] | None] = [
        ("detectable difference", "of scores", "without noise", "systems differ"),
        None,
    ]
    for one in file.detectable:
        differ = "" if one.differ is None else f"{one.differ:.0%}"
        rows.append((one.metric, number(one.difference), number(one.ideal), differ))
    undefined = [f"{one.metric}: {one.undefined}" for one in file.detectable if one.undefined]
    return [*align(rows, indent=2), *undefined]


def notes(quality: GoldQuality) -> list[str]:
    """Return how to read the figures, and what they assume."""
    compared = any(file.shared for file in quality.files)
    counts = (
        "ids, texts, empty: ids that stand more than once, items with the texts of an earlier one, "
        "items without an output or without anything to compare it with"
    )
    sentences = [counts]
    if compared:
        sentences.append(
            "shared, near, input: items whose output and reference stand in another split, nearly "
            "stand there, or only their input; the greatest number in any one split"
        )
    if compared and not quality.near:
        sentences.append(f"near duplicates need datasketch: {install_hint('data')}")
    if any(file.annotators for file in quality.files):
        sentences.append(
            "each annotator is compared with the others: the share of votes that are those of "
            "their majority, and the correlation with their share of yes, 0 for random votes"
        )
    if any(file.annotators and not file.are_people for file in quality.files):
        sentences.append("a place in the list of votes is not a person, where nobody is named")
    if any(file.detectable for file in quality.files):
        assumptions = dict.fromkeys(
            one.assumption for file in quality.files for one in file.detectable
        )
        sentences.append(
            "detectable: the least difference between two systems that a two-sided paired test at "
            "5% finds in 4 of 5 cases, where " + "; or ".join(assumptions)
        )
        sentences.append(
            "without noise: the difference that they need against the labels of an unlimited "
            "number of such annotators"
        )
    if any(file.units and file.units < file.n for file in quality.files):
        sentences.append(
            "items of one unit (a response, a dialogue) are not independent, so that their "
            "differences are larger than shown"
        )
    if any(file.annotators for file in quality.files) and quality.intervals.resamples:
        settings = quality.intervals
        drawn = f"{settings.resamples} resamples, seed {settings.seed}"
        sentences.append(f"intervals: {methods(settings)}, {drawn}")
        sentences += doubts(
            (f"{one.name}, correlation", one.correlation_ci)
            for file in quality.files
            for one in listed(file)
        )
    return sentences


def panels(file: FileQuality) -> list[Panel]:
    """Return the figures of a file: its annotators, and what it can show."""
    return [*_annotator_panel(file), *_power_panel(file)]


def _annotator_panel(file: FileQuality) -> list[Panel]:
    lines = [
        Line(one.name, one.correlation, one.correlation_ci)
        for one in listed(file)
        if one.correlation is not None
    ]
    if not lines:
        return []
    who = "Annotators" if file.are_people else "Places in the list of votes"
    values = "; ".join(f"{line.name}: {line.value:.3f} {interval(line.ci)}" for line in lines)
    about = f"Correlation of each with the others: {values}."

    def draw(axes: Axes) -> None:
        label = "correlation with the share of the others"
        draw_forest(axes, lines, label, {"random": 0.0}, integers=False)

    return [Panel(f"{who} and the others", file.file, about, draw, len(lines))]


def _power_panel(file: FileQuality) -> list[Panel]:
    curves = [one for one in file.detectable if one.at(0.1) is not None]
    if not curves:
        return []
    colours = ("accent", "second", "ink")
    values = "; ".join(
        f"{one.metric} {number(one.at(0.1))} where they differ on 10% of the items, "
        f"{number(one.difference)} on {one.differ:.0%}"
        for one in curves
    )

    def draw(axes: Axes) -> None:
        axes.set_xlabel("items on which two systems differ, in %")
        axes.set_ylabel("detectable difference")
        axes.grid(visible=True, color=LIGHT["rule"], linewidth=0.5)
        for one, colour in zip(curves, colours):
            assert one.differ is not None  # noqa: S101 - for mypy
            points = [one.at(share / 100) or 0.0 for share in _SHARES]
            axes.plot(list(_SHARES), points, color=LIGHT[colour], label=one.metric)
            axes.plot(100 * one.differ, one.difference or 0.0, "o", color=LIGHT[colour])
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.legend(
            loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False, borderaxespad=0.1
        )

    about = f"The difference that the split can show: {values}; a dot marks what is assumed."
    return [Panel("Detectable differences", file.file, about, draw)]


def page(quality: GoldQuality) -> str:
    """Return a page with the overview, the findings and the figures, which needs nothing else.

    Raises
    ------
    ShroomError
        If jinja2 or matplotlib is missing.
    """
    require("report", "jinja2", "matplotlib")
    compared = any(file.shared for file in quality.files)
    counts = {head: code for head, code in COUNTS.items() if compared or "shared" not in code}
    sections = [
        {
            "key": f"file-{place}",
            "file": file,
            "title": title(file),
            "figures": in_page(panels(file), f"figure-{place}"),
            "annotators": listed(file),
            "unlisted": unlisted(file),
            "cells": [cell(file, code) for code in counts.values()],
            "shown": shown(file),
            "errors": file.severities(ERROR),
        }
        for place, file in enumerate(quality.files)
    ]
    return rendered(
        "gold_quality.html.jinja",
        "SHROOM: quality of a gold",
        counts=", ".join(
            counted(count, thing)
            for count, thing in (
                (len(quality.files), "file"),
                (quality.errors, "error"),
                (quality.warnings, "warning"),
            )
        ),
        sections=sections,
        heads=list(counts),
        confidence=column_head(quality.intervals),
        notes=notes(quality),
    )
