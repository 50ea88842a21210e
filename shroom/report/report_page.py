"""A report as one self-contained page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shroom.core.extras import require
from shroom.core.printing import counted, printable_lines
from shroom.core.problems import printable
from shroom.core.version import __version__
from shroom.evaluation.differences import tables_of_pairs
from shroom.evaluation.report import Report, SystemReport, TrackReport
from shroom.report.figure_files import Panel
from shroom.report.report_plots import KINDS, comparison, scores
from shroom.report.results import TEMPLATES, figures, script
from shroom.report.system_plots import OF_SYSTEM
from shroom.scoring.display.html import document, one_table
from shroom.scoring.display.text import (
    WHY_UNDEFINED,
    confidence,
    drawn,
    footnote,
    methods,
    starred,
)
from shroom.scoring.kinds.base import floor_or_reference
from shroom.scoring.tables import Beside, Row, Table, score_cells

#: A forest plot of the pairs of more systems cannot be read; the table has them all.
_SYSTEMS = 8


def page(report: Report, command: str) -> str:
    """Return the page of a report.

    Parameters
    ----------
    report : Report
        The report.
    command : str
        The command line that makes the page.

    Raises
    ------
    ShroomError
        If jinja2 or matplotlib is missing.
    """
    require("report", "jinja2", "matplotlib")
    splits = dict.fromkeys(filter(None, (track.board.name.split for track in report.tracks)))
    warnings = [*(problem.sentence for problem in report.warnings), *report.unsliced]
    plots = _plots(report.tracks)
    several = any(track.comparisons for track in report.tracks)
    content = _template(report.tracks[0].board.edition.file_labels).render(
        version=__version__,
        command=command,
        how=how_made(report),
        names=report.systems,
        plots=plots,
        several=several,
        split=" and ".join(splits),
        tracks=[_track(track, report) for track in report.tracks],
        undefined=WHY_UNDEFINED,
        verdict=report.verdict,
        warnings=warnings,
    )
    title = f"SHROOM report: {', '.join(report.systems)}"
    return document(title, content, script=script())


def _template(words: Mapping[str, str]) -> Any:
    """Return the template, which escapes every value and fails if a value is missing."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Markup is a subclass of str.
        finalize=lambda value: printable_lines(value) if type(value) is str else value,
    )
    environment.filters.update(
        figures=lambda panels: Markup(figures(panels)),  # noqa: S704 - escaped
        lines=printable_lines,
        printable=printable,
        short="{:.4g}".format,
        starred=starred,
        word=words.get,
        table=lambda table, label: Markup(one_table(table, label)),  # noqa: S704 - escaped
    )
    return environment.get_template("report.html.jinja")


def how_made(report: Report) -> str:
    intervals, parts = report.intervals, []
    if intervals.resamples:
        parts.append(
            f"Intervals: {methods(intervals)}, {drawn(intervals)}; all systems share the same "
            f"resamples (seed {intervals.seed})."
        )
    if any(track.comparisons for track in report.tracks):
        parts.append(
            f"p-values: paired approximate randomisation test, {counted(report.trials, 'trial')}."
        )
    parts.append("Reliability is computed in ten bins of p; the last bin includes p = 1.")
    return " ".join(parts)


def _plots(tracks: Sequence[TrackReport]) -> dict[str, list[Panel]]:
    """Return the figures of all systems by kind."""
    binary = [track for track in tracks if track.systems[0].is_binary]
    kinds = OF_SYSTEM if binary else ()
    return {kind: [panel for track in binary for panel in KINDS[kind](track)] for kind in kinds}


def _track(track: TrackReport, report: Report) -> dict[str, Any]:
    first = track.systems[0]
    return {
        "name": track.name,
        "n": track.n,
        "board": track.board,
        "scores": _scores(track.systems, report, first.score.floors),
        "slices": {key: _slice(track, report, key) for key in first.score.slices},
        "figures": scores(track),
        "differences": comparison(track) if 1 < len(track.systems) <= _SYSTEMS else [],
        "pairs": tables_of_pairs(track.comparisons, report.intervals),
        "hardest": track.items,
        "star": "".join(footnote((it.name, it.in_sample, track.n) for it in track.systems)),
    }


def _scores(
    systems: Sequence[SystemReport],
    report: Report,
    floors: Mapping[str, Mapping[str, float | None]],
) -> Table:
    """Return the scores of the systems, the floors and the references."""
    rows: list[Row] = [
        (starred(system.name, system.in_sample), *system.whole.values()) for system in systems
    ]
    for name, floor in floors.items():
        cells = score_cells(floor, {})
        shown = (cells.get(metric, "") for metric in report.metrics)
        rows.append(Beside((f"{floor_or_reference(name)}: {name}", *shown)))
    return Table(heads=("system", *report.metrics), rows=rows, ci=confidence(report.intervals))


def _slice(track: TrackReport, report: Report, key: str) -> Table:
    several, rows = len(track.systems) > 1, list[Row | None]()
    for word in track.systems[0].score.slices[key]:
        for system in track.systems:
            n, scores = system.score.parts[f"{key} {word}"]
            name = (starred(system.name, system.in_sample),) if several else ()
            rows.append((word or "(none)", *name, n, *scores.values()))
        rows += [None] if several else []
    heads = (key, *(["system"] if several else []), "n", *report.metrics)
    ci = confidence(report.intervals)
    return Table(heads=heads, rows=rows, ci=ci, left=1 + several)
