"""Small marks in the cells of tables: a score and its interval as a dot on a line.

They repeat the figures of the cell beside them, so they are hidden from screen readers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def scale(values: Iterable[float | None], *, least: float, greatest: float) -> tuple[float, float]:
    """Return the tenths around all values, within bounds: what a column of marks spans.

    Parameters
    ----------
    values : iterable of float or None
        What is to be drawn; ``None`` is passed over.
    least, greatest : float
        The bounds, which are also what is returned where there are no values.

    Examples
    --------
    >>> scale([0.71, None, 0.78], least=0.0, greatest=1.0)
    (0.7, 0.8)
    """
    known = [value for value in values if value is not None]
    if not known:
        return least, greatest
    low = max(least, math.floor(min(known) * 10 + 1e-9) / 10)
    high = min(greatest, math.ceil(max(known) * 10 - 1e-9) / 10)
    if high > low:
        return low, high
    return max(least, low - 0.1), min(greatest, high + 0.1)


def whisker(value: float | None, bounds: Sequence[float] | None, span: tuple[float, float]) -> str:
    """Return a dot for the value and a bar for its interval, as HTML; nothing where undefined.

    Parameters
    ----------
    value : float or None
        The score.
    bounds : sequence of float, or None
        Its interval.
    span : tuple of float
        The ends of the line.

    Examples
    --------
    >>> whisker(0.5, None, (0.0, 1.0))
    '<span class="bar" aria-hidden="true"><b style="left:50%"></b></span>'
    """
    if value is None:
        return ""
    bar = ""
    if bounds is not None:
        start, end = _place(bounds[0], span), _place(bounds[1], span)
        bar = f'<i style="left:{start:g}%;width:{end - start:g}%"></i>'
    dot = f'<b style="left:{_place(value, span):g}%"></b>'
    return f'<span class="bar" aria-hidden="true">{bar}{dot}</span>'


def _place(value: float, span: tuple[float, float]) -> float:
    low, high = span
    return round(100 * min(1.0, max(0.0, (value - low) / (high - low))), 2)
