"""The results of training a probe: as text, as figures and as a page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from shroom.annotate.probe.train import describe_left_out
from shroom.core.extras import require
from shroom.core.problems import printable
from shroom.report.figure_files import Panel, in_page
from shroom.report.page_templates import column_head, rendered, span_of
from shroom.scoring.display.columns import align
from shroom.scoring.display.style import LIGHT
from shroom.scoring.display.text import doubts, interval, methods, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shroom.annotate.probe.fitting import Scores
    from shroom.annotate.probe.saved_probe import SavedProbe

#: The metrics as heads of columns.
HEADS = {"accuracy": "accuracy", "balanced_accuracy": "balanced", "auroc": "AUROC"}
FLOOR = "floor: majority label"
NESTED = "best, chosen within folds"
_POSITIONS = {
    "last": "at the question's last token",
    "before-answer": "at the last token before the answer",
}


def text(saved: SavedProbe) -> str:
    """Return the table of all layers, with notes."""
    figures = saved.figures
    rows: list[tuple[str, ...] | None] = [header(saved), None]
    rows += [
        (f"layer {layer}{' *' if layer == figures.best else ''}", *_cells(scores))
        for layer, scores in figures.layers.items()
    ]
    floor = [cell for name in HEADS for cell in (number(figures.floor[name]), "")]
    rows += [None, (NESTED, *_cells(figures.nested)), (FLOOR, *floor)]
    lines = [*align(rows), "", *(f"- {sentence}" for sentence in notes(saved))]
    return "\n".join(lines) + "\n"


def header(saved: SavedProbe) -> tuple[str, ...]:
    """Return the heads of the columns."""
    intervals = column_head(saved.figures.how)
    return ("", *(cell for head in HEADS.values() for cell in (head, intervals)))


def _cells(scores: Scores) -> list[str]:
    return [
        cell
        for name in HEADS
        for cell in (number(scores.scores[name]), interval(scores.intervals[name]))
    ]


def notes(saved: SavedProbe) -> list[str]:
    """Return how the figures were computed, and their limits."""
    figures, intervals = saved.figures, saved.figures.how
    out = f"; {describe_left_out(saved.left_out)}" if saved.left_out else ""
    counts = ", ".join(f"layer {n} {k}x" for n, k in Counter(figures.chosen).items())
    n, place = figures.right + figures.wrong, _POSITIONS[saved.frame.position]
    best = (
        f"* layer {figures.best}: the greatest AUROC; as the best of {len(figures.layers)}, it "
        f"looks better than it is; '{NESTED}' chooses by the other folds only ({counts})"
    )
    sentences = [
        f"{n} questions: {figures.right} all-right, {figures.wrong} all-wrong{out}",
        f"states of {printable(saved.name)} {place}, {saved.frame.mode} mode",
        f"out of fold: {figures.folds} folds, seed {figures.seed}, C chosen within each",
        best,
    ]
    if intervals.resamples:
        sentences.append(
            f"intervals: {methods(intervals)}, {intervals.resamples} bootstrap resamples of the "
            f"questions, seed {intervals.seed}; the training is not drawn anew"
        )
        parts = {NESTED: figures.nested, **{f"layer {n}": one for n, one in figures.layers.items()}}
        sentences += doubts(
            (f"{part}, {name}", ci)
            for part, it in parts.items()
            for name, ci in it.intervals.items()
        )
    if not saved.curve.rises:
        sentences.append(
            "out of fold the best probe is no better than chance, so its p is constant"
        )
    return sentences


def panels(saved: SavedProbe) -> list[Panel]:
    """Return a figure of each metric: its value by layer."""
    return [_panel(saved, name) for name in HEADS]


def _panel(saved: SavedProbe, name: str) -> Panel:
    figures = saved.figures
    values = "; ".join(f"layer {n} {number(f.scores[name])}" for n, f in figures.layers.items())
    about = (
        f"{HEADS[name]} out of fold by layer; the majority has {figures.floor[name]:.3f}: {values}."
    )
    points = [(n, f.scores[name], f.intervals[name]) for n, f in figures.layers.items()]
    drawn = [(n, y) for n, y, _ in points if y is not None]
    bands = [(n, *ci) for n, _, ci in points if ci is not None]

    def draw(axes: Axes) -> None:
        axes.set_xlabel("layer")
        axes.set_ylabel(HEADS[name])
        axes.locator_params(axis="x", integer=True)
        muted, accent = LIGHT["muted"], LIGHT["accent"]
        axes.axhline(figures.floor[name], color=muted, linewidth=0.8, linestyle=(0, (3, 3)))
        if drawn:
            x, y = zip(*drawn)
            axes.plot(x, y, marker="o", markersize=3.5, linewidth=1.2, color=accent)
        if bands:
            x, low, high = zip(*bands)
            axes.fill_between(x, low, high, color=accent, alpha=0.12, linewidth=0)

    return Panel(HEADS[name], printable(saved.name), about, draw)


def page(saved: SavedProbe) -> str:
    """Return a page with the figures and the table, which needs nothing but itself.

    Raises
    ------
    ShroomError
        If jinja2 or matplotlib is missing.
    """
    require("report", "jinja2", "matplotlib")
    figures = saved.figures
    estimates = (
        (scores.scores[name], scores.intervals[name])
        for scores in figures.layers.values()
        for name in HEADS
    )
    return rendered(
        "probe.html.jinja",
        "SHROOM: knowledge probe",
        model=saved.name,
        best=figures.best,
        confidence=column_head(figures.how),
        metrics=HEADS,
        layers=list(figures.layers.items()),
        beside=[(NESTED, figures.nested.scores), (FLOOR, figures.floor)],
        drawn=in_page(panels(saved), "figure"),
        notes=notes(saved),
        span=span_of(estimates, least=0.0),
    )
