"""The figures of a report as panels: what each shows, in words and in a drawing.

A panel is drawn on any axes of matplotlib: inside a page by itself, in a file beside others. Where
there is nothing to draw, it says why instead. Those that compare systems are forest plots, made
here: a line for each of several things, with a dot and an interval on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from shroom.evaluation.differences import Comparison
from shroom.evaluation.report import Report, TrackReport
from shroom.evaluation.system_report import BinaryReport, SystemReport
from shroom.report.figure_files import Panel, shortened
from shroom.report.system_plots import Drawing, confusion, reliability, scatter, threshold
from shroom.scoring.display.style import LIGHT
from shroom.scoring.display.text import footnote, interval, number, starred

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: How many letters of a name there is room for beside another one.
_HALF = 19


class Line(NamedTuple):
    """What one line shows.

    Attributes
    ----------
    name : str
        Stands above it.
    value : float
        The dot.
    ci : tuple of float or None
        The interval.
    hollow : bool
        Whether the dot is empty.
    """

    name: str
    value: float
    ci: Sequence[float] | None
    hollow: bool = False


def panels(kind: str, report: Report) -> list[Panel]:
    """Return the panels of a kind, those of one track after those of the other."""
    return [
        replace(panel, star=star(track)) for track in report.tracks for panel in KINDS[kind](track)
    ]


def star(track: TrackReport) -> str:
    """Return what the star behind a system's name means; nothing where no system has one."""
    return footnote((system.name, system.in_sample, track.n) for system in track.systems)


def scores(track: TrackReport) -> list[Panel]:
    """Return a forest plot of each metric: every system's score with its interval."""
    panels = []
    for metric in track.systems[0].whole:
        lines, undefined = [], []
        for system in track.systems:
            score = system.whole[metric]
            if score.value is None:
                undefined.append(
                    f"{starred(system.name, system.in_sample)}: undefined: {score.why}"
                )
            else:
                lines.append(Line(starred(system.name, system.in_sample), score.value, score.ci))
        about = _in_words(metric, lines, undefined)
        marks = _floors(track, metric) if lines else {}
        panels.append(_forest(metric, track, about, lines, f"{metric}, n = {track.n}", marks))
    return panels


def _floors(track: TrackReport, metric: str) -> dict[str, float]:
    """Return what to draw beside the systems: what needs no model, or what binary p can reach."""
    system = track.systems[0]
    values = {name: floor.get(metric) for name, floor in system.score.floors.items()}
    defined = {name: value for name, value in values.items() if value is not None}
    if system.binary is None:  # the best one alone, since names would overlap
        best = max(defined, key=lambda name: defined[name], default="")
    else:
        best = {"accuracy": "majority label", "rho": "gold label as p"}.get(metric, "")
    return {name: value for name, value in defined.items() if name == best}


def ranks(track: TrackReport) -> list[Panel]:
    """Return the rank of every system with its interval."""
    ordered = sorted(
        (system for system in track.systems if system.rank is not None),
        key=lambda system: system.rank or 0,
    )
    lines = [
        Line(starred(system.name, system.in_sample), float(system.rank or 0), system.rank_ci)
        for system in ordered
    ]
    if not lines:
        return [Panel("ranks", track.name, "one system alone has no rank", None)]
    places = [
        f"{line.name}: {line.value:g}" + (f", {line.ci[0]} to {line.ci[1]}" if line.ci else "")
        for line in lines
    ]
    first, *rest = track.systems[0].whole
    ties = f", ties by {rest[0]}" if rest else ""
    about = f"Ranks by {first}{ties}. " + "; ".join(places) + "."
    return [_forest("ranks", track, about, lines, "rank, the best to the left", {}, integers=True)]


