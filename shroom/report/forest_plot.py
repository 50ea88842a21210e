"""Forest plots: a line for each of several things, with a dot and an interval on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from shroom.core.problems import printable
from shroom.scoring.display.style import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: How many letters of a name stand above its line.
_LETTERS = 42


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


def forest(
    axes: Axes, lines: Sequence[Line], label: str, marks: Mapping[str, float], *, whole: bool
) -> None:
    """Draw a forest plot.

    Parameters
    ----------
    axes : Axes
        Where to.
    lines : sequence of Line
        At least one, from above.
    label : str
        Of the axis.
    marks : mapping of float
        Vertical lines with their names.
    whole : bool
        Whether the axis has whole numbers alone.
    """
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
    if whole:
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


def shortened(name: str, letters: int = _LETTERS) -> str:
    """Return a name that fits: of a long one, how it begins and ends.

    Examples
    --------
    >>> shortened("a-name-that-is-long-2024", 15)
    'a-name-…ng-2024'
    """
    name = printable(name)
    if len(name) <= letters:
        return name
    half = (letters - 1) // 2
    return f"{name[:half]}…{name[-half:]}"
