"""Metrics of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.metrics.base import mean_of, refuse_other_shapes

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
