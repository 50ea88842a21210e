"""What a notebook shows of a result: the tables of its page, and some of its plots."""

from __future__ import annotations

import hashlib
import importlib.util
from html import escape

from shroom.report.figure_files import Panel, inline
from shroom.report.page_templates import STYLE, content
from shroom.report.result_plots import panels
from shroom.scoring.display.html import track_table
from shroom.scoring.display.style import inside
from shroom.scoring.display.text import confidence
from shroom.scoring.results import Score
from shroom.scoring.tabular import Tabular, table_of

#: The most figures that are shown without being asked for, and the most rows of one.
_FIGURES, _ROWS = 4, 30
#: Notebooks have rules of their own for tables; a class that is named three times comes before.
_SELECTOR = ".shroom.shroom.shroom"
_STYLE = f"""<style>
{inside(_SELECTOR)}
{_SELECTOR} {{ {STYLE}
  tr {{ background: none; }}
  table {{ margin: 0; color: var(--ink); table-layout: auto; }}
  header, nav {{ display: none; }}
  h2 {{ font-size: 1.1rem; margin: .75rem 0 .25rem; padding: 0; border: 0; }}
}}
</style>"""


def html(result: Tabular) -> str:
    """Return a result as part of a page, with the look of the kit's pages.

    Without Jinja2 or Matplotlib, it has only the rows or no plots.
    """
    figures = _figures(result) if importlib.util.find_spec("matplotlib") else ""
    return f'<div class="shroom">{_STYLE}{_tables(result)}{figures}</div>'


def _tables(result: Tabular) -> str:
    kind = type(result).__name__
    if kind == "Score":
        return _of_score(result)  # type: ignore[arg-type]
    if kind in ("Leaderboard", "Matrix") and importlib.util.find_spec("jinja2"):
        name = {"Leaderboard": "leaderboard_table", "Matrix": "matrix"}[kind]
        module = importlib.import_module(f"shroom.report.{name}")
        return content(module.TEMPLATE, **module.values(result))
    if kind == "Comparisons" and importlib.util.find_spec("jinja2"):
        from shroom.report.comparison import sections

        return content("sections.html.jinja", sections=[*sections(result)])  # type: ignore[arg-type]
    parts = {"": result.records()}
    if kind == "Description":
        tables = result.tables.values()  # type: ignore[attr-defined]
        parts = {table.about: table.rows for table in tables if table.rows}
    shown = [f"<p>{escape(repr(result))}</p>"]
    for about, rows in parts.items():
        head = f"<h2>{escape(about)}</h2>" if about else ""
        name = escape(about or repr(result), quote=True)
        region = f'<div class="wide" role="region" tabindex="0" aria-label="{name}">'
        table = table_of(rows, 10 if kind == "Predictions" else 60)
        shown.append(f"{head}{region}{table}</div>" if rows else "")
    return "".join(shown)


def _of_score(score: Score) -> str:
    heads = confidence(score.intervals) if score.intervals.resamples else ""
    results = [*score.results, *score.mean_results]
    return "".join(track_table(result, heads) for result in results)


def _figures(result: Tabular) -> str:
    kinds = panels(result)
    # The table of a score has a mark in each row, so that its forest plot would say it again.
    first = [name for name in ("reliability", "scatter") if name in kinds] or [*kinds][:1]
    listed = [panel for name in first for panel in kinds[name]]
    drawn = [panel for panel in listed if panel.draw and panel.rows <= _ROWS][:_FIGURES]
    return f'<div class="figures">{"".join(map(_figure, drawn))}</div>' if drawn else ""


def _figure(panel: Panel) -> str:
    caption = ", ".join(filter(None, [panel.title, panel.track]))
    # Ids are unique in a notebook, and the same each time that it is run.
    key = hashlib.sha256(f"{caption} {panel.about}".encode()).hexdigest()[:8]
    note = f'<p class="note">{escape(panel.star)}</p>' if panel.star else ""
    figure = inline(panel, f"shroom-{key}")
    return f"<figure><figcaption>{escape(caption)}</figcaption>{figure}{note}</figure>"
