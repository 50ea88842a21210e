"""Reliability diagrams and calibration errors: mean p and share of hallucinations in bins of p."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.base import NO_ITEMS, Array, Floats, P, of_sums

By = Literal["width", "mass"]

#: The default number of bins, one for each tenth.
BINS = 10
_NAEINI = (
    "M. Naeini, G. Cooper and M. Hauskrecht (2015), Obtaining Well Calibrated Probabilities "
    "Using Bayesian Binning"
)


@dataclass(frozen=True, eq=False)
class Reliability:
    """The bins of a reliability diagram; empty bins are kept, with ``n`` 0 and ``nan`` for means.

    Attributes
    ----------
    edges : array, shape [bins + 1]
        Bin ``k`` contains the items with ``edges[k] < p <= edges[k + 1]``. The first bin also
        contains items with a lower p, such as 0, and the last bin also contains items with a higher
        p.
    n : array of int, shape [bins]
        The number of items in each bin.
    mean_p, share : array, shape [bins]
        The mean p and the mean y of each bin. If y contains labels, the mean y is the share of
        hallucinations.
    """

    edges: Floats
    n: NDArray[np.int64]
    mean_p: Floats
    share: Floats

    @property
    def gap(self) -> Floats:
        """The mean p of each bin minus the share; above 0 if p is too high."""
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

    The bins and means equal those of ``sklearn.calibration.calibration_curve``, which omits empty
    bins.

    Parameters
    ----------
    p : array, shape [n]
        Probabilities.
    y : array, shape [n]
        Labels, or shares of annotators in [0, 1].
    bins : int
        Number of bins.
    by : "width" or "mass"
        ``width`` for bins of equal width; ``mass`` for bins between quantiles of p, with about
        equally many items. Items with equal p are in the same bin, so with many ties some bins are
        empty.

    Returns
    -------
    Reliability

    Raises
    ------
    ValueError
        If ``bins`` is below 1, or ``by`` is unknown.

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
    """Return the mean absolute difference between mean p and share of hallucinations in a bin.

    Each bin is weighted by its number of items. The error depends on the bins and on the number of
    items, so compare errors only if both are the same. In small samples, the error is above 0 even
    if p is perfectly calibrated. Intervals are therefore computed only for differences between
    systems. The error does not measure ranking: a system gets 0 if its p for every item is the
    overall share of hallucinations. The metric ``ece`` uses ten bins of equal width.

    Parameters
    ----------
    p, y, bins, by
        See :func:`reliability`.

    Returns
    -------
    float
        In [0, 1], 0 is best; ``nan`` if there are no items.

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
    """Return the largest difference between the mean p and the share of hallucinations in a bin.

    The bins are the same as for :func:`expected_calibration_error`. A bin with a single item may
    determine the result, so also look at the sizes of the bins. No interval is computed.

    Parameters
    ----------
    p, y, bins, by
        See :func:`reliability`.

    Returns
    -------
    float
        In [0, 1], 0 is best; ``nan`` if there are no items.

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


def _gaps_and_places(p: Array, gold_label: Array) -> Floats:
    """Return p minus the gold label, then 1, both in the column of the bin: [n, 2 * BINS]."""
    here = places(p, edges(p, BINS))[:, None] == np.arange(BINS)
    gaps = np.where(here, (np.asarray(p, np.float64) - gold_label)[:, None], 0.0)
    return np.hstack((gaps, here))


def _ece_influence(statistics: Floats) -> Floats:
    sums = statistics.sum(axis=0)
    value = np.abs(sums).sum() / len(statistics)
    return np.asarray((statistics @ np.sign(sums) - value) / len(statistics))


def _mce(sums: Floats, _n: Any) -> Floats:
    gaps, counts = np.abs(sums[..., :BINS]), sums[..., BINS:]
    # Empty bins do not count; if all are empty, there is no score.
    largest = np.where(counts > 0, gaps / counts, -1).max(axis=-1)
    return np.where(largest < 0, np.nan, largest)


#: The expected calibration error against the gold labels, in ten bins of equal width.
ECE = of_sums(
    "ece",
    lambda p, gold_label: _gaps_and_places(p, gold_label)[:, :BINS].copy(),
    lambda sums, n: np.abs(sums).sum(axis=-1) / n,
    columns=P,
    influence=_ece_influence,
    higher_is_better=False,
    about=f"the mean absolute difference between p and the share of hallucinations, in {BINS} bins",
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
    about=(
        f"the largest difference between mean p and the share of hallucinations in any of {BINS} "
        "bins"
    ),
    formula="max |mean pₖ − shareₖ| over non-empty bins k",
    undefined=NO_ITEMS,
    reference=_NAEINI,
    function="shroom.metrics.reliability:maximum_calibration_error",
    is_biased=True,
)
