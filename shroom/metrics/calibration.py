"""Scores of probabilities: the Brier score and the log loss.

``y`` may be labels (1 or True for a hallucination) or the shares of annotators who chose
Hallucination: the formulas are the same. The metrics at the end of this section compare p with the
gold labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shroom.metrics.base import Array, Floats, P, mean_of, refuse_other_shapes
from shroom.metrics.reliability import By, edges, places

#: The log loss clips p to at least this distance from 0 and 1, as scikit-learn does.
EPSILON = float(np.finfo(np.float64).eps)


def brier_score(p: Array, y: Array, weights: Array | None = None) -> float:
    """Return the mean squared difference between p and the truth.

    The Brier score is proper: no p has a better expected score than the true probabilities. A
    system that predicts p = 0.5 for every item gets 0.25. If ``y`` contains shares of annotators,
    the score is lower than with single votes as ``y``. The difference is the variance of the votes,
    ``mean(y * (1 - y))``. :func:`brier_decomposition` splits the score into calibration, resolution
    and uncertainty.

    Parameters
    ----------
    p, y : array, shape [n]
        Probabilities; labels or shares in [0, 1].
    weights : array, shape [n], optional
        Weight of each item; 1 by default.

    Returns
    -------
    float
        In [0, 1], 0 is best; ``nan`` if there are no items.

    References
    ----------
    G. Brier (1950), "Verification of forecasts expressed in terms of probability".

    Examples
    --------
    >>> brier_score(np.array([0.5, 1.0]), np.array([1, 1]))
    0.125
    """
    return BRIER.weighted(_squares(p, y)[:, None], weights)


def log_loss(p: Array, y: Array, weights: Array | None = None) -> float:
    """Return the mean negative logarithm of the probability that p assigns to the truth.

    The log loss is a proper score that penalises confident mistakes most. As in scikit-learn, p is
    clipped to [2.2e-16, 1 - 2.2e-16], so the loss of one item is at most 36.04. If every p is 0 or
    1, the result is 36.04 times the share of errors. A system that predicts p = 0.5 for every item
    gets 0.693. If ``y`` contains shares of annotators, the result is the cross-entropy, whose
    minimum is the entropy of the votes.

    Parameters
    ----------
    p, y : array, shape [n]
        Probabilities; labels or shares in [0, 1].
    weights : array, shape [n], optional
        Weight of each item; 1 by default.

    Returns
    -------
    float
        In [0, 36.04] (nats), lower is better; ``nan`` if there are no items.

    References
    ----------
    I. Good (1952), "Rational Decisions".

    Examples
    --------
    >>> round(log_loss(np.array([0.5, 1.0]), np.array([1, 1])), 6)
    0.346574
    """
    return LOG_LOSS.weighted(_surprises(p, y)[:, None], weights)


@dataclass(frozen=True)
class BrierDecomposition:
    """The Brier score as a sum: ``score == reliability - resolution + uncertainty + within_bins``.

    Attributes
    ----------
    score : float
        The Brier score.
    reliability : float
        Mean squared difference between the mean p and the mean y in each bin; 0 is best.
    resolution : float
        Mean squared difference between the mean y in each bin and the overall mean; higher is
        better.
    uncertainty : float
        The variance of y, which does not depend on the system: ``share * (1 - share)`` for labels.
    within_bins : float
        The variance of p within the bins minus twice the covariance of p and y within the bins; 0
        if each bin contains only one value of p.
    """

    score: float
    reliability: float
    resolution: float
    uncertainty: float
    within_bins: float


def brier_decomposition(
    p: Array, y: Array, bins: int | None = None, by: By = "width"
) -> BrierDecomposition:
    """Return the decomposition of the Brier score into reliability, resolution and uncertainty.

    Parameters
    ----------
    p, y : array, shape [n]
        Probabilities; labels or shares in [0, 1].
    bins : int, optional
        Number of bins; by default there is one bin per distinct p, as in Murphy's paper.
    by : "width" or "mass"
        See :func:`shroom.metrics.reliability.reliability`.

    Returns
    -------
    BrierDecomposition
        All ``nan`` if there are no items.

    References
    ----------
    A. Murphy (1973), "A New Vector Partition of the Probability Score"; D. Stephenson, C. Coelho
    and I. Jolliffe (2008), "Two Extra Components in the Brier Score Decomposition".

    Examples
    --------
    >>> found = brier_decomposition(np.array([0.25, 0.25, 0.75, 0.75]), np.array([0, 0, 1, 0]))
    >>> found.score, found.reliability, found.resolution, found.uncertainty, found.within_bins
    (0.1875, 0.0625, 0.0625, 0.1875, 0.0)
    """
    p, y = np.asarray(p, np.float64), np.asarray(y, np.float64)
    if not len(p):
        return BrierDecomposition(*[float("nan")] * 5)
    if bins is None:
        place = np.unique(p, return_inverse=True)[1].reshape(-1)
    else:
        place = places(p, edges(p, bins, by))
    n = np.maximum(np.bincount(place), 1)
    mean_p, share = ((np.bincount(place, side) / n)[place] for side in (p, y))
    if bins is None:
        mean_p = p  # the computed mean of equal numbers differs from them in the last digits
    base_rate = y.mean()
    return BrierDecomposition(
        score=brier_score(p, y),
        reliability=float(np.mean((mean_p - share) ** 2)),
        resolution=float(np.mean((share - base_rate) ** 2)),
        uncertainty=float(np.mean((y - base_rate) ** 2)),
        within_bins=float(np.mean((p - mean_p) * (p - mean_p - 2 * (y - share)))),
    )


def _squares(p: Array, y: Array) -> Floats:
    refuse_other_shapes(p, y)
    return np.asarray((np.asarray(p, np.float64) - y) ** 2)


def _surprises(p: Array, y: Array) -> Floats:
    refuse_other_shapes(p, y)
    clipped = np.clip(np.asarray(p, np.float64), EPSILON, 1 - EPSILON)
    truth = np.asarray(y, np.float64)
    return np.asarray(-truth * np.log(clipped) - (1 - truth) * np.log1p(-clipped))


#: The Brier score of p against the gold labels.
BRIER = mean_of(
    "brier",
    _squares,
    columns=P,
    higher_is_better=False,
    about="the mean squared difference between p and the gold label",
    formula="(1/n) Σ (pᵢ − gold labelᵢ)²",
    reference="G. Brier (1950), Verification of forecasts expressed in terms of probability",
    function="shroom.metrics.calibration:brier_score",
)

#: The log loss of p against the gold labels.
LOG_LOSS = mean_of(
    "log_loss",
    _surprises,
    (0.0, float(-np.log(EPSILON))),
    P,
    higher_is_better=False,
    about="the mean negative logarithm of the probability assigned to the gold label",
    formula="−(1/n) Σ ln(pᵢ if gold labelᵢ = 1 else 1 − pᵢ), p clipped to [2.2e-16, 1 − 2.2e-16]",
    reference="I. Good (1952), Rational Decisions",
    function="shroom.metrics.calibration:log_loss",
)
