"""The templates of the pages, with what they need of the kit's words."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.extras import require
from shroom.core.problems import printable
from shroom.scoring.display.in_sample_stars import starred
from shroom.scoring.display.marks import whisker
from shroom.scoring.display.style import document
from shroom.scoring.display.text import interval, number, p_value

if TYPE_CHECKING:
    from jinja2 import Environment

_FOLDER = Path(__file__).parent / "templates"


def rendered(template: str, title: str, **values: Any) -> str:
    """Return a page made from a template, with the stylesheet and the script of the large pages.

    Every value is escaped; what a template is not given is an error.
    """
    require("report", "jinja2")
    body = _environment().get_template(template).render(**values)
    # A file that comes from a checkout with other line ends must hash as the page has it.
    style, script = (
        (_FOLDER / name).read_text(encoding="utf-8") for name in ("page.css", "page.js")
    )
    return document(title, body, style=style, script=script)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    found = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(
        interval=interval,
        lines=_lines,
        number=number,
        printable=printable,
        short=_short,
        p_value=p_value,
        span=_span,
        starred=starred,
        whisker=lambda *given: Markup(whisker(*given)),  # noqa: S704 - it is made of numbers
    )
    return found


def _lines(text: str) -> str:
    """Return a text as it may be shown: what steers is written as an escape, but not line ends."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _short(value: float) -> str:
    """Return p with the digits that tell it apart."""
    return f"{value:.4g}"


def _span(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.3g} to {ends[1]:.3g}"
