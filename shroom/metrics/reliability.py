"""Reliability: the mean p beside the share of hallucinations, in bins of p, and their distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.base import NO_ITEMS, Array, Floats, P, of_sums

By = Literal["width", "mass"]

#: The default number of bins: tenths can be read off.
BINS = 10
_NAEINI = (
    "M. Naeini, G. Cooper and M. Hauskrecht (2015), Obtaining Well Calibrated Probabilities "
    "Using Bayesian Binning"
)


@dataclass(frozen=True, eq=False)
class Reliability:
    """The bins of a reliability diagram; empty ones are kept, with ``n`` 0 and ``nan`` for means.

    Attributes
    ----------
    edges : array, shape [bins + 1]
        Bin ``k`` holds ``edges[k] < p <= edges[k + 1]``, the first also what is below, the last
        also what is above: p = 0 lies in the first, p = 1 in the last.
    n : array of int, shape [bins]
        How many items are in each bin.
    mean_p, share : array, shape [bins]
        The mean p, and the mean of what is true: with labels, the share of hallucinations.
    """

    edges: Floats
    n: NDArray[np.int64]
    mean_p: Floats
    share: Floats

    @property
    def gap(self) -> Floats:
        """The mean p of each bin less the share; above 0 where p is too high."""
        return self.mean_p - self.share

    @property
    def expected_error(self) -> float:
        """The expected calibration error; see :func:`expected_calibration_error`."""
        filled = self.n > 0
        if not filled.any():
            return float("nan")
        return float(np.sum(np.abs(self.gap[filled]) * self.n[filled]) / np.sum(self.n))

    @property
    def maximum_error(self) -> float:
        """The maximum calibration error; see :func:`maximum_calibration_error`."""
        filled = self.n > 0
        return float(np.max(np.abs(self.gap[filled]))) if filled.any() else float("nan")


def reliability(p: Array, y: Array, bins: int = BINS, by: By = "width") -> Reliability:
    """Return the mean p and the share of hallucinations in bins of p.

    The bins and their means are those of ``sklearn.calibration.calibration_curve``, which leaves
    the empty ones out.

    Parameters
    ----------
    p : array, shape [n]
        Probabilities.
    y : array, shape [n]
        What is true, in [0, 1]: labels, or the annotators' proportions.
    bins : int
        How many.
    by : "width" or "mass"
        Bins of equal width; or between the quantiles of p, so that each holds about as many items.
        Equal p stay together, so with many ties some bins of equal mass are empty.

    Returns
    -------
    Reliability

    Raises
    ------
    ValueError
        If there is no bin, or ``by`` is unknown.

    References
    ----------
    M. DeGroot and S. Fienberg (1983), "The Comparison and Evaluation of Forecasters".

    Examples
    --------
    >>> found = reliability(np.array([0.1, 0.2, 0.9, 1.0]), np.array([0, 1, 1, 1]), bins=2)
    >>> found.n.tolist(), found.mean_p.round(3).tolist(), found.share.tolist()
    ([2, 2], [0.15, 0.95], [0.5, 1.0])
    """
    p, y = np.asarray(p, np.float64), np.asarray(y, np.float64)
    limits = edges(p, bins, by)
    place = places(p, limits)
    n = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        means = [np.bincount(place, weights=side, minlength=bins) / n for side in (p, y)]
    return Reliability(limits, n, means[0], means[1])


def edges(p: Array, bins: int, by: By = "width") -> Floats:
    """Return the edges of bins of p: shape [bins + 1]; see :func:`reliability`."""
    if bins < 1:
        raise ValueError(f"bins: expected at least 1, got {bins}")
    if by == "mass":
        shares = np.linspace(0, 1, bins + 1) * 100
        return np.percentile(p, shares) if len(p) else np.full(bins + 1, np.nan)
    if by != "width":
        raise ValueError(f'by: expected "width" or "mass", got {by!r}')
    return np.linspace(0, 1, bins + 1)


def places(p: Array, limits: Floats) -> NDArray[np.intp]:
    """Return the bin of each p, from 0."""
    return np.searchsorted(limits[1:-1], p)


def expected_calibration_error(p: Array, y: Array, bins: int = BINS, by: By = "width") -> float:
    """Return the mean distance, over items, between the mean p of a bin and the share in it.

    Parameters
    ----------
    p, y, bins, by
        As of :func:`reliability`.

    Returns
    -------
    float
        In [0, 1], 0 being best; ``nan`` for no items. It depends on the bins, and in small samples
        it lies above 0 even for perfect p: compare it only between equal bins and sizes.

    References
    ----------
    M. Naeini, G. Cooper and M. Hauskrecht (2015), "Obtaining Well Calibrated Probabilities Using
    Bayesian Binning"; C. Guo et al. (2017), "On Calibration of Modern Neural Networks".

    Examples
    --------
    >>> expected_calibration_error(np.array([0.75, 0.75, 0.25, 1.0]), np.array([1, 0, 0, 1]))
    0.1875
    """
    return reliability(p, y, bins, by).expected_error


def maximum_calibration_error(p: Array, y: Array, bins: int = BINS, by: By = "width") -> float:
    """Return the greatest distance between the mean p of a bin and the share in it.

    Parameters
    ----------
    p, y, bins, by
        As of :func:`reliability`.

    Returns
    -------
    float
        In [0, 1], 0 being best; ``nan`` for no items. One item alone in a bin can decide it.

    References
    ----------
    M. Naeini, G. Cooper and M. Hauskrecht (2015), "Obtaining Well Calibrated Probabilities Using
    Bayesian Binning".

    Examples
    --------
    >>> maximum_calibration_error(np.array([0.75, 0.75, 0.25, 1.0]), np.array([1, 0, 0, 1]))
    0.25
    """
    return reliability(p, y, bins, by).maximum_error


def _gaps(p: Array, gold_label: Array) -> Floats:
    """Return p less the gold label, each item's in the column of its bin: shape [n, BINS]."""
    gaps = np.zeros((len(p), BINS))
    gaps[np.arange(len(p)), places(p, edges(p, BINS))] = np.asarray(p, np.float64) - gold_label
    return gaps


