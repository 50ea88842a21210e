"""Metrics of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.metrics.base import mean_of, refuse_other_shapes
from shroom.metrics.confusion import RECALL, SPECIFICITY, counts, of_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray


def accuracy(
    label: NDArray[Any], gold_label: NDArray[Any], weights: NDArray[Any] | None = None
) -> float:
    """Return the share of items whose label equals the gold's.

    Parameters
    ----------
    label, gold_label : array, shape [n]
        Labels of any type that can be compared.
    weights : array, shape [n], optional
        How often each item counts; once by default.

    Returns
    -------
    float
        In [0, 1]; ``nan`` for no items.

    Examples
    --------
    >>> import numpy as np
    >>> accuracy(np.array([True, False, True]), np.array([True, True, True]))
    0.6666666666666666
    """
    refuse_other_shapes(label, gold_label)
    correct = (np.asarray(label) == np.asarray(gold_label)).astype(np.float64)[:, None]
    rows = np.ones(len(correct)) if weights is None else np.asarray(weights, np.float64)
    return float(ACCURACY.score(correct, rows[None, :])[0])


def balanced_accuracy(
    label: NDArray[Any], gold_label: NDArray[Any], weights: NDArray[Any] | None = None
) -> float:
    """Return the mean of the shares of both gold labels' items that are labelled correctly.

    Parameters
    ----------
    label, gold_label : array, shape [n]
        1 or True for Hallucination.
    weights : array, shape [n], optional
        How often each item counts; once by default.

    Returns
    -------
    float
        In [0, 1], 0.5 for saying one label everywhere; ``nan`` where a gold label is missing.

    References
    ----------
    K. Brodersen et al. (2010), "The balanced accuracy and its posterior distribution".

    Examples
    --------
    >>> import numpy as np
    >>> balanced_accuracy(np.array([1, 0, 0, 0]), np.array([1, 1, 0, 0]))
    0.75
    """
    statistics = counts(np.asarray(label), np.asarray(gold_label))
    rows = np.ones(len(statistics)) if weights is None else np.asarray(weights, np.float64)
    return float(BALANCED_ACCURACY.score(statistics, rows[None, :])[0])


def _correct(
    label: NDArray[Any], p: NDArray[Any], gold_label: NDArray[Any], gold_p: NDArray[Any]
) -> NDArray[Any]:
    del p, gold_p
    refuse_other_shapes(label, gold_label)
    return np.asarray(np.equal(label, gold_label))


#: Accuracy: the share of items whose label equals the majority of the annotators.
ACCURACY = mean_of(
    "accuracy",
    _correct,
    (0.0, 1.0),
    about="the share of labels that equal the majority of the annotators",
    formula="(1/n) Σ [labelᵢ = gold labelᵢ]",
    reference="Mickus et al. (2024), SemEval-2024 Task 6: SHROOM, section 4",
)

#: Balanced accuracy: the mean of both gold labels' recall.
BALANCED_ACCURACY = of_counts(
    "balanced_accuracy",
    RECALL,
    SPECIFICITY,
    about="the mean of the shares of hallucinations and of other items that are labelled correctly",
    formula="½ TP / (TP + FN) + ½ TN / (TN + FP)",
    reference=("K. Brodersen et al. (2010), The balanced accuracy and its posterior distribution"),
)
