"""Metrics of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.metrics.base import Metric

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
    correct = (np.asarray(label) == np.asarray(gold_label)).astype(np.float64)[:, None]
    rows = np.ones(len(correct)) if weights is None else np.asarray(weights, np.float64)
    return float(_share(correct, rows[None, :])[0])


def _share(correct: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    total = weights.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray((weights @ correct[:, 0]) / total)


def _influence(correct: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray((correct[:, 0] - correct.mean()) / len(correct))


def _correct(
    label: NDArray[Any], p: NDArray[Any], gold_label: NDArray[Any], gold_p: NDArray[Any]
) -> NDArray[np.float64]:
    del p, gold_p
    return np.asarray(np.equal(label, gold_label), np.float64)[:, None]


#: Accuracy: the share of items whose label equals the majority of the annotators.
ACCURACY = Metric("accuracy", _correct, _share, _influence, bounds=(0.0, 1.0))