def _gaps_and_places(p: Array, gold_label: Array) -> Floats:
    """Return the gaps, and beside them a 1 in the column of each item's bin: [n, 2 * BINS]."""
    here = places(p, edges(p, BINS))[:, None] == np.arange(BINS)
    return np.hstack((_gaps(p, gold_label), here))


def _ece_influence(statistics: Floats) -> Floats:
    sums = statistics.sum(axis=0)
    value = np.abs(sums).sum() / len(statistics)
    return np.asarray((statistics @ np.sign(sums) - value) / len(statistics))


def _mce(sums: Floats, _n: Any) -> Floats:
    gaps, counts = np.abs(sums[..., :BINS]), sums[..., BINS:]
    # An empty bin does not count; where all are empty, there is no score.
    largest = np.where(counts > 0, gaps / counts, -1).max(axis=-1)
    return np.where(largest < 0, np.nan, largest)


#: The expected calibration error against the gold labels, in ten bins of equal width.
ECE = of_sums(
    "ece",
    _gaps,
    lambda sums, n: np.abs(sums).sum(axis=-1) / n,
    columns=P,
    influence=_ece_influence,
    higher_is_better=False,
    about=f"the mean distance of p from the share of hallucinations, in {BINS} bins of equal width",
    formula="Σ (nₖ/n) |mean pₖ − shareₖ| over bins k",
    undefined=NO_ITEMS,
    reference=_NAEINI,
    function="shroom.metrics.reliability:expected_calibration_error",
    is_biased=True,
)

#: The maximum calibration error against the gold labels, in ten bins of equal width.
MCE = of_sums(
    "mce",
    _gaps_and_places,
    _mce,
    columns=P,
    higher_is_better=False,
    about=f"the greatest distance of p from the share of hallucinations in {BINS} equal-width bins",
    formula="max |mean pₖ − shareₖ| over bins k that hold an item",
    undefined=NO_ITEMS,
    reference=_NAEINI,
    function="shroom.metrics.reliability:maximum_calibration_error",
    is_biased=True,
)
