"""Metrics whose resamples draw whole units, such as responses, instead of single items.

The segments of a response or the turns of a dialogue are not independent, so whole units are drawn:
an item counts as often as its unit was drawn. This is the same metric with other item weights, so
no metric needs a second implementation.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shroom.metrics.base import COLUMNS, Array, Floats, Metric
from shroom.metrics.bootstrap import chunks
from shroom.metrics.classification import of_counts


def places(units: Sequence[Hashable]) -> NDArray[np.intp]:
    """Return the number of each item's unit, from 0 in the order of first appearance."""
    number: dict[Hashable, int] = {}
    return np.array([number.setdefault(unit, len(number)) for unit in units], np.intp)


def clustered(
    metric: Metric,
    statistics: Array,
    unit: NDArray[np.intp],
    units: int = 0,
    size: Floats | None = None,
) -> tuple[Metric, NDArray[np.intp]]:
    """Return a metric of units and its statistics, for :func:`~.intervals.estimates`.

    Its score under weights of units is the score of ``metric`` if all items of a unit have the
    weight of the unit.

    Parameters
    ----------
    metric : Metric
        Metric of items.
    statistics : array, shape [n, k]
        The items' statistics.
    unit : array of int, shape [n]
        The unit of each item, in [0, g); see :func:`places`.
    units : int
        Minimum number of units; needed if the last units have no items.
    size : array, shape [n], optional
        Weight of each item; 1 by default. With weights, the metric has no influence.

    Returns
    -------
    metric : Metric
        Metric of units, valid only for these statistics. The influence of a unit is the sum over
        its items. ``exchange`` is ``None``, because randomisation tests exchange items.
    rows : array of int, shape [g, 1]
        The numbers of the units. To compute a slice, select rows.

    References
    ----------
    A. Davison and D. Hinkley (1997), "Bootstrap Methods and their Application", section 3.8.

    Examples
    --------
    >>> from shroom.metrics.classification import ACCURACY
    >>> right = np.array([[1.0], [0.0], [1.0], [1.0]])
    >>> by_unit, rows = clustered(ACCURACY, right, np.array([0, 0, 1, 1]))
    >>> by_unit(rows), by_unit.score(rows, np.array([[2.0, 0.0]])).tolist()
    (0.75, [0.5])
    """
    units = max(units, int(unit.max()) + 1 if len(unit) else 0)
    sizes = np.ones(len(unit)) if size is None else size

    def score(rows: NDArray[np.intp], weights: Floats) -> Floats:
        # The items' weights are computed in chunks: there may be many more items than units. Items
        # with a size, such as runs of characters, are few.
        scores = [np.empty(0)]
        whole = range(len(weights))
        for part in chunks(len(unit), len(weights)) if size is None else [whole]:
            drawn = _by_unit(rows[:, 0], weights[part.start : part.stop], units)
            drawn = np.take(drawn, unit, axis=1) if size is None else drawn[:, unit] * size
            scores.append(metric.score(statistics, drawn))
        return np.concatenate(scores)

    def influence(rows: NDArray[np.intp]) -> Floats:
        assert metric.influence is not None  # noqa: S101 - for mypy
        there = np.flatnonzero(np.isin(unit, rows[:, 0]))
        moved = metric.influence(statistics[there])
        return np.asarray(np.bincount(unit[there], moved, units)[rows[:, 0]])

    def summed(of: Callable[[Array], Array] | None) -> Callable[[Array], Floats] | None:
        return of and (lambda rows: sums(of(statistics) * sizes[:, None], unit, units)[rows[:, 0]])

    by_unit = replace(
        metric,
        score=score,
        influence=influence if metric.influence and size is None else None,
        exchange=None,
        joint=None,
        share=summed(metric.share),
        classes=summed(metric.classes),
    )
    return by_unit, np.arange(units)[:, None]


def _by_unit(rows: NDArray[np.intp], weights: Floats, size: int) -> Floats:
    """Return the weight of every unit, shape [b, size], from the weights of the given rows."""
    if np.array_equal(rows, np.arange(size)):
        return weights
    unit_weights = np.zeros((size, len(weights)))
    np.add.at(unit_weights, rows, weights.T)
    return unit_weights.T


def ratio(name: str, bounds: tuple[float, float] = (0.0, 1.0), **about: Any) -> Metric:
    """Return a ratio of sums; its statistics are each unit's numerator and denominator: [n, 2].

    For a share of items, as opposed to a mean, pass ``share=np.asarray``.

    Parameters
    ----------
    name, bounds
        See :class:`~shroom.metrics.base.Metric`.
    **about
        Further attributes of the metric.

    Examples
    --------
    >>> share = ratio("share")
    >>> share(sums([[1, 1], [0, 1], [1, 1], [0, 0]], units=[0, 0, 1, 1]))
    0.6666666666666666
    """
    about = {"share": None, "inputs": ("part", "whole"), "columns": COLUMNS[:2], **about}

    def rows(part: Array, whole: Array) -> Array:
        return np.column_stack((part, whole))

    return of_counts(name, ((1, 0), (0, 1)), rows=rows, bounds=bounds, **about)


def sums(values: ArrayLike, units: ArrayLike, least: int = 0) -> Floats:
    """Return the sums of the values per unit, for at least ``least`` units: shape [units, k]."""
    matrix, of = np.asarray(values, np.float64), np.asarray(units, np.intp)
    if matrix.ndim != 2 or of.shape != matrix.shape[:1]:
        raise ValueError(
            f"values must have the shape [n, k] and units the shape [n], got {matrix.shape} and "
            f"{of.shape}"
        )
    count = max(least, int(of.max()) + 1 if len(of) else 0)
    columns = [np.bincount(of, weights=column, minlength=count) for column in matrix.T]
    return np.stack(columns, axis=1) if columns else np.empty((count, 0))
