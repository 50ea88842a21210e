"""Metrics of probabilities: how near p comes to what is true.

Where a function takes ``y``, it may hold labels (1 or True for a hallucination) or the annotators'
proportions: every formula here has the same form for both. The metrics at the end compare p with
the gold labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.metrics.base import Exchange, Metric, mean_of, refuse_other_shapes
from shroom.metrics.reliability import BINS, edges, places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: How near p is taken to come to 0 and 1 in the log loss, as scikit-learn has it.
EPSILON = float(np.finfo(np.float64).eps)


def brier_score(p: NDArray[Any], y: NDArray[Any], weights: NDArray[Any] | None = None) -> float:
    """Return the mean squared distance of p from what is true.

    Against proportions it is the score against each single vote, less the votes' own variance
    ``mean(y * (1 - y))``.

    Parameters
    ----------
    p, y : array, shape [n]
        Probabilities, and labels or proportions in [0, 1].
    weights : array, shape [n], optional
        How often each item counts; once by default.

    Returns
    -------
    float
        In [0, 1], 0 being best; ``nan`` for no items.

    References
    ----------
    G. Brier (1950), "Verification of forecasts expressed in terms of probability".

    Examples
    --------
    >>> brier_score(np.array([0.5, 1.0]), np.array([1, 1]))
    0.125
    """
    return _averaged(_squares(p, y), weights)


def log_loss(p: NDArray[Any], y: NDArray[Any], weights: NDArray[Any] | None = None) -> float:
    """Return the mean negative logarithm of the probability that p gives to what is true.

    With proportions it is the cross-entropy, whose least value is the votes' own entropy, above 0.

    Parameters
    ----------
    p, y : array, shape [n]
        Probabilities, and labels or proportions in [0, 1]. p is clipped to ``EPSILON`` (2.2e-16)
        from 0 and 1, so one item costs at most 36.04.
    weights : array, shape [n], optional
        How often each item counts; once by default.

    Returns
    -------
    float
        In nats, at least 0, less being better; ``nan`` for no items.

    References
    ----------
    I. Good (1952), "Rational Decisions".

    Examples
    --------
    >>> round(log_loss(np.array([0.5, 1.0]), np.array([1, 1])), 6)
    0.346574
    """
    return _averaged(_surprises(p, y), weights)


def _squares(p: NDArray[Any], y: NDArray[Any]) -> Floats:
    refuse_other_shapes(p, y)
    return np.asarray((np.asarray(p, np.float64) - y) ** 2)


def _surprises(p: NDArray[Any], y: NDArray[Any]) -> Floats:
    refuse_other_shapes(p, y)
    clipped = np.clip(np.asarray(p, np.float64), EPSILON, 1 - EPSILON)
    truth = np.asarray(y, np.float64)
    return np.asarray(-truth * np.log(clipped) - (1 - truth) * np.log1p(-clipped))


def _averaged(values: Floats, weights: NDArray[Any] | None) -> float:
    rows = np.ones(len(values)) if weights is None else np.asarray(weights, np.float64)
    with np.errstate(invalid="ignore"):
        return float(np.sum(rows * values) / np.sum(rows))


def _gaps(
    label: NDArray[Any], p: NDArray[Any], gold_label: NDArray[Any], gold_p: NDArray[Any]
) -> Floats:
    """Return p less the gold label, each item's in the column of its bin: shape [n, BINS]."""
    del label, gold_p
    gaps = np.zeros((len(p), BINS))
    place = places(p, edges(p, BINS))
    gaps[np.arange(len(p)), place] = np.asarray(p, np.float64) - gold_label
    return gaps


def _gaps_and_places(*columns: NDArray[Any]) -> Floats:
    """Return the gaps, and beside them a 1 in the column of each item's bin: [n, 2 * BINS]."""
    p = columns[1]
    here = places(p, edges(p, BINS))[:, None] == np.arange(BINS)
    return np.hstack((_gaps(*columns), here))


def _ece(statistics: Floats, weights: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(weights @ statistics).sum(axis=1) / weights.sum(axis=1))


def _ece_influence(statistics: Floats) -> Floats:
    sums = statistics.sum(axis=0)
    value = np.abs(sums).sum() / len(statistics)
    return np.asarray((statistics @ np.sign(sums) - value) / len(statistics))


def _mce(statistics: Floats, weights: Floats) -> Floats:
    return _mce_of_sums(weights @ statistics, len(statistics))


def _mce_of_sums(sums: Floats, n: int) -> Floats:
    del n
    gaps, counts = np.abs(sums[..., :BINS]), sums[..., BINS:]
    with np.errstate(invalid="ignore", divide="ignore"):
        # An empty bin does not count; where all are empty, there is no score.
        found = np.where(counts > 0, gaps / counts, -1).max(axis=-1)
    return np.where(found < 0, np.nan, found)


#: The Brier score of p against the gold labels.
BRIER = mean_of(
    "brier",
    lambda label, p, gold_label, gold_p: _squares(p, gold_label),  # noqa: ARG005
    (0.0, 1.0),
    higher_is_better=False,
    about="the mean squared distance of p from the gold label (1 for a hallucination)",
    formula="(1/n) Σ (pᵢ − gold labelᵢ)²",
    reference="G. Brier (1950), Verification of forecasts expressed in terms of probability",
)

#: The log loss of p against the gold labels.
LOG_LOSS = mean_of(
    "log_loss",
    lambda label, p, gold_label, gold_p: _surprises(p, gold_label),  # noqa: ARG005
    (0.0, float(-np.log(EPSILON))),
    higher_is_better=False,
    about="the mean negative logarithm of the probability that p gives to the gold label",
    formula="−(1/n) Σ ln(pᵢ if gold labelᵢ = 1 else 1 − pᵢ), p clipped to 2.2e-16 from 0 and 1",
    reference="I. Good (1952), Rational Decisions",
)

#: The expected calibration error against the gold labels, in ten bins of equal width.
ECE = Metric(
    "ece",
    _gaps,
    _ece,
    (0.0, 1.0),
    _ece_influence,
    Exchange(lambda statistics: statistics, lambda sums, n: np.abs(sums).sum(axis=-1) / n),
    higher_is_better=False,
    about=f"the mean distance of p from the share of hallucinations, in {BINS} bins of equal width",
    formula="Σ (nₖ/n) |mean pₖ − shareₖ| over bins k",
    reference=(
        "M. Naeini, G. Cooper and M. Hauskrecht (2015), Obtaining Well Calibrated Probabilities "
        "Using Bayesian Binning"
    ),
)

#: The maximum calibration error against the gold labels, in ten bins of equal width.
MCE = Metric(
    "mce",
    _gaps_and_places,
    _mce,
    (0.0, 1.0),
    None,
    Exchange(lambda statistics: statistics, _mce_of_sums),
    higher_is_better=False,
    about=f"the greatest distance of p from the share of hallucinations in {BINS} equal-width bins",
    formula="max |mean pₖ − shareₖ| over bins k that hold an item",
    reference=ECE.reference,
)
