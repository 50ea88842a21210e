"""The figures of a report as panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Callable

from shroom.evaluation.differences import Comparison
from shroom.evaluation.report import Report, SystemReport, TrackReport
from shroom.report.figure_files import Panel
from shroom.report.system_plots import DASHED, OF_SYSTEM, Drawing
from shroom.scoring.display.html import LIGHT
from shroom.scoring.display.text import STAR, interval, number, shortened, starred
from shroom.scoring.kinds.base import floor_or_reference
from shroom.scoring.tables import Estimate

#: The number of letters of a name that fit if there are two names.
_HALF = 19
#: The name of a line is at the left, above the interval.
_NAME: Any = {
    "xycoords": ("axes fraction", "data"),
    "xytext": (1, 6),
    "textcoords": "offset points",
    "fontsize": 8,
    "color": LIGHT["ink"],
    "bbox": {"facecolor": LIGHT["paper"], "edgecolor": "none", "pad": 0.5},
}


#: A line of a forest plot: its name, its figure, and whether its dot is hollow.
Line = tuple[str, Estimate, bool]


def panels(kind: str, report: Report) -> list[Panel]:
    """Return the panels of a kind, track by track."""
    return [panel for track in report.tracks for panel in KINDS[kind](track)]


def scores(track: TrackReport) -> list[Panel]:
    first = track.systems[0]
    rows = {system.name: system.whole for system in track.systems}
    return forests(track.name, track.n, rows, first.score.floors)


def forests(
    name: str,
    n: int,
    rows: Mapping[str, Mapping[str, Estimate]],
    floors: Mapping[str, Mapping[str, float | None]],
) -> list[Panel]:
    """Return a forest plot of each metric; ``floors`` are scores of floors and references."""
    panels = []
    for metric in next(iter(rows.values()), ()):
        cells = {row: scores[metric] for row, scores in rows.items()}
        lines = [(f"{row}{STAR * bool(it.star)}", it, False) for row, it in cells.items()]
        marks = _best_floor(metric, floors)
        label = f"{metric.replace('_', ' ')}, n = {n}"
        panels.append(forest(metric, name, lines, label, marks))
    return panels


def _best_floor(metric: str, floors: Mapping[str, Mapping[str, float | None]]) -> dict[str, float]:
    """Return the highest score of the floors under its name; more names would overlap."""
    scores = {
        f"floor: {name}": score
        for name, floor in floors.items()
        if floor_or_reference(name) == "floor" and (score := floor.get(metric)) is not None
    }
    best = max(scores, key=lambda name: scores[name], default=None)
    return {} if best is None else {best: scores[best]}


def comparison(track: TrackReport) -> list[Panel]:
    alone = Panel("comparison", track.name, "there is only one system to compare", None)
    return differences(track.name, track.comparisons) or [alone]


def differences(name: str, comparisons: Sequence[Comparison]) -> list[Panel]:
    tables: dict[str, list[Comparison]] = {}
    for pair in comparisons:
        tables.setdefault(pair.metric, []).append(pair)
    panels = []
    for metric, pairs in tables.items():
        lines = []
        for pair in pairs:
            a, b = shortened(pair.a, _HALF), shortened(pair.b, _HALF)
            both = f"{starred(a, pair.a_in_sample)} − {starred(b, pair.b_in_sample)}"
            lines.append((both, Estimate(pair.difference, pair.ci), not pair.significant))
        about = "A filled dot marks a significant difference (†). Differences in "
        label = f"difference in {metric} (filled: significant)"
        panels.append(forest(metric, name, lines, label, {"none": 0.0}, about=about))
    return panels


def forest(
    title: str,
    name: str,
    lines: list[Line],
    label: str,
    marks: Mapping[str, float],
    *,
    about: str = "",
) -> Panel:
    """Return a forest plot of one metric; ``marks`` are vertical lines by name."""
    drawn = [line for line in lines if line[1].value is not None]
    parts = [
        f"{line}: {number(it.value)} {interval(it.ci)}".rstrip()
        if it.value is not None
        else f"{line}: undefined"
        for line, it, _ in lines
    ]
    words = f"{about}{title}: {'; '.join(parts)}."
    draw = partial(_draw_forest, lines=drawn, label=label, marks=marks)
    return Panel(title, name, words, draw if drawn else None, len(drawn))


def _draw_forest(axes: Any, lines: list[Line], label: str, marks: Mapping[str, float]) -> None:
    muted, rule, accent = (LIGHT[name] for name in ("muted", "rule", "accent"))
    axes.set_ylim(len(lines) - 0.4, -1.0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(label)
    axes.grid(visible=True, axis="x", color=rule, linewidth=0.5)
    ends = [end for _, it, _ in lines for end in (it.value or 0.0, *(it.ci or ()))]
    low, high = min([*ends, *marks.values()]), max([*ends, *marks.values()])
    room = 0.05 * (high - low) or 0.05
    axes.set_xlim(low - room, high + room)
    for name, place in marks.items():
        axes.axvline(place, **{**DASHED, "linewidth": 0.9})
        side, offset = ("left", 4) if place < (low + high) / 2 else ("right", -4)
        beside: Any = {"xytext": (offset, 0), "textcoords": "offset points", "ha": side}
        if name != "none":
            axes.annotate(name, (place, -0.98), va="top", fontsize=7.5, color=muted, **beside)
    for row, (name, it, is_hollow) in enumerate(lines):
        if it.ci is not None:
            axes.plot(it.ci, [row, row], color=accent, linewidth=2.2, solid_capstyle="round")
        face = LIGHT["paper"] if is_hollow else accent
        dot: Any = {"markerfacecolor": face, "markeredgecolor": accent, "markeredgewidth": 1.4}
        axes.plot(it.value or 0.0, row, "o", markersize=6, **dot)
        axes.annotate(shortened(name), (0, row), **_NAME)


def _by_system(figure: Callable[[SystemReport], Drawing]) -> Callable[[TrackReport], list[Panel]]:
    none = "this figure needs binary labels, which this edition does not have", None
    return lambda track: [
        Panel(
            starred(system.name, system.in_sample),
            track.name,
            *(figure(system) if system.is_binary else none),
        )
        for system in track.systems
    ]


#: The kinds of figures, by name.
KINDS: dict[str, Callable[[TrackReport], list[Panel]]] = {
    "scores": scores,
    **{kind: _by_system(drawing) for kind, drawing in OF_SYSTEM.items()},
    "comparison": comparison,
}
