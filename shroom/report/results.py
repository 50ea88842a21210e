"""Results as pages and notebook views, and the figures of each kind of result."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from shroom.core.extras import require
from shroom.core.problems import ShroomError, UnknownName, printable
from shroom.core.registry import unknown_name
from shroom.report.figure_files import Panel, inline, on_axes
from shroom.report.report_plots import differences, forests
from shroom.report.system_plots import DASHED, OF_SYSTEM, draw_reliability
from shroom.scoring.display import html
from shroom.scoring.display.html import LIGHT, inside
from shroom.scoring.display.text import number, starred
from shroom.scoring.result import Result

#: The panels of a result by their kinds; the first kind is drawn by default.
Panels = dict[str, list[Panel]]
#: The folder of the report's template and of the script.
TEMPLATES = Path(__file__).parent / "templates"
#: The largest number of figures in a notebook view, and of rows of a figure.
_FIGURES, _ROWS = 4, 30
#: Naming the class three times overrides the notebook's own rules for tables.
_SELECTOR = ".shroom.shroom.shroom"
_STYLE = f"""<style>
{inside(_SELECTOR)}
{_SELECTOR} {{
  tr {{ background: none; }}
  table {{ margin: 0; color: var(--ink); table-layout: auto; }}
  h2 {{ font-size: 1.1rem; margin: .75rem 0 .25rem; padding: 0; border: 0; }}
}}
</style>"""


def page(result: Result) -> str:
    parts = html.sections(result.with_verdict(result.page_tables()))
    if result.figures_after is not None:
        require("report", "matplotlib")
        drawn = figures([panel for kind in result.panels().values() for panel in kind])
        parts.insert(result.figures_after + bool(result.verdict), drawn)
    return html.page(result.heading, "".join(parts), script=script())


def script() -> str:
    return (TEMPLATES / "page.js").read_text(encoding="utf-8")


def in_notebook(result: Result) -> str:
    """Return a result as HTML for a notebook."""
    drawn = ""
    if importlib.util.find_spec("matplotlib"):
        kinds = result.panels()
        # Tables already mark intervals, so a forest plot would repeat them.
        first = [name for name in ("reliability", "scatter") if name in kinds] or [*kinds][:1]
        listed = [panel for name in first for panel in kinds[name]]
        drawn = figures([it for it in listed if it.draw and it.rows <= _ROWS][:_FIGURES])
    tables = html.html(result.with_verdict(result.page_tables()))
    return f'<div class="shroom">{_STYLE}<p>{escape(repr(result))}</p>{tables}{drawn}</div>'


def figures(panels: Sequence[Panel]) -> str:
    """Return panels as HTML; instead of one that cannot be drawn, the reason."""
    shown = "".join(
        _figure(panel)
        if panel.draw
        else f'<p class="why">{escape(printable(f"{panel.title}: {panel.about}"))}</p>\n'
        for panel in panels
    )
    return f'<div class="figures">\n{shown}</div>\n' if panels else ""


def _figure(panel: Panel) -> str:
    caption = printable(", ".join(filter(None, [panel.title, panel.track])))
    # Ids are unique in a page and reproducible.
    key = hashlib.sha256(f"{caption} {panel.about}".encode()).hexdigest()[:8]
    figure = inline(panel, f"shroom-{key}")
    return f"<figure><figcaption>{escape(caption)}</figcaption>{figure}</figure>\n"


def draw(result: Result, kind: str, track: str, metric: str, ax: Any) -> Any:
    require("report", "matplotlib")
    kinds: dict[str, list[Any]] = result.panels()
    if kinds and kind and kind not in kinds:
        raise unknown_name("figure", kind, kinds)
    of_kind = kinds[kind or next(iter(kinds))] if kinds else []
    chosen = [
        panel
        for panel in of_kind
        if metric in ("", panel.title) and (not track or f" {panel.track}".endswith(f" {track}"))
    ]
    if not chosen:
        names = "; ".join(dict.fromkeys(f"{it.track}: {it.title}" for it in of_kind))
        listed = f"the figures are {names}" if names else "it has no figures"
        raise UnknownName(f"{result!r} has no such figure; {listed}")
    if all(panel.draw is None for panel in chosen):
        raise ShroomError(f"nothing can be drawn: {chosen[0].about}")
    return on_axes(next(panel for panel in chosen if panel.draw), ax)


def of_score(score: Any) -> Panels:
    from shroom.evaluation.report import SystemReport

    kinds: Panels = {"scores": []}
    binary = score.edition.annotation.kind == "binary"
    for result, track in zip(score.results, score.tracks):
        rows = {name or "all items": cells for name, (_, cells) in result.parts.items()}
        drawn = {"scores": forests(result.title, result.n, rows, result.floors)}
        if binary:
            system = SystemReport("the submission", result, track)
            for kind, drawing in OF_SYSTEM.items():
                title = starred(kind, result.in_sample)
                drawn[kind] = [Panel(title, result.title, *drawing(system))]
        for kind, panels in drawn.items():
            kinds.setdefault(kind, []).extend(panels)
    return kinds


def of_leaderboard(board: Any) -> Panels:
    panels: list[Panel] = []
    for name, rows in board.tracks.items():
        systems = [row for row in rows if row.kind == "system"]
        others = {row.system: row.scores for row in rows if row.kind != "system"}
        scores = {row.system: row.estimates for row in systems}
        panels += forests(name, rows[0].n, scores, others)
    return {"scores": panels}


def of_comparisons(comparisons: Any) -> Panels:
    by_track: dict[str, list[Any]] = {}
    for pair in comparisons.comparisons:
        by_track.setdefault(pair.place, []).append(pair)
    return {"comparison": [it for name, of in by_track.items() for it in differences(name, of)]}


def of_calibration(calibration: Any) -> Panels:
    plots = []
    for result in calibration.results:
        before, after = result.before.curve, result.after.curve
        errors = [number(curve.expected_error) for curve in (before, after)]
        about = f"Expected calibration error: {errors[0]} before and {errors[1]} after calibration."
        curves = {"as given": before, "calibrated": after}
        name = f"{result.split} {result.track}".strip()
        drawing = partial(draw_reliability, curves=curves, counted=after)
        title = starred("reliability", result.in_sample)
        plots.append(Panel(title, name, about, drawing))
    return {"reliability": plots}


def of_probe(saved: Any) -> Panels:
    from shroom.annotate.saved_probe import HEADS

    return {"layers": [_by_layer(saved, name, head) for name, head in HEADS.items()]}


def _by_layer(saved: Any, name: str, head: str) -> Panel:
    figures = saved.figures
    values = "; ".join(f"layer {n} {number(f[name].value)}" for n, f in figures.layers.items())
    floor = f"floor, majority label: {figures.floor[name]:.3f}"
    about = f"Cross-validated {head} by layer: {values}; {floor}."
    drawn = [(n, f[name].value) for n, f in figures.layers.items() if f[name].value is not None]
    bands = [(n, *f[name].ci) for n, f in figures.layers.items() if f[name].ci is not None]

    def draw(axes: Any) -> None:
        axes.set(xlabel="layer", ylabel=head)
        axes.locator_params(axis="x", integer=True)
        accent = LIGHT["accent"]
        axes.axhline(figures.floor[name], **DASHED)
        if drawn:
            axes.plot(*zip(*drawn), marker="o", markersize=3.5, linewidth=1.2, color=accent)
        if bands:
            axes.fill_between(*zip(*bands), color=accent, alpha=0.12, linewidth=0)

    return Panel(head, printable(saved.name), about, draw)