def comparison(track: TrackReport) -> list[Panel]:
    """Return the differences of all pairs of systems with their intervals, by metric."""
    tables: dict[str, list[Comparison]] = {}
    for pair in track.comparisons:
        tables.setdefault(pair.metric, []).append(pair)
    if not tables:
        return [Panel("comparison", track.name, "there is only one system to compare", None)]
    panels = []
    for metric, pairs in tables.items():
        lines, undefined = [], []
        for pair in pairs:
            a, b = shortened(pair.a, _HALF), shortened(pair.b, _HALF)
            name = f"{starred(a, pair.a_in_sample)} − {starred(b, pair.b_in_sample)}"
            if pair.difference is None:
                undefined.append(f"{name}: undefined, as one of the scores is")
            else:
                lines.append(Line(name, pair.difference, pair.ci, hollow=not pair.is_real))
        about = "Differences; filled where the systems differ significantly. " + _in_words(
            metric, lines, undefined
        )
        label = f"difference in {metric} (filled: significant)"
        panels.append(_forest(metric, track, about, lines, label, {"none": 0.0} if lines else {}))
    return panels


def _forest(
    title: str,
    track: TrackReport,
    about: str,
    lines: list[Line],
    label: str,
    marks: dict[str, float],
    *,
    integers: bool = False,
) -> Panel:
    def draw(axes: Axes) -> None:
        draw_forest(axes, lines, label, marks, integers=integers)

    return Panel(title, track.name, about, draw if lines else None, len(lines))


def draw_forest(
    axes: Axes, lines: list[Line], label: str, marks: dict[str, float], *, integers: bool
) -> None:
    """Draw lines from above; ``marks`` are vertical, ``integers``: only integers on the axis."""
    ink, muted, rule, accent = (LIGHT[name] for name in ("ink", "muted", "rule", "accent"))
    axes.set_ylim(len(lines) - 0.4, -1.0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(label)
    axes.grid(visible=True, axis="x", color=rule, linewidth=0.5)
    ends = [end for line in lines for end in (line.value, *(line.ci or ()))]
    low, high = min(*ends, *marks.values()), max(*ends, *marks.values())
    room = 0.05 * (high - low) or 0.05
    axes.set_xlim(low - room, high + room)
    if integers:
        axes.set_xlim(0.5, high + 0.5)
        axes.locator_params(axis="x", integer=True)
    for name, place in marks.items():
        axes.axvline(place, color=muted, linewidth=0.9, linestyle=(0, (3, 3)))
        side = "left" if place < (low + high) / 2 else "right"
        text = f" {name} " if name != "none" else ""
        axes.text(place, -0.98, text, ha=side, va="top", fontsize=7.5, color=muted)
    for row, line in enumerate(lines):
        if line.ci is not None:
            axes.plot(line.ci, [row, row], color=accent, linewidth=2.2, solid_capstyle="round")
        face = LIGHT["paper"] if line.hollow else accent
        axes.plot(
            line.value,
            row,
            "o",
            markersize=6,
            markerfacecolor=face,
            markeredgecolor=accent,
            markeredgewidth=1.4,
        )
        axes.annotate(
            shortened(line.name),
            (0, row),
            xycoords=("axes fraction", "data"),
            xytext=(1, 6),
            textcoords="offset points",
            fontsize=8,
            color=ink,
            bbox={"facecolor": LIGHT["paper"], "edgecolor": "none", "pad": 0.5},
        )


def _in_words(metric: str, lines: list[Line], undefined: list[str]) -> str:
    """Return a forest plot in words."""
    parts = [f"{line.name}: {number(line.value)} {interval(line.ci)}".rstrip() for line in lines]
    return f"{metric}: " + "; ".join([*parts, *undefined]) + "."


def _by_system(
    figure: Callable[[SystemReport, BinaryReport], Drawing],
) -> Callable[[TrackReport], list[Panel]]:
    def drawn(system: SystemReport) -> tuple[str, Any]:
        if system.binary is None:
            return "it shows labels with p(Hallucination), and this edition has others", None
        return figure(system, system.binary)

    return lambda track: [
        Panel(starred(system.name, system.in_sample), track.name, *drawn(system))
        for system in track.systems
    ]


#: The kinds of figures, by name.
KINDS: dict[str, Callable[[TrackReport], list[Panel]]] = {
    "scores": scores,
    "reliability": _by_system(reliability),
    "threshold": _by_system(threshold),
    "confusion": _by_system(confusion),
    "scatter": _by_system(scatter),
    "comparison": comparison,
    "ranks": ranks,
}
