"""The results of training a probe: as text, as figures and as a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shroom.annotate.probe.train import describe_left_out
from shroom.core.extras import require
from shroom.core.problems import printable
from shroom.report.figure_files import Panel, in_page
from shroom.report.page_templates import column_head, rendered, span_of
from shroom.scoring.display.style import LIGHT
from shroom.scoring.display.text import align, interval, kind, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shroom.annotate.probe.saved_probe import SavedProbe
    from shroom.annotate.probe.site_search import Scores
    from shroom.annotate.probe.sites import Site

#: The metrics as heads of columns.
HEADS = {"accuracy": "accuracy", "balanced_accuracy": "balanced", "auroc": "AUROC"}
FLOOR = "floor: majority label"
NESTED = "best, chosen within folds"
_POSITIONS = {
    "last": "at the question's last token",
    "before-answer": "at the last token before the answer",
}
#: How each kind is drawn.
_DRAWN = {"layers": ("accent", "o"), "mlp": ("second", "s"), "heads": ("ink", "D")}


def text(saved: SavedProbe) -> str:
    """Return the table of all sites, with notes."""
    figures = saved.figures
    rows: list[tuple[str, ...] | None] = [header(saved), None]
    rows += [
        (f"{site}{' *' if site == figures.best else ''}", *_cells(scores))
        for site, scores in figures.sites.items()
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
    chosen = [str(site) for site in figures.chosen]
    counts = ", ".join(f"{site} {chosen.count(site)}x" for site in dict.fromkeys(chosen))
    n, place = figures.right + figures.wrong, _POSITIONS[saved.frame.position]
    best = (
        f"* {figures.best}: the greatest AUROC; being the best of {len(figures.sites)}, its own "
        f"figures are too good; '{NESTED}' chooses for each fold from the others alone ({counts})"
    )
    sentences = [
        f"{n} questions: {figures.right} all-right, {figures.wrong} all-wrong{out}",
        f"states of {printable(saved.name)} {place}, {saved.frame.mode} mode",
        f"out of fold: {figures.folds} folds, seed {figures.seed}, C chosen within each",
        best,
    ]
    if intervals.resamples:
        sentences.append(
            f"intervals: {kind(intervals)}, {intervals.resamples} bootstrap resamples of the "
            f"questions, seed {intervals.seed}; the training is not drawn anew"
        )
    if not saved.curve.rises:
        sentences.append(
            "out of fold the best probe is no better than chance, so its p is constant"
        )
    return sentences


def panels(saved: SavedProbe) -> list[Panel]:
    """Return a figure of each metric: its value by layer, and kind of states."""
    return [_panel(saved, name) for name in HEADS]


def _panel(saved: SavedProbe, name: str) -> Panel:
    figures = saved.figures
    by_kind: dict[str, dict[Site, Scores]] = {}
    for site, scores in figures.sites.items():
        by_kind.setdefault(site.kind, {})[site] = scores
    values = "; ".join(f"{site} {number(f.scores[name])}" for site, f in figures.sites.items())
    about = (
        f"{HEADS[name]} out of fold by layer; the majority has {figures.floor[name]:.3f}: {values}."
    )

    def draw(axes: Axes) -> None:
        axes.set_xlabel("layer")
        axes.set_ylabel(HEADS[name])
        axes.locator_params(axis="x", integer=True)
        muted = LIGHT["muted"]
        axes.axhline(figures.floor[name], color=muted, linewidth=0.8, linestyle=(0, (3, 3)))
        for label, scores in by_kind.items():
            _draw(axes, label, scores, name)
        # Above the axes, where it hides nothing.
        axes.legend(
            loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False, borderaxespad=0.1
        )

    return Panel(HEADS[name], printable(saved.name), about, draw)


def _draw(axes: Axes, kind_: str, scores: Mapping[Site, Scores], name: str) -> None:
    colour, marker = LIGHT[_DRAWN[kind_][0]], _DRAWN[kind_][1]
    points = [(s.layer, f.scores[name], f.intervals[name]) for s, f in scores.items()]
    drawn = [(x, y, ci) for x, y, ci in points if y is not None]
    by_head = any(site.head is not None for site in scores)
    axes.plot(
        [x for x, _, _ in drawn],
        [y for _, y, _ in drawn],
        marker=marker,
        markersize=3.5,
        linewidth=0 if by_head else 1.2,
        color=colour,
        alpha=0.6 if by_head else 1,
        label=kind_,
    )
    between = [(x, ci) for x, _, ci in drawn if ci is not None]
    if between and not by_head:
        axes.fill_between(
            [x for x, _ in between],
            [ci[0] for _, ci in between],
            [ci[1] for _, ci in between],
            color=colour,
            alpha=0.12,
            linewidth=0,
        )


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
        for scores in figures.sites.values()
        for name in HEADS
    )
    return rendered(
        "probe.html.jinja",
        "SHROOM: knowledge probe",
        model=saved.name,
        best=str(figures.best),
        by_head=any(site.head is not None for site in figures.sites),
        confidence=column_head(figures.how),
        metrics=HEADS,
        sites=list(figures.sites.items()),
        beside=[(NESTED, figures.nested.scores), (FLOOR, figures.floor)],
        drawn=in_page(panels(saved), "figure"),
        notes=notes(saved),
        span=span_of(estimates, least=0.0),
    )
