"""Ratios of sums, pooled over items, with the units that are resampled together.

A unit (a dialogue, a response) adds a part and a whole; the score is the sum of the parts over
that of the wholes. A resample draws whole units, so what belongs together stays together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.metrics.base import Metric

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[Any]
    Floats = NDArray[np.float64]


def ratio(name: str, bounds: tuple[float, float] = (0.0, 1.0), **about: Any) -> Metric:
    """Return the metric whose statistics are the part and the whole of each unit: shape [n, 2].

    Parameters
    ----------
    name, bounds
        As of :class:`~shroom.metrics.base.Metric`.
    **about
        Further attributes of it.

    Examples
    --------
    >>> share = ratio("share")
    >>> share(sums([[1, 1], [0, 1], [1, 1], [0, 0]], units=[0, 0, 1, 1]))
    0.6666666666666666
    """
    return Metric(name, _of_predictions, _score, bounds, _influence, **about)


def sums(values: ArrayLike, units: ArrayLike) -> Floats:
    """Return the sum of the values of each unit.

    Parameters
    ----------
    values : array, shape [n, k]
        What each item adds.
    units : array of int, shape [n]
        Which unit it belongs to, counted from 0.

    Returns
    -------
    array, shape [units, k]
    """
    found, of = np.asarray(values, np.float64), np.asarray(units, np.intp)
    if found.ndim != 2 or of.shape != found.shape[:1]:
        raise ValueError(f"expected values [n, k] and units [n], got {found.shape} and {of.shape}")
    count = int(of.max()) + 1 if len(of) else 0
    columns = [np.bincount(of, weights=column, minlength=count) for column in found.T]
    return np.stack(columns, axis=1) if columns else np.empty((count, 0))


def _of_predictions(*_: Array) -> Array:
    raise TypeError("a ratio takes the parts and wholes of units, not labels and p")


def _score(statistics: Array, weights: Floats) -> Floats:
    part, whole = (weights @ statistics).T
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(whole > 0, part / whole, np.nan))


def _influence(statistics: Array) -> Floats:
    part, whole = np.asarray(statistics, np.float64).T
    total = whole.sum()
    return np.asarray((part - part.sum() / total * whole) / total)
