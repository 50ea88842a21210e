"""A logistic model with weights for each task, fitted on the annotators' proportions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import TASKS
from shroom.learners.curves import Floats, fit_logistic, sigmoid

Words = NDArray[np.str_]

#: Maximum standard deviation of a column that counts as constant.
_ALIKE = 1e-6


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
