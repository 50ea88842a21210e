"""Pages from templates: the filters, figures and columns that several pages have."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.extras import require
from shroom.core.problems import printable
from shroom.core.version import __version__
from shroom.metrics.intervals import Intervals
from shroom.scoring.display.html import interval_cell, scale, whisker
from shroom.scoring.display.style import document
from shroom.scoring.display.text import confidence, number, p_value, starred
from shroom.scoring.tables import Estimate

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent / "templates"
#: What the large pages add to the stylesheet of all pages.
STYLE = (_FOLDER / "page.css").read_text(encoding="utf-8")


def rendered(template: str, title: str, **values: Any) -> str:
    """Return a page made from a template, with the stylesheet and the script of the large pages.

    Every value is escaped; a value that a template needs and does not get is an error.
    """
    body = content(template, **values)
    # A file that comes from a checkout with other line ends must hash as the page has it.
    script = (_FOLDER / "page.js").read_text(encoding="utf-8")
    return document(title, body, style=STYLE, script=script)


def content(template: str, **values: Any) -> str:
    """Return the content of a page, without the document around it; see :func:`rendered`."""
    require("report", "jinja2")
    return _environment().get_template(template).render(version=__version__, **values)


def column_head(intervals: Intervals) -> str:
    """Return the head of a column of intervals, empty where there are none."""
    return confidence(intervals) if intervals.resamples else ""


def span_of(
    estimates: Iterable[tuple[float | None, tuple[float, float] | None]], least: float = -1.0
) -> tuple[float, float]:
    """Return the ends of the scale on which values and their intervals are drawn.

    Examples
    --------
    >>> span_of([(0.62, (0.55, 0.71)), (0.5, None), (None, None)])
    (0.5, 0.8)
    """
    ends = [end for value, interval in estimates for end in (value, *(interval or ()))]
    return scale(ends, least=least, greatest=1.0)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: _lines(value) if type(value) is str else value,  # not markup
    )
    environment.filters.update(
        figure=_figure,
        interval=lambda bounds: Markup(interval_cell(Estimate(None, bounds))),  # noqa: S704 - notes are escaped
        lines=_lines,
        number=number,
        printable=printable,
        short=_short,
        p_value=p_value,
        span=_span,
        starred=starred,
        whisker=lambda *values: Markup(whisker(*values)),  # noqa: S704 - it has only numbers
    )
    return environment


def _figure(cell: str) -> str:
    """Return the number by which a cell is sorted: its first one; nothing where it has none."""
    number = re.search(r"[-+]?\d[\d.]*", cell)
    return number[0] if number else ""


def _lines(text: str) -> str:
    """Return a text with control characters as escapes, except line ends."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _short(value: float) -> str:
    """Return p with four significant digits."""
    return f"{value:.4g}"


def _span(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.3g} to {ends[1]:.3g}"
