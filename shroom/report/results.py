"""Results as pages and notebook views, and single figures of results."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from shroom.core.extras import require
from shroom.core.problems import ShroomError, UnknownName, printable
from shroom.core.registry import unknown_name
from shroom.report.figure_files import Panel, inline, on_axes
from shroom.scoring.display import html
from shroom.scoring.display.html import inside
from shroom.scoring.result import Result

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
    place = result.figures_after
    if place is not None:
        require("report", "matplotlib")
        drawn = figures([panel for kind in result.panels().values() for panel in kind])
        parts.insert(place + bool(result.verdict), drawn)
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
    note = f'<p class="note">{escape(panel.star)}</p>' if panel.star else ""
    figure = inline(panel, f"shroom-{key}")
    return f"<figure><figcaption>{escape(caption)}</figcaption>{figure}{note}</figure>\n"


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
