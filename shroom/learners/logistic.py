"""Logistic models with weights for each task, fitted on the annotators' proportions.

:class:`Logistic` is linear. :class:`KernelLogistic` adds a smooth surface: log odds are
f(x) = b + w·z + (b_task + w_task·z) + g(z, task), where z are the standardised columns. All but b
have one L2 penalty; g is in the space of a Gaussian kernel (Zhu & Hastie 2005,
"Kernel logistic regression and the import vector machine"), spanned by a few landmarks (Williams &
Seeger 2001, "Using the Nyström method to speed up kernel machines").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.datapoint import TASKS
from shroom.learners.curves import fit_logistic, sigmoid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Words = NDArray[np.str_]

#: Maximum standard deviation of a column that counts as constant.
_ALIKE = 1e-6
#: Number of training rows that span the surface.
LANDMARKS = 100
#: The kernel of two rows is exp(-WIDTH · their mean squared difference over the columns).
WIDTH = 0.7
#: Prior scale of the differences between tasks, relative to what they share.
TASK = 0.5
#: Distance of targets from 0 and 1, so that the weights stay finite.
_SURE = 1e-3


@dataclass(frozen=True)
class Logistic:
    """A logistic model with weights for each task.

    Attributes
    ----------
    mean, scale : array, shape [k]
        Mean and scale of each column, to standardise it.
    weights : dict of array, shape [1 + k]
        For each task, the intercept and a weight for each column.

    Examples
    --------
    >>> values, tasks = np.array([[0.0], [1.0], [2.0]]), ["DM", "DM", "MT"]
    >>> model = Logistic.fit(values, tasks, np.array([0.2, 0.4, 1.0]), c=1.0)
    >>> model.p(values, tasks).round(2).tolist()
    [0.33, 0.49, 0.78]
    """

    mean: Values
    scale: Values
    weights: dict[str, Values]

    @classmethod
    def fit(cls, values: Values, tasks: Sequence[str] | Words, p: Values, c: float) -> Logistic:
        """Fit the weights: those of all tasks together plus a penalised difference for each.

        Each datapoint counts as a hallucination with weight p and as not one with weight 1 - p. A
        task that is not in the data has the common weights.

        Parameters
        ----------
        values : array, shape [n, k]
            The columns.
        tasks : sequence of str, shape [n]
            Task of each datapoint.
        p : array, shape [n]
            The annotators' proportions.
        c : float
            Inverse strength of the L2 penalty on all weights but the common intercept.
        """
        mean, scale = values.mean(axis=0), values.std(axis=0)
        scale = np.where(scale > _ALIKE, scale, 1.0)
        rows = np.column_stack((np.ones(len(values)), (values - mean) / scale))
        design = np.hstack([rows, *[rows * (np.asarray(tasks) == task)[:, None] for task in TASKS]])
        weights = fit_logistic(design[:, 1:], p, c).reshape(1 + len(TASKS), -1)
        return cls(mean, scale, dict(zip(TASKS, weights[0] + weights[1:])))

    def p(self, values: Values, tasks: Sequence[str] | Words) -> Values:
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
            raise ValueError("a scale is not positive")
        weights = {task: numbers(content["weights"][task], k + 1) for task in TASKS}
        return cls(mean, scale, weights)


def numbers(values: Sequence[float], n: int) -> Values:
    """Return the values of a file as n finite numbers; raise ``ValueError`` for others."""
    array = np.array(values, np.float64)
    if array.shape != (n,) or not np.isfinite(array).all():
        raise ValueError(f"expected {n} numbers")
    return array


@dataclass(frozen=True, eq=False)
class KernelLogistic:
    """A logistic model with weights for each task and a smooth surface.

    Attributes
    ----------
    mean, scale : array, shape [k]
        Mean and scale of each column, to standardise it.
    tasks : array of str, shape [t]
        The tasks of the fit; another task has the common weights.
    landmarks : array, shape [m, k + t]
        The rows that span the surface.
    root : array, shape [m, r]
        Maps kernels with the landmarks to coordinates in their space.
    weights : array, shape [(1 + k) · (1 + t) + r]
        Weights of the columns of :meth:`design`.

    Examples
    --------
    >>> values = np.linspace(-2, 2, 50)[:, None]
    >>> gold = np.abs(values[:, 0]) / 2
    >>> fitted = KernelLogistic.fit(values, np.repeat("DM", 50), gold, c=10)
    >>> fitted.p(np.array([[-2.0], [0.0]]), np.array(["DM", "DM"])) > 0.5
    array([ True, False])
    """

    mean: Values
    scale: Values
    tasks: Words
    landmarks: Values
    root: Values
    weights: Values

    @classmethod
    def fit(cls, values: Values, tasks: Words, p: Values, c: float) -> KernelLogistic:
        """Fit on soft labels: a row is a hallucination with weight p, and not one with 1 - p.

        Parameters
        ----------
        values : array, shape [n, k]
            The columns.
        tasks : array of str, shape [n]
            Task of each row.
        p : array, shape [n]
            The annotators' proportions.
        c : float
            The inverse strength of the L2 penalty.
        """
        scale = values.std(axis=0)
        scale = np.where(scale > 1e-12, scale, 1.0)
        empty = np.empty((0, 0))
        bare = cls(values.mean(axis=0), scale, np.unique(tasks), empty, empty, np.empty(0))
        rows = bare._rows(values, tasks)
        drawn = np.random.default_rng(0).permutation(len(rows))[:LANDMARKS]
        landmarks = rows[np.sort(drawn)]
        spread, axes = np.linalg.eigh(_kernel(landmarks, landmarks, values.shape[1]))
        large = spread > 1e-6 * spread[-1]
        root = axes[:, large] / np.sqrt(spread[large])
        unfitted = cls(bare.mean, scale, bare.tasks, landmarks, root, bare.weights)
        columns = unfitted.design(values, tasks)[:, 1:]
        weights = fit_logistic(columns, np.clip(p, _SURE, 1 - _SURE), c)
        return cls(bare.mean, scale, bare.tasks, landmarks, root, weights)

    def p(self, values: Values, tasks: Words) -> Values:
        """Return p(Hallucination) of each row: shape [n]."""
        return sigmoid(self.design(values, tasks) @ self.weights)

    def design(self, values: Values, tasks: Words) -> Values:
        """Return the columns of the weights.

        They are the linear ones of all tasks, those of each task, and the surface's coordinates.
        """
        rows = self._rows(values, tasks)
        k = values.shape[1]
        linear = np.column_stack((np.ones(len(rows)), rows[:, :k]))
        by_task = [TASK * linear * rows[:, k + t, None] for t in range(len(self.tasks))]
        # A surface over k columns may vary as much as k weights together.
        surface = _kernel(rows, self.landmarks, k) @ self.root * np.sqrt(k)
        return np.hstack([linear, *by_task, surface])

    def _rows(self, values: Values, tasks: Words) -> Values:
        return np.hstack([(values - self.mean) / self.scale, tasks[:, None] == self.tasks])


def _kernel(rows: Values, landmarks: Values, k: int) -> Values:
    """Return the Gaussian kernel of each row with each landmark: shape [n, m]."""
    squares = (rows**2).sum(axis=1)[:, None] + (landmarks**2).sum(axis=1)
    distance = np.maximum(squares - 2 * rows @ landmarks.T, 0)
    return np.asarray(np.exp(-WIDTH / k * distance))
