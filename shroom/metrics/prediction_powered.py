"""The share of a label, estimated from a few labelled items and predictions for all items.

An estimate from predictions only is biased, and an estimate from a few labels only has a wide
interval. Prediction-powered inference corrects the mean of the predictions by their mean error on
the labelled items.

Angelopoulos, Bates, Fannjiang, Jordan and Zrnic (2023), *Prediction-powered inference*, Science
382; Angelopoulos, Duchi and Zrnic (2023), *PPI++: Efficient Prediction-Powered Inference*, for the
weight of the predictions. The interval is Wilson's for an effective number of labels, as in Korn
and Graubard (1998), *Confidence intervals for proportions with small expected number of positive
counts estimated from survey data*: it does not become too narrow if there are few hallucinations.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from shroom.metrics.base import Array
from shroom.metrics.intervals import wilson_ends

#: The number of events (labels of the rarer class) at which predictions may count as much as the
#: labels. Fewer events do not show how large the errors of the predictions are.
EVENTS = 5


@dataclass(frozen=True)
class Estimate:
    """An estimated share.

    Attributes
    ----------
    mean : float
        In [0, 1].
    effective_labels : float
        The number of labels that would give an equally narrow interval without predictions.
    interval : tuple of float
        Lower and upper limit, in [0, 1].
    """

    mean: float
    effective_labels: float
    interval: tuple[float, float]


def prediction_powered_mean(
    y: Array,
    p: Array,
    p_unlabelled: Array,
    confidence: float = 0.95,
    strata: tuple[Array, Array] | None = None,
) -> Estimate:
    """Return the share of ones among all items, given labels of some and predictions for all.

    In each stratum, the estimate is ``λ mean(p_unlabelled) + mean(y - λ p)``. Strata are weighted
    by their shares of the unlabelled items. The weight λ in [0, 1] minimises the variance; it is 0
    if the predictions are useless.

    Parameters
    ----------
    y, p : array, shape [n]
        Labels (0 or 1) and predictions (in [0, 1]) of a random sample of each stratum.
    p_unlabelled : array, shape [m]
        Predictions of the same system for the items without labels.
    confidence : float
        In (0, 1).
    strata : tuple of array, shapes [n] and [m]
        The stratum of each labelled item, and of each unlabelled item. Each stratum must have at
        least two labelled items and one unlabelled item.

    Notes
    -----
    The interval is Wilson's interval for an effective number of labels, ``q (1 - q) / v``. Here, q
    is the share of ones among the labels, and v is the variance of the estimate. The effective
    number is at least the actual number of labels. It is at most ``1 + s * events / EVENTS`` times
    the actual number, where s is the number of strata, and ``events`` is the number of ones or of
    zeros in a stratum, whichever is smaller. A stratum with only a few labels therefore keeps a
    wide interval, even if these labels are all the same. If the weights of the strata differ from
    their shares of the labels, the effective number is reduced accordingly.

    Examples
    --------
    Predictions that are too low are corrected:

    >>> y, p = np.array([1, 0, 1, 0]), np.array([0.8, 0.0, 0.8, 0.0])
    >>> estimate = prediction_powered_mean(y, p, np.tile([0.8, 0.8, 0.8, 0.0], 100))
    >>> round(estimate.mean, 2), float(y.mean())
    (0.7, 0.5)
    """
    y, p, p_unlabelled = (np.asarray(values, float) for values in (y, p, p_unlabelled))
    of_labelled, of_others = strata or (np.zeros(len(y)), np.zeros(len(p_unlabelled)))
    parts = []
    for stratum in np.unique(of_others):
        here, others = of_labelled == stratum, p_unlabelled[of_others == stratum]
        parts.append((len(others) / len(p_unlabelled), y[here], p[here], others))
    covariance = sum(w**2 * np.cov(a, b)[0, 1] / len(a) for w, a, b, _ in parts)
    spread = sum(
        w**2 * np.concatenate([b, others]).var(ddof=1) * (1 / len(b) + 1 / len(others))
        for w, _, b, others in parts
    )
    weight = float(np.clip(covariance / spread, 0, 1)) if spread else 0.0
    mean = share = variance = per_label = least = 0.0
    for w, a, b, others in parts:
        errors = a - weight * b
        mean += w * (weight * others.mean() + errors.mean())
        share += w * a.mean()
        variance += w**2 * errors.var(ddof=1) / len(a)
        variance += (w * weight) ** 2 * others.var(ddof=int(len(others) > 1)) / len(others)
        per_label += w**2 / len(a)
        events = min(a.sum(), (1 - a).sum())
        least += w**2 / len(a) / (1 + len(parts) * events / EVENTS)
    labels = share * (1 - share) / variance if variance else np.inf
    labels = min(max(labels, 1 / per_label), 1 / least)
    mean = min(max(float(mean), 0.0), 1.0)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    return Estimate(mean, float(labels), wilson_ends(mean, labels, z))


def labels_for_half(y: Array, p: Array, m: int) -> int:
    """Return the number of labels that halves the interval of :func:`prediction_powered_mean`.

    With n labelled items and predictions for m further items, the variance of the mean is
    proportional to (1 - r² m/(n + m)) / n, where r is the correlation of predictions and labels.

    Parameters
    ----------
    y, p : array, shape [n]
        Labels and predictions of the labelled items.
    m : int
        Number of items without labels, assumed constant. The result is at most m.

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
    return min(m, int(np.ceil(np.round((root - linear) / (2 * target), 6))))
