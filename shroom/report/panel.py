"""What a figure is, before it is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Panel:
    """One figure.

    Attributes
    ----------
    title : str
        The metric or the system.
    track : str
        The split and track.
    about : str
        What there is to see, with figures; where nothing can be drawn, why.
    draw : callable or None
        Draws it on axes.
    rows : int
        Of a forest plot, which grows with them; 0 for a square.
    star : str
        What a star behind a name means; empty where there is none.
    """

    title: str
    track: str
    about: str
    draw: Callable[[Axes], None] | None
    rows: int = 0
    star: str = ""
