"""Boosted trees, which make one p out of several numbers.

They are grown by scikit-learn on soft labels (each datapoint counts as a hallucination with weight
p and as none with weight 1 - p), and kept as plain numbers that numpy evaluates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.learners.curves import sigmoid
from shroom.learners.logistic import TASKS, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Words = NDArray[np.str_]

#: How the trees are grown: few and shallow, for about a thousand datapoints.
TREES = {"n_estimators": 100, "max_depth": 2, "learning_rate": 0.05, "min_samples_leaf": 20}
#: A label that all voters agree on counts almost wholly; wholly would let leaves grow forever.
_SURE = 1e-3


@dataclass(frozen=True)
class Tree:
    """A regression tree: node 0 is the root, a leaf has no children.

    Attributes
    ----------
    feature : array of int, shape [nodes]
        The column that a node asks for.
    threshold : array of float, shape [nodes]
        To the left where the column's value, in single precision, is at most this.
    left, right : array of int, shape [nodes]
        The children, which always come later than their parent; -1 for a leaf.
    value : array of float, shape [nodes]
        What a leaf adds.
    """

    feature: NDArray[np.intp]
    threshold: Values
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    value: Values

    def of(self, columns: NDArray[np.float32]) -> Values:
        """Return the value of the leaf that each row falls into: shape [n]."""
        node = np.zeros(len(columns), np.intp)
        rows = np.flatnonzero(self.left[node] >= 0)
        while len(rows):
            at = node[rows]
            goes_left = columns[rows, self.feature[at]] <= self.threshold[at]
            node[rows] = np.where(goes_left, self.left[at], self.right[at])
            rows = rows[self.left[node[rows]] >= 0]
        return np.asarray(self.value[node])

    def to_dict(self) -> dict[str, Any]:
        """Return it as json could write it."""
        return {name: values.tolist() for name, values in vars(self).items()}

    @classmethod
    def from_dict(cls, content: dict[str, Any], k: int) -> Tree:
        """Return what :meth:`to_dict` wrote, for k columns; ``ValueError`` if it is none."""
        n = len(content["value"])
        reals = {name: numbers(content[name], n) for name in ("threshold", "value")}
        places = {name: _places(content[name], n) for name in ("feature", "left", "right")}
        feature, left, right = places["feature"], places["left"], places["right"]
        inner = left >= 0
        here = np.arange(n)
        later = (left > here) & (left < n) & (right > here) & (right < n)
        if not n or not later[inner].all() or not ((feature >= 0) & (feature < k))[inner].all():
            raise ValueError("a tree's nodes do not fit together")
        return cls(feature, reals["threshold"], left, right, reals["value"])


@dataclass(frozen=True)
class Boosting:
    """Gradient-boosted trees, the task being one of the columns they can ask for.

    Attributes
    ----------
    start : float
        The log odds before any tree.
    trees : tuple of Tree
        What each of them adds.
    """

    start: float
    trees: tuple[Tree, ...]

    @classmethod
    def fit(cls, values: Values, tasks: Words, p: Values, seed: int) -> Boosting:
        """Grow the trees; parameters as of :meth:`Logistic.fit`, the seed for ties."""
        from sklearn.ensemble import GradientBoostingClassifier

        model = GradientBoostingClassifier(random_state=seed, **TREES)
        rows, truth, weight = _doubled(_with_tasks(values, tasks), p)
        model.fit(rows, truth, sample_weight=weight)
        prior = float(model.init_.class_prior_[1])
        trees = tuple(
            _exported(grown.tree_, model.learning_rate) for grown in model.estimators_[:, 0]
        )
        return cls(float(np.log(prior / (1 - prior))), trees)

    def p(self, values: Values, tasks: Words) -> Values:
        """Return p(Hallucination) of each row: shape [n]."""
        columns = _with_tasks(values, tasks).astype(np.float32)
        total = np.full(len(columns), self.start)
        for tree in self.trees:
            total += tree.of(columns)
        return sigmoid(total)

    def to_dict(self) -> dict[str, Any]:
        """Return it as json could write it."""
        return {"start": self.start, "trees": [tree.to_dict() for tree in self.trees]}

    @classmethod
    def from_dict(cls, content: dict[str, Any], k: int) -> Boosting:
        """Return what :meth:`to_dict` wrote, for k columns; ``ValueError`` if it is none."""
        start = float(numbers([content["start"]], 1)[0])
        trees = (Tree.from_dict(tree, k + len(TASKS)) for tree in content["trees"])
        return cls(start, tuple(trees))


def _exported(tree: Any, rate: float) -> Tree:
    return Tree(
        np.asarray(tree.feature, np.intp),
        np.asarray(tree.threshold, np.float64),
        np.asarray(tree.children_left, np.intp),
        np.asarray(tree.children_right, np.intp),
        np.asarray(tree.value[:, 0, 0] * rate, np.float64),
    )


def _doubled(rows: Values, p: Values) -> tuple[Values, NDArray[np.bool_], Values]:
    """Return each row as a hallucination and as none, and the weights of both."""
    sure = np.clip(p, _SURE, 1 - _SURE)
    truth = np.repeat([True, False], len(rows))
    return np.vstack((rows, rows)), truth, np.concatenate((sure, 1 - sure))


def _with_tasks(values: Values, tasks: Words) -> Values:
    return np.column_stack((values, *[(tasks == task).astype(np.float64) for task in TASKS]))


def _places(values: Sequence[int], n: int) -> NDArray[np.intp]:
    found = numbers(values, n)
    if (found != np.round(found)).any() or (np.abs(found) > 2**31).any():
        raise ValueError("expected whole numbers")
    return found.astype(np.intp)
