"""The figures of results, as those of a report: what ``result.plot()`` draws."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from shroom.core.extras import require
from shroom.core.problems import ShroomError, UnknownName, nearest, printable
from shroom.evaluation.system_report import BinaryReport, SystemReport
from shroom.report.figure_files import Panel, on_axes, shortened
from shroom.report.report_plots import Line, beside, differences, forest, of_ranks
from shroom.report.system_plots import (
    confusion,
    draw_reliability,
    legend,
    reliability,
    scatter,
    threshold,
)
from shroom.scoring.display.style import LIGHT
from shroom.scoring.display.text import footnote, number, starred, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shroom.datasets.description import Description
    from shroom.evaluation.differences import Comparisons
    from shroom.evaluation.leaderboard import Leaderboard
    from shroom.evaluation.matrix.matrix import Matrix
    from shroom.prediction.calibration.calibration import Calibration
    from shroom.prediction.predictions import Predictions
    from shroom.scoring.annotator_agreement import Agreement
    from shroom.scoring.results import Score
    from shroom.scoring.tabular import Tabular

#: The panels of a result by their kinds; the first kind is drawn by default.
Panels = dict[str, list[Panel]]
#: The figures of a system's labels and p.
_OF_SYSTEM = {
    "reliability": reliability,
    "scatter": scatter,
    "threshold": threshold,
    "confusion": confusion,
}
#: The most labels of a field that are drawn, the frequent ones, and letters of each.
_LABELS, _LABEL_LETTERS = 20, 30
#: Number of bars of a histogram of p.
_BARS = 20


def draw(result: Tabular, kind: str, track: str, metric: str, ax: Axes | None) -> Axes:
    """Draw one figure of a result; see :meth:`shroom.scoring.tabular.Tabular.plot`."""
    require("report", "matplotlib")
    kinds = panels(result)
    if kind and kind not in kinds:
        listed = f"there are {', '.join(kinds)}" if kinds else f"{result!r} has none"
        raise UnknownName(f"no figure '{printable(kind)}';{nearest(kind, kinds)} {listed}")
    of_kind = kinds[kind or next(iter(kinds))] if kinds else []
    chosen = [
        panel
        for panel in of_kind
        if metric in ("", panel.title) and (not track or f" {panel.track}".endswith(f" {track}"))
    ]
    if not chosen:
        names = "; ".join(dict.fromkeys(f"{it.track}: {it.title}" for it in of_kind))
        raise UnknownName(f"no such figure of {result!r}; there are {names or 'none'}")
    if all(panel.draw is None for panel in chosen):
        raise ShroomError(f"there is nothing to draw: {chosen[0].about}")
    return on_axes(next(panel for panel in chosen if panel.draw), ax)


def panels(result: Tabular) -> Panels:
    """Return the figures of a result; none for a kind of result that has none."""
    of_kind = _PANELS.get(type(result).__name__)
    return of_kind(result) if of_kind else {}


def _of_score(score: Score) -> Panels:
    kinds: Panels = {"scores": []}
    binary = score.edition.annotation.kind == "binary"
    for result, track in zip(score.results, score.tracks):
        star = footnote([(title(result), result.in_sample, result.n)])
        parts = [("all items", result.whole)]
        parts += [(f"{k} {w}", it) for k, by in result.slices.items() for w, it in by.items()]
        for metric in result.scores:
            lines = [
                Line(starred(name, result.in_sample), part[metric], part.get(f"{metric}_ci"))
                for name, part in parts
            ]
            marks = beside(metric, result.floors, is_binary=binary)
            label = f"{metric}, n = {result.n}"
            kinds["scores"].append(forest(metric, title(result), lines, label, marks, star=star))
        if binary:
            report = BinaryReport.of(track.columns)
            system = SystemReport("the submission", result, {}, {}, report)
            for kind, drawing in _OF_SYSTEM.items():
                panel = Panel(kind, title(result), *drawing(system, report), star=star)
                kinds.setdefault(kind, []).append(panel)
    return kinds


def _of_leaderboard(board: Leaderboard) -> Panels:
    kinds: Panels = {"scores": [], "ranks": []}
    for track, of_track in groupby(board.rows, key=lambda row: row.track):
        rows = list(of_track)
        systems = [row for row in rows if row.kind == "system"]
        others = {row.system: row.scores for row in rows if row.kind != "system"}
        name = f"{board.split} {track}".strip()
        star = footnote((row.system, row.in_sample, row.n) for row in systems)
        for metric in board.columns:
            marks = beside(metric, others, is_binary="majority label" in others)
            lines = [
                Line(starred(it.system, it.in_sample), it.scores[metric], it.intervals.get(metric))
                for it in systems
            ]
            label = f"{metric}, n = {rows[0].n}"
            kinds["scores"].append(forest(metric, name, lines, label, marks, star=star))
        places = [
            Line(starred(row.system, row.in_sample), float(row.rank or 0), row.rank_ci)
            for row in systems
        ]
        kinds["ranks"].append(replace(of_ranks(name, board.metrics, places), star=star))
    return kinds


def _of_comparisons(comparisons: Comparisons) -> Panels:
    by_track: dict[str, list[Any]] = {}
    for pair in comparisons.comparisons:
        by_track.setdefault(f"{pair.split} {pair.track}".strip(), []).append(pair)
    return {"comparison": [it for name, of in by_track.items() for it in differences(name, of)]}


def _of_agreement(agreement: Agreement) -> Panels:
    plots = []
    for gold in agreement.results:
        parts = {"all items": gold.whole}
        parts |= {f"task {task}": figures for task, figures in gold.by_task.items()}
        for name in gold.whole.estimates:
            lines = [
                Line(part, figures.estimates[name].value, figures.estimates[name].ci)
                for part, figures in parts.items()
            ]
            label = f"{name.replace('_', ' ')}, n = {gold.whole.n}"
            plots.append(forest(name, gold.title, lines, label, {}))
    return {"agreement": plots}


def _of_calibration(calibration: Calibration) -> Panels:
    plots = []
    for result in calibration.results:
        before, after = result.before.curve, result.after.curve
        assert before is not None  # noqa: S101 - for mypy
        assert after is not None  # noqa: S101 - for mypy
        errors = [number(curve.expected_error) for curve in (before, after)]
        about = f"Expected calibration error: {errors[0]} as given, {errors[1]} calibrated."
        curves = {"as given": before, "calibrated": after}
        name = f"{result.split} {result.track}".strip()
        star = footnote([(name, result.in_sample, result.n)])

        def drawing(axes: Axes, curves: Any = curves) -> None:
            draw_reliability(axes, curves, curves["calibrated"])

        plots.append(Panel("reliability", name, about, drawing, star=star))
    return {"reliability": plots}


def _of_predictions(predictions: Predictions) -> Panels:
    plots = []
    for name, rows in predictions.rows.items():
        flagged = np.array([row["label"] == "Hallucination" for row in rows])
        p = np.array([row["p(Hallucination)"] for row in rows], float)
        about = f"{int(flagged.sum())} of {len(rows)} predictions are Hallucination."

        def drawing(axes: Axes, p: Any = p, flagged: Any = flagged) -> None:
            edges = np.linspace(0, 1, _BARS + 1).tolist()
            colours = [LIGHT["accent"], LIGHT["second"]]
            names = ["Not Hallucination", "Hallucination"]
            parts = [p[~flagged], p[flagged]]
            axes.hist(parts, edges, stacked=True, color=colours, label=names, rwidth=0.92)
            axes.set_xlim(-0.02, 1.02)
            axes.set_xlabel("p(Hallucination)")
            axes.set_ylabel("predictions")
            legend(axes)

        plots.append(Panel(predictions.maker, name, about, drawing))
    return {"p": plots}


def _of_description(description: Description) -> Panels:
    plots = []
    for field, by_label in description.contents.labels.items():
        names = [shortened(name, _LABEL_LETTERS) for name in by_label][:_LABELS]
        counts = list(by_label.values())[:_LABELS]
        about = "; ".join(f"{name}: {count}" for name, count in by_label.items())

        def drawing(axes: Axes, names: Any = names, counts: Any = counts) -> None:
            places = np.arange(len(names))
            bars = axes.barh(places, counts, height=0.7, color=LIGHT["accent"])
            axes.bar_label(bars, padding=3, color=LIGHT["ink"])
            axes.set_yticks(places, names)
            axes.set_ylim(len(names) - 0.5, -0.5)
            axes.set_xlim(0, 1.12 * max(counts))
            axes.set_xlabel("number")

        plots.append(
            Panel(field, description.dataset, about, drawing if names else None, len(names))
        )
    return {"labels": plots}


def _of_matrix(matrix: Matrix) -> Panels:
    from shroom.evaluation.matrix.matrix import NAMES, floor

    plots = []
    for place, subject in enumerate(matrix.subjects):
        least = {"one label": floor(subject)}
        cells = [(row.detector, row.cells[place]) for row in matrix.rows]
        star = footnote((name, cell.in_sample, subject.n) for name, cell in cells)
        for metric in sorted(NAMES, key=lambda name: name != "auroc"):
            lines = [
                Line(starred(name, cell.in_sample), cell.scores[metric], cell.intervals[metric])
                for name, cell in cells
            ]
            marks, label = beside(metric, least, is_binary=False), f"{metric}, n = {subject.n}"
            plots.append(forest(metric, subject.name, lines, label, marks, star=star))
    return {"scores": plots}


#: By the name of the class, so that no other package is imported than that of the result.
_PANELS: dict[str, Callable[[Any], Panels]] = {
    "Agreement": _of_agreement,
    "Calibration": _of_calibration,
    "Comparisons": _of_comparisons,
    "Description": _of_description,
    "Leaderboard": _of_leaderboard,
    "Matrix": _of_matrix,
    "Predictions": _of_predictions,
    "Score": _of_score,
}
