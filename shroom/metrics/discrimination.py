"""Metrics of ranking: how well p separates hallucinations from other items, at any threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.base import ONE_LABEL, Array, Exchange, Floats, P, metric_of
from shroom.metrics.correlation import levels, twice_ranks


def auroc(p: Array, y: Array, weights: Array | None = None) -> float:
    """Return the probability that p is higher for a hallucination than for another item.

    Ties count as 1/2. AUROC is the area under the receiver operating characteristic (ROC) curve,
    and equals Mann and Whitney's U divided by the number of pairs. An uninformative p gets 0.5,
    whatever the share of hallucinations. Only the order of p matters. If a system uses its labels
    as p, AUROC equals the balanced accuracy. To compare p with the shares of annotators, use rho.

    Parameters
    ----------
    p : array, shape [n]
        Numbers without ``nan``.
    y : array, shape [n]
        Labels, 1 or True for a hallucination.
    weights : array of int, shape [n], optional
        Weight of each item; 1 by default.

    Returns
    -------
    float
        In [0, 1]; ``nan`` if only one label occurs.

    Raises
    ------
    ValueError
        If a label is neither 0 nor 1.

    References
    ----------
    J. Hanley and B. McNeil (1982), "The meaning and use of the area under a receiver operating
    characteristic (ROC) curve".

    Examples
    --------
    >>> auroc(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0, 0, 1, 1]))
    0.875
    """
    return AUROC.weighted(np.column_stack((levels(p), is_hallucination(y))), weights)


def average_precision(p: Array, y: Array, weights: Array | None = None) -> float:
    """Return the mean precision at the rank of each hallucination; equal p share one precision.

    Average precision is the area under the precision-recall curve without interpolation, as in
    scikit-learn. It depends mostly on the items with the highest p. An uninformative p gets the
    share of hallucinations, so scores on different data sets cannot be compared. The score changes
    if the two labels are swapped. The randomisation test takes longer than for other metrics.

    Parameters
    ----------
    p, y, weights
        See :func:`auroc`.

    Returns
    -------
    float
        In [0, 1]; ``nan`` if there are no hallucinations.

    Raises
    ------
    ValueError
        If a label is neither 0 nor 1.

    References
    ----------
    M. Zhu (2004), "Recall, Precision and Average Precision".

    Examples
    --------
    >>> round(average_precision(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0, 0, 1, 1])), 6)
    0.833333
    """
    statistics = np.column_stack((levels(p), is_hallucination(y)))
    return AVERAGE_PRECISION.weighted(statistics, weights)


def is_hallucination(y: Array) -> NDArray[np.bool_]:
    """Return labels as booleans; raise a ``ValueError`` for shares of annotators."""
    truth = np.asarray(np.equal(y, 1))
    if not np.all(truth | np.equal(y, 0)):
        raise ValueError("y: expected labels, each 0 or 1, got other numbers")
    return truth


def _classes(statistics: NDArray[np.int64]) -> NDArray[Any]:
    return np.column_stack((statistics[:, 1], 1 - statistics[:, 1]))


def _by_level(statistics: NDArray[np.int64], weights: Floats) -> tuple[Floats, Floats]:
    """Return the total weights of hallucinations and of other items at each level of p: [b, k]."""
    level, truth = statistics.T
    rows, size = len(weights), int(level.max()) + 1 if len(level) else 1
    place = 2 * level + truth + 2 * size * np.arange(rows)[:, None]
    sums = np.bincount(place.ravel(), weights.ravel(), 2 * size * rows).astype(np.float64)
    return sums[1::2].reshape(rows, size), sums[::2].reshape(rows, size)


def _auroc(statistics: NDArray[np.int64], weights: Floats) -> Floats:
    positive, negative = _by_level(statistics, weights)
    below = 2 * np.cumsum(negative, axis=1) - negative  # doubled, so that it is a whole number
    twice = np.sum(positive * below, axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(twice / (2 * positive.sum(axis=1) * negative.sum(axis=1)))


def _average_precision(statistics: NDArray[np.int64], weights: Floats) -> Floats:
    level, truth = statistics.T
    ordered = np.column_stack((levels(level), truth))
    positive, negative = (side[:, ::-1] for side in _by_level(ordered, weights))
    true_positives = np.cumsum(positive, axis=1)
    flagged = true_positives + np.cumsum(negative, axis=1)
    with np.errstate(invalid="ignore"):
        precision = np.where(flagged > 0, true_positives / flagged, 0)
        return np.asarray(np.sum(positive * precision, axis=1) / true_positives[:, -1])


def _auroc_influence(statistics: NDArray[np.int64]) -> Floats:
    level, truth = statistics.T
    positive, negative = (side[0] for side in _by_level(statistics, np.ones((1, len(level)))))
    positives, negatives = positive.sum(), negative.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        below = (np.cumsum(negative) - negative / 2) / negatives
        above = (positives - np.cumsum(positive) + positive / 2) / positives
        value = np.sum(positive * below) / positives
        of_positives, of_negatives = (below - value) / positives, (above - value) / negatives
        return np.asarray(np.where(truth == 1, of_positives[level], of_negatives[level]))


def _rank_terms(statistics: NDArray[np.int64]) -> Floats:
    """Return twice each item's deviation from the mean rank, by class, and the class."""
    level, truth = statistics.T
    deviation = twice_ranks(level) - len(level)
    terms = (truth * deviation, (1 - truth) * deviation, truth)
    return np.column_stack(terms).astype(np.float64)


def _auroc_of_sums(sums: Floats, n: int) -> Floats:
    of_positives, of_negatives, positives = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = of_positives / positives - of_negatives / (n - positives)
    return np.asarray(np.clip(0.5 + apart / (2 * n), 0, 1))


#: The area under the receiver operating characteristic of p, against the gold labels.
AUROC = metric_of(
    "auroc",
    lambda p, gold_label: np.column_stack((levels(p), np.asarray(gold_label) == 1)),
    _auroc,
    columns=P,
    influence=_auroc_influence,
    # The systems exchange ranks, not p, because their p may be on different scales.
    exchange=Exchange(_rank_terms, _auroc_of_sums),
    about=(
        "the probability that p is higher for a random hallucination than for a random "
        "non-hallucination"
    ),
    formula="(1/n₊n₋) Σ ([pᵢ > pⱼ] + ½[pᵢ = pⱼ]) over hallucinations i and other items j",
    undefined=ONE_LABEL,
    reference=(
        "J. Hanley and B. McNeil (1982), The meaning and use of the area under a receiver "
        "operating characteristic (ROC) curve"
    ),
    function="shroom.metrics.discrimination:auroc",
    classes=_classes,
)

#: The average precision of p, against the gold labels.
AVERAGE_PRECISION = metric_of(
    "average_precision",
    # The systems are compared by ranks, because levels of different systems do not correspond.
    lambda p, gold_label: np.column_stack((twice_ranks(levels(p)), np.asarray(gold_label) == 1)),
    _average_precision,
    columns=P,
    about="the mean precision at the rank of each hallucination",
    formula="Σ (recallₖ − recallₖ₋₁) precisionₖ over the distinct p in descending order",
    undefined="if no gold label is Hallucination",
    reference="M. Zhu (2004), Recall, Precision and Average Precision",
    function="shroom.metrics.discrimination:average_precision",
    classes=_classes,
)
