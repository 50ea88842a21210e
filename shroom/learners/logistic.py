"""Logistic models fitted to the annotators' proportions, and functions on log-odds.

An item with proportion y is a hallucination with weight y and none with 1 - y, as if by votes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import TASKS
from shroom.core.extras import require

Floats = NDArray[np.float64]
Words = NDArray[np.str_]

#: Keeps log-odds finite: p is squeezed into [_MARGIN, 1 - _MARGIN]. Squeezing, unlike clipping,
#: makes no ties. The value had the best Brier score, out of fold, over 40 recorded files.
_MARGIN = 1e-4
#: Maximum standard deviation of a column that counts as constant.
_ALIKE = 1e-6


def log_odds(p: Floats) -> Floats:
    """Return the log-odds of p, clipped to be finite: from -9.21 to 9.21."""
    require("fit", "scipy")
    from scipy.special import logit

    return np.asarray(logit(_MARGIN + (1 - 2 * _MARGIN) * np.clip(p, 0.0, 1.0)))


def sigmoid(odds: Floats) -> Floats:
    """Return the probability of log-odds, without overflow."""
    require("fit", "scipy")
    from scipy.special import expit

    return np.asarray(expit(odds))


def fit_logistic(
    columns: Floats,
    p: Floats,
    c: float = np.inf,
    *,
    intercept: bool = True,
    importance: Floats | float = 1.0,
) -> Floats:
    """Return intercept and weights, [1 + k], that minimise penalised cross-entropy."""
    # ``c`` is the inverse strength of an L2 penalty on the weights. Without it, columns must be
    # linearly independent and p within (0, 1), so that the weights are finite.
    require("fit", "scikit-learn")
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=c, solver="newton-cholesky", tol=1e-12, fit_intercept=intercept)
    labels = np.repeat([1, 0], len(p))
    shares = np.concatenate((p * importance, (1 - p) * importance))
    model.fit(np.vstack((columns, columns)), labels, sample_weight=shares)
    return np.append(model.intercept_, model.coef_)


@dataclass(frozen=True)
class Logistic:
    """A logistic model with weights for each task."""

    #: Mean and scale of each column, to standardise it.
    mean: Floats
    scale: Floats
    #: For each task, the intercept and a weight for each column.
    weights: dict[str, Floats]

    @classmethod
    def fit(
        cls,
        values: Floats,
        tasks: Sequence[str] | Words,
        p: Floats,
        c: float,
        *,
        slopes: bool = True,
    ) -> Logistic:
        """Fit the weights: those of all tasks together plus a penalised difference for each."""
        # A task that is not in the data has the common weights. ``c`` is the inverse strength of
        # the L2 penalty. Without ``slopes``, only the intercepts differ by task.
        mean, scale = values.mean(axis=0), values.std(axis=0)
        scale = np.where(scale > _ALIKE, scale, 1.0)
        rows = np.column_stack((np.ones(len(values)), (values - mean) / scale))
        own = rows if slopes else rows[:, :1]
        design = np.hstack([rows, *[own * (np.asarray(tasks) == task)[:, None] for task in TASKS]])
        common, others = np.split(fit_logistic(design[:, 1:], p, c), [rows.shape[1]])
        weights = np.tile(common, (len(TASKS), 1))
        weights[:, : own.shape[1]] += others.reshape(len(TASKS), -1)
        return cls(mean, scale, dict(zip(TASKS, weights)))

    def p(self, values: Floats, tasks: Sequence[str] | Words) -> Floats:
        """Return p(Hallucination) of each row: shape [n]."""
        weights = np.array([self.weights[task] for task in tasks]).reshape(len(values), -1)
        logits = weights[:, 0] + ((values - self.mean) / self.scale * weights[:, 1:]).sum(axis=1)
        return sigmoid(logits)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        weights = {task: values.tolist() for task, values in self.weights.items()}
        return {"mean": self.mean.tolist(), "scale": self.scale.tolist(), "weights": weights}

    @classmethod
    def from_dict(cls, content: dict[str, Any], k: int) -> Logistic:
        """Return the model of :meth:`to_dict` for k columns; raise ``ValueError`` for others."""
        mean, scale = numbers(content["mean"], k), numbers(content["scale"], k)
        if not (scale > 0).all():
            raise ValueError("a scale must be positive")
        weights = {task: numbers(content["weights"][task], k + 1) for task in TASKS}
        return cls(mean, scale, weights)


def numbers(values: Sequence[float], n: int) -> Floats:
    """Return the values of a file as n finite numbers; raise ``ValueError`` for others."""
    array = np.array(values, np.float64)
    if array.shape != (n,) or not np.isfinite(array).all():
        raise ValueError(f"expected {n} numbers")
    return array
