"""A report as one page that needs nothing but itself."""

from __future__ import annotations

from typing import Any

from shroom.core.datapoint import Label
from shroom.core.extras import require
from shroom.core.problems import printable
from shroom.core.version import __version__
from shroom.evaluation.item_difficulty import Item
from shroom.evaluation.report import Report, TrackReport
from shroom.report.figure_files import Panel
from shroom.report.report_plots import KINDS, star
from shroom.report.results import TEMPLATES, figures, script
from shroom.scoring.display.html import interval_cell, scale, whisker
from shroom.scoring.display.style import document
from shroom.scoring.display.text import (
    confidence,
    drawn,
    methods,
    number,
    p_value,
    starred,
)
from shroom.scoring.tables import Estimate

#: The letters of a hypothesis that the table shows before the row is opened.
_LETTERS = 160
#: A forest plot of more pairs cannot be read; the table has them all.
_PAIRS = 30


def page(report: Report, command: str) -> str:
    """Return the page of a report.

    Parameters
    ----------
    report : Report
        The report.
    command : str
        The command line that makes the page, for the reader.

    Raises
    ------
    ShroomError
        If jinja2 or matplotlib is missing.
    """
    require("report", "jinja2", "matplotlib")
    splits = list(dict.fromkeys(track.split for track in report.tracks if track.split))
    golds = list(dict.fromkeys(track.gold for track in report.tracks))
    intervals = report.intervals
    content = _template().render(
        version=__version__,
        command=command,
        confidence=f"{confidence(intervals)}s" if intervals.resamples else "",
        gold=", ".join(golds),
        how=how_made(report),
        means=report.means,
        metrics=report.metrics,
        names=report.systems,
        split=" and ".join(splits),
        tracks=[_track(track, f"track-{place + 1}") for place, track in enumerate(report.tracks)],
        warnings=[*(problem.sentence for problem in report.warnings), *report.unsliced],
    )
    title = f"SHROOM report: {', '.join(report.systems)}"
    return document(title, content, script=script())


def _template() -> Any:
    """Return the template: every value is escaped, and a value that is missing is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: _lines(value) if type(value) is str else value,  # not markup
    )
    environment.filters.update(
        interval=lambda ci: Markup(interval_cell(Estimate(None, ci))),  # noqa: S704 - escaped
        lines=_lines,
        number=number,
        printable=printable,
        short="{:.4g}".format,
        p_value=p_value,
        span=lambda ends: f"{ends[0]:.3g} to {ends[1]:.3g}",
        starred=starred,
        whisker=lambda *values: Markup(whisker(*values)),  # noqa: S704 - it has only numbers
    )
    return environment.get_template("report.html.jinja")


def _lines(text: str) -> str:
    """Return a text with control characters as escapes, except line ends."""
    return "\n".join(printable(line) for line in text.split("\n"))


def how_made(report: Report) -> str:
    """Return how the figures were computed, in a few sentences."""
    intervals, parts = report.intervals, []
    if intervals.resamples:
        parts.append(
            f"Intervals: {methods(intervals)}, {drawn(intervals)}, the same for all systems, seed "
            f"{intervals.seed}."
        )
    if any(track.comparisons for track in report.tracks):
        parts.append(
            f"p: paired approximate randomisation, {report.trials} trials; adjusted by Holm's "
            "method over the pairs of a track and metric. Detectable: the least difference that "
            "such a test finds in four of five cases."
        )
    parts.append("Reliability is counted in ten bins of p; p = 1 lies in the last.")
    return " ".join(parts)


def _track(track: TrackReport, key: str) -> dict[str, Any]:
    """Return the values that the template shows of a track."""
    from markupsafe import Markup

    kinds = dict(KINDS)
    if len(track.systems) < 2:
        del kinds["ranks"], kinds["comparison"]
    pairs = sorted(track.comparisons, key=lambda pair: (pair.a, pair.b))
    panels = {kind: of_track(track) for kind, of_track in kinds.items()}
    if len(pairs) > _PAIRS * len(track.systems[0].whole):
        about = "too many pairs to draw; see the table"
        panels["comparison"] = [Panel("Differences", "", about, None)]
    # Names are escaped; the rest is written by matplotlib.
    drawn = {kind: Markup(figures(of_kind)) for kind, of_kind in panels.items()}  # noqa: S704
    return {
        "key": key,
        "name": track.name,
        "n": track.n,
        "systems": track.systems,
        "binary": track.systems[0].binary is not None,
        "floors": track.systems[0].score.floors,
        "slices": _slices(track),
        "figures": {"ranks": "", **drawn},
        "pairs": pairs,
        "hardest": [_item(item, len(track.systems)) for item in track.items],
        "texts": any(item.point for item in track.items),
        "signature": track.signature,
        "star": star(track),
        "in_sample": {system.name: system.in_sample for system in track.systems},
    }


def _slices(track: TrackReport) -> list[dict[str, Any]]:
    """Return each key's slices: per word the scores of all systems."""
    slices: list[dict[str, Any]] = []
    for key, first in track.systems[0].slices.items():
        parts: list[dict[str, Any]] = [
            {
                "word": word,
                "n": n,
                "systems": [
                    (system.name, system.slices[key][word][1], system.in_sample)
                    for system in track.systems
                ],
            }
            for word, (n, _) in first.items()
        ]
        spans = {
            metric: scale(
                [
                    end
                    for part in parts
                    for _, scores, _ in part["systems"]
                    for end in (scores[metric].value, *(scores[metric].ci or ()))
                ],
                least=-1.0,
                greatest=1.0,
            )
            for metric in track.systems[0].whole
        }
        slices.append({"key": key, "parts": parts, "spans": spans})
    return slices


def _item(item: Item, systems: int) -> dict[str, Any]:
    """Return the values that the template shows of an item."""
    point = item.point
    hyp = point.hyp if point else f"row {item.row}"
    n_wrong = sum(not prediction.right for prediction in item.systems.values())
    return {
        "task": item.task,
        "short": hyp if len(hyp) <= _LETTERS else hyp[:_LETTERS] + "…",
        "texts": [(key, getattr(point, key)) for key in ("hyp", "src", "tgt")] if point else [],
        "labels": _labels(item),
        "proportion": f"{item.p:.2f} {item.label.value}",
        "count": f"{n_wrong} of {systems}",
        "said": list(item.systems.items()),
        "place": _place(item),
    }


def _labels(item: Item) -> str:
    """Return the annotators' label, and their votes where the gold has them."""
    text = f"{item.label.value}, p = {item.p:.4g}"
    if item.point is None or not item.point.labels:
        return text
    votes = [label.value for label in item.point.labels]
    flagged = votes.count(Label.HALLUCINATION.value)
    return f"{text}: {flagged} of {len(votes)} annotators say Hallucination"


def _place(item: Item) -> str:
    """Return the place of an item, with its task, reference and model."""
    parts = [f"row {item.row}"]
    if item.id is not None:
        parts.append(f"id {item.id}")
    if item.task:
        parts.append(f"task {item.task}")
    if item.point is not None:
        if item.point.ref is not None:
            parts.append(f"ref {item.point.ref.value}")
        if item.point.model:
            parts.append(f"model {printable(item.point.model)}")
    return ", ".join(parts)
