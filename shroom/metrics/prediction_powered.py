"""The mean of labels that few items have, estimated with predictions that all items have.

Predictions alone give a biased mean, and labels alone a wide interval. Prediction-powered inference
takes the mean of the predictions and corrects it by their mean error on the labelled items.

Angelopoulos, Bates, Fannjiang, Jordan and Zrnic (2023), *Prediction-powered inference*, Science
382; Angelopoulos, Duchi and Zrnic (2023), *PPI++: Efficient Prediction-Powered Inference*, for the
weight of the predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """An estimated mean of values in [0, 1].

    Attributes
    ----------
    mean : float
        In [0, 1].
    standard_error : float
        Not negative.
    interval : tuple of float
        Lower and upper limit, in [0, 1].
    """

    mean: float
    standard_error: float
    interval: tuple[float, float]


def estimate_mean(y: NDArray[Any], confidence: float = 0.95) -> Estimate:
    """Return the mean of labels with its normal interval.

    Parameters
    ----------
    y : array, shape [n]
        Values in [0, 1]; at least two.
    confidence : float
        In (0, 1).

    Examples
    --------
    >>> estimate_mean(np.array([1, 0, 0, 1])).mean
    0.5
    """
    y = np.asarray(y, float)
    return _estimate(y.mean(), y.var(ddof=1) / len(y), confidence)


def prediction_powered_mean(
    y: NDArray[Any], p: NDArray[Any], p_unlabelled: NDArray[Any], confidence: float = 0.95
) -> Estimate:
    r"""Return the mean label of all items, some of which have labels and all have predictions.

    It is :math:`\lambda \bar p_u + \overline{y - \lambda p}` with the weight :math:`\lambda` in
    [0, 1] that gives the least variance; useless predictions get a weight of 0.

    Parameters
    ----------
    y, p : array, shape [n]
        Labels and predictions of a random sample of the items, in [0, 1]; at least two.
    p_unlabelled : array, shape [m]
        Predictions of the items without labels, made in the same way; at least two.
    confidence : float
        In (0, 1).

    Examples
    --------
    Predictions that are too low are corrected:

    >>> y, p = np.array([1, 0, 1, 0]), np.array([0.8, 0.0, 0.8, 0.0])
    >>> estimate = prediction_powered_mean(y, p, np.tile([0.8, 0.8, 0.8, 0.0], 100))
    >>> round(estimate.mean, 2), round(estimate_mean(y).mean, 2)
    (0.7, 0.5)
    """
    y, p, p_unlabelled = (np.asarray(values, float) for values in (y, p, p_unlabelled))
    n, m = len(y), len(p_unlabelled)
    variance = np.concatenate([p, p_unlabelled]).var(ddof=1)
    weight = 0.0
    if variance:
        weight = float(np.clip(np.cov(y, p)[0, 1] / ((1 + n / m) * variance), 0, 1))
    errors = y - weight * p
    return _estimate(
        weight * p_unlabelled.mean() + errors.mean(),
        weight**2 * p_unlabelled.var(ddof=1) / m + errors.var(ddof=1) / n,
        confidence,
    )


def labels_for_half(y: NDArray[Any], p: NDArray[Any], m: int) -> int:
    """Return how many labels would halve the interval of :func:`prediction_powered_mean`.

    With the best weight, n labels and m further predictions that correlate with the labels by r,
    the variance of the mean is proportional to (1 - r² m/(n + m)) / n.

    Parameters
    ----------
    y, p : array, shape [n]
        Labels and predictions of the labelled items.
    m : int
        Number of items without labels, which stays the same.

    Examples
    --------
    >>> labels_for_half(np.array([1, 0, 1, 0]), np.array([0.5, 0.5, 0.5, 0.5]), 100)
    16
    """
    n = len(y)
    correlation = np.corrcoef(y, p)[0, 1] if np.ptp(y) and np.ptp(p) else 0.0
    share = max(correlation, 0.0) ** 2
    target = (1 - share * m / (n + m)) / n / 4
    # The positive root of target · x² + (target · m - 1) · x - (1 - share) · m.
    linear = target * m - 1
    root = np.sqrt(linear**2 + 4 * target * (1 - share) * m)
    return int(np.ceil(np.round((root - linear) / (2 * target), 6)))


def _estimate(mean: float, variance: float, confidence: float) -> Estimate:
    error = float(np.sqrt(variance))
    margin = NormalDist().inv_cdf(0.5 + confidence / 2) * error
    low, high = np.clip([mean - margin, mean + margin], 0, 1).tolist()
    return Estimate(float(np.clip(mean, 0, 1)), error, (low, high))
