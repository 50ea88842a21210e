"""Panels as files and inside pages; the same panels always give the same bytes."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any, Callable

from shroom.core.problems import ShroomError, printable
from shroom.scoring.display.html import LIGHT
from shroom.scoring.display.text import shortened

#: The metadata of each format of figure files; without it, the bytes are reproducible.
_METADATA = {
    "svg": ("Creator", "Date", "Format", "Type"),
    "pdf": ("CreationDate", "Creator", "Producer"),
    "png": ("Software",),
}
#: The formats of figure files.
FORMATS = tuple(_METADATA)
#: Inches: the width of a panel in a page, so that its letters can be read on a phone.
_IN_PAGE = 3.1
#: Inches: the width of a figure in a file, and the least width of a panel in it.
_IN_FILE, _LEAST = 16 / 2.54, 3.0
#: Dots per inch of a PNG.
_DPI = 300
#: Inches: the width of a plot in a notebook.
_PLOT_WIDTH = 5.5
#: Inches: the height of a forest plot without rows, and of a row.
_AROUND, _ROW = 0.75, 0.36

_RC: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": LIGHT["muted"],
    "axes.facecolor": "none",
    "axes.labelcolor": LIGHT["muted"],
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "none",
    "font.family": ["DejaVu Sans"],
    "font.size": 8,
    "legend.borderaxespad": 0.1,
    "legend.columnspacing": 1.2,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.handlelength": 1.4,
    "legend.labelcolor": LIGHT["ink"],
    "pdf.fonttype": 42,
    "svg.hashsalt": "shroom",
    "text.color": LIGHT["ink"],
    "text.parse_math": False,  # a name may hold dollar signs
    "xtick.color": LIGHT["muted"],
    "xtick.labelsize": 8,
    "ytick.color": LIGHT["muted"],
    "ytick.labelsize": 8,
}


@dataclass(frozen=True)
class Panel:
    """A figure before it is drawn; ``about`` describes it, or gives the reason if there is none."""

    title: str
    track: str
    about: str
    draw: Callable[[Any], None] | None
    rows: int = 0


def inline(panel: Panel, prefix: str) -> str:
    """Return a panel as SVG for a page, in the page's colours; its ids begin with ``prefix``."""
    with _settings({"svg.fonttype": "none"}):
        figure = _figure(_IN_PAGE, _height(panel, _IN_PAGE))
        _draw(figure.subplots(), panel)
        data = _saved(figure, "svg")
    return _for_page(data.decode(), panel, prefix)


def file(panels: Sequence[Panel], form: str) -> bytes:
    """Return a figure with as many panels side by side as fit."""
    drawn = [panel for panel in panels if panel.draw is not None]
    if not drawn:
        raise ShroomError("nothing can be drawn: " + "; ".join(panel.about for panel in panels))
    columns = min(len(drawn), int(_IN_FILE / _LEAST))
    heights = [_height(panel, _IN_FILE / columns) for panel in drawn]
    rows = [0.3 + max(heights[i : i + columns]) for i in range(0, len(drawn), columns)]
    several = len({panel.track for panel in drawn}) > 1
    with _settings({"figure.facecolor": LIGHT["paper"], "svg.fonttype": "path"}):
        figure = _figure(_IN_FILE, sum(rows))
        grid = figure.subplots(len(rows), columns, squeeze=False).ravel()
        for axes, panel in zip(grid, drawn):
            title = shortened(panel.title, round(10 * _IN_FILE / columns))
            _draw_titled(axes, panel, title + (f"\n{panel.track}" if several else ""))
        for axes in grid[len(drawn) :]:
            axes.set_axis_off()
        return _saved(figure, form)


def on_axes(panel: Panel, axes: Any = None) -> Any:
    """Draw a panel on axes, by default on the axes of a new pyplot figure."""
    figure = None
    if axes is None:
        import matplotlib.pyplot as plt

        # Outside the settings, because the notebook backend needs its own.
        size = (_PLOT_WIDTH, 0.5 + _height(panel, _PLOT_WIDTH))
        figure = plt.figure(figsize=size, layout="constrained", facecolor=LIGHT["paper"])
    with _settings({}):
        if figure is not None:
            axes = figure.subplots()
        _draw_titled(axes, panel, "\n".join(filter(None, [shortened(panel.title), panel.track])))
    return axes


def _draw_titled(axes: Any, panel: Panel, title: str) -> None:
    _draw(axes, panel)
    legend = axes.get_legend()
    lines = len(legend.get_texts()) if legend else 0
    pad = 4 + 14 * (1 if lines == 2 else lines)  # two lines are side by side
    axes.set_title(title, fontsize=9, loc="left", color=LIGHT["ink"], pad=pad)


@contextmanager
def _settings(more: dict[str, Any]) -> Iterator[None]:
    import matplotlib as mpl

    with mpl.rc_context():
        # A user's matplotlibrc must not change the figure.
        mpl.rcdefaults()
        rules: Any = {**_RC, **more}
        mpl.rcParams.update(rules)
        yield


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _height(panel: Panel, width: float) -> float:
    return _AROUND + _ROW * panel.rows if panel.rows else min(0.85 * width, 4.0)


def _draw(axes: Any, panel: Panel) -> None:
    assert panel.draw is not None  # noqa: S101 - for mypy
    axes.tick_params(width=0.6, length=2.5)
    panel.draw(axes)


def _saved(figure: Any, form: str) -> bytes:
    metadata: Any = dict.fromkeys(_METADATA[form])
    stream = io.BytesIO()
    with warnings.catch_warnings():
        # Missing letters are drawn as boxes in files; a page uses the reader's fonts.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(stream, format=form, dpi=_DPI, metadata=metadata)
    return stream.getvalue()


def _for_page(svg: str, panel: Panel, prefix: str) -> str:
    """Return an SVG for use inside a page, with unique ids and the page's colours."""
    view = re.search(r'viewBox="([^"]+)"', svg)
    assert view is not None  # noqa: S101 - for mypy
    inside = svg[svg.index(">", svg.index("<svg")) + 1 :]
    inside = re.sub(r"<(style|metadata)\b.*?</\1>", "", inside, flags=re.DOTALL)
    inside = re.sub(r"<defs>\s*</defs>", "", inside)
    inside = re.sub(r"<[^>]*>", lambda tag: _tag(tag[0], prefix), inside)
    about = escape(printable(panel.about))
    return (
        f'<svg class="plot" viewBox="{view[1]}" role="img" '
        f'aria-labelledby="{prefix}-title {prefix}-desc">'
        f'<title id="{prefix}-title">{escape(printable(panel.title))}, {escape(panel.track)}'
        f'</title><desc id="{prefix}-desc">{about}</desc>{inside}'
    )


_VARIABLES = {value: f"var(--{name})" for name, value in LIGHT.items()}


def _tag(tag: str, prefix: str) -> str:
    """Return a tag with the colours and the font of the page."""
    tag = re.sub(r"#[0-9a-f]{6}\b", lambda colour: _VARIABLES.get(colour[0], colour[0]), tag)
    tag = tag.replace("'DejaVu Sans'", "inherit").replace("font-family: inherit", "")
    tag = re.sub(r"font: ([\d.]+)px [^;\"]+", r"font-size: \1px", tag)
    tag = re.sub(r'\bid="', f'id="{prefix}-', tag)
    tag = re.sub(r'(xlink:)?href="#', f'href="#{prefix}-', tag)
    return tag.replace("url(#", f"url(#{prefix}-")
