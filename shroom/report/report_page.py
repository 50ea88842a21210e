"""A report as one page that needs nothing but itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shroom.core.datapoint import Label
from shroom.core.extras import require
from shroom.core.problems import printable
from shroom.core.version import __version__
from shroom.report.page_templates import rendered
from shroom.report.report_plots import KINDS, star
from shroom.scoring.display.marks import scale
from shroom.scoring.display.text import confidence, kind

if TYPE_CHECKING:
    from shroom.evaluation.hardest_items import HardItem
    from shroom.evaluation.report import Report, TrackReport
    from shroom.report.panel import Panel

#: How many letters of a hypothesis stand in the table before it is opened.
_LETTERS = 160
#: A forest plot of more pairs than this is no longer read; the table has them all.
_PAIRS = 30


@dataclass(frozen=True)
class Figure:
    """A panel in the page: its SVG, or why there is none."""

    title: str
    about: str
    svg: Any


def page(report: Report, command: str) -> str:
    """Return the page of a report.

    Parameters
    ----------
    report : Report
        What it shows.
    command : str
        The command line that makes it.

    Raises
    ------
    ShroomError
        Where jinja2 or matplotlib is missing.
    """
    require("report", "jinja2", "matplotlib")
    splits = list(dict.fromkeys(track.split for track in report.tracks if track.split))
    golds = list(dict.fromkeys(track.gold for track in report.tracks))
    how = report.how
    return rendered(
        "report.html.jinja",
        f"SHROOM report: {printable(', '.join(report.systems))}",
        command=command,
        confidence=f"{confidence(how)}s" if how.resamples else "",
        gold=", ".join(golds),
        how=how_made(report),
        metrics=report.metrics,
        names=report.systems,
        split=" and ".join(splits),
        tracks=[_track(track, f"track-{place + 1}") for place, track in enumerate(report.tracks)],
        version=__version__,
        warnings=[*(problem.sentence for problem in report.warnings), *report.unsliced],
    )


def how_made(report: Report) -> str:
    """Return how the figures came about, in a few sentences."""
    how, parts = report.how, []
    if how.resamples:
        parts.append(
            f"Intervals: {kind(how)}, {how.resamples} bootstrap resamples of all items, the same "
            f"for all systems, seed {how.seed}."
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
    """Return what the template says of a track."""
    kinds = dict(KINDS)
    if len(track.systems) < 2:
        del kinds["ranks"], kinds["comparison"]
    pairs = sorted(track.comparisons, key=lambda pair: (pair.a, pair.b))
    figures = {kind: _figures(panels(track), f"{key}-{kind}") for kind, panels in kinds.items()}
    if len(pairs) > _PAIRS * len(track.systems[0].whole):
        figures["comparison"] = [Figure("Differences", "too many pairs to draw; see the table", "")]
    return {
        "key": key,
        "name": track.name,
        "n": track.n,
        "systems": track.systems,
        "floors": track.systems[0].score.floors,
        "slices": _slices(track),
        "figures": {"ranks": [], **figures},
        "pairs": pairs,
        "hardest": [_item(hard, len(track.systems)) for hard in track.items],
        "tasks": sorted({_task(hard) for hard in track.items} - {""}),
        "texts": any(hard.point for hard in track.items),
        "signature": track.signature,
        "star": star(track),
        "in_sample": {each.name: each.in_sample for each in track.systems},
    }


def _figures(panels: list[Panel], key: str) -> list[Figure]:
    from markupsafe import Markup

    from shroom.report.figure_files import inline

    return [
        Figure(
            panel.title,
            panel.about,
            # Names are escaped where they are drawn; all else in it is matplotlib's.
            Markup(inline(panel, f"{key}-{place}")) if panel.draw else "",  # noqa: S704
        )
        for place, panel in enumerate(panels)
    ]


def _slices(track: TrackReport) -> list[dict[str, Any]]:
    """Return each key's slices: per word the scores of all systems."""
    found: list[dict[str, Any]] = []
    for key, first in track.systems[0].slices.items():
        parts: list[dict[str, Any]] = [
            {
                "word": word,
                "n": n,
                "systems": [
                    (each.name, each.slices[key][word][1], each.in_sample) for each in track.systems
                ],
            }
            for word, (n, _) in first.items()
        ]
        spans = {}
        for metric in track.systems[0].whole:
            said = [scores[metric] for part in parts for _, scores, _ in part["systems"]]
            ends = [end for each in said for end in (each.value, *(each.ci or ()))]
            spans[metric] = scale(ends, least=-1.0, greatest=1.0)
        found.append({"key": key, "parts": parts, "spans": spans})
    return found


def _item(hard: HardItem, systems: int) -> dict[str, Any]:
    """Return what the template says of an item."""
    item, point = hard.item, hard.point
    wrong = [str(place) for place, said in enumerate(item.systems.values()) if not said.right]
    if wrong:
        wrong.append("all" if len(wrong) == systems else "some")
    hyp = point.hyp if point else f"row {item.row}"
    return {
        "task": _task(hard),
        "label": item.label.value,
        "wrong": "|".join(wrong),
        "short": hyp if len(hyp) <= _LETTERS else hyp[:_LETTERS] + "…",
        "texts": [(key, getattr(point, key)) for key in ("hyp", "src", "tgt")] if point else [],
        "labels": _labels(hard),
        "proportion": f"{item.p:.2f} {item.label.value}",
        "count": f"{sum(not said.right for said in item.systems.values())} of {systems}",
        "said": list(item.systems.items()),
        "place": _place(hard),
    }


def _labels(hard: HardItem) -> str:
    """Return what the annotators say, vote by vote where the gold has the votes."""
    said = f"{hard.item.label.value}, p = {hard.item.p:.4g}"
    if hard.point is None or not hard.point.labels:
        return said
    votes = [label.value for label in hard.point.labels]
    flagged = votes.count(Label.HALLUCINATION.value)
    return f"{said}: {flagged} of {len(votes)} annotators say Hallucination"


def _place(hard: HardItem) -> str:
    """Return where an item is, and what it is of."""
    parts = [f"row {hard.item.row}"]
    if hard.item.id is not None:
        parts.append(f"id {hard.item.id}")
    if hard.point is not None:
        parts.append(f"task {hard.point.task.value}")
        if hard.point.ref is not None:
            parts.append(f"ref {hard.point.ref.value}")
        if hard.point.model:
            parts.append(f"model {printable(hard.point.model)}")
    return ", ".join(parts)


def _task(hard: HardItem) -> str:
    return hard.point.task.value if hard.point else ""
