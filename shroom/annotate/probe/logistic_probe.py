"""A logistic probe of one place: standardised, and penalised as cross-validation finds best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Truth = NDArray[np.bool_]
    Places = NDArray[np.intp]

#: The strengths that are tried, as scikit-learn's C: from the strongest penalty to the weakest.
GRID = tuple(10.0**power for power in range(-5, 1))
#: The folds of the choice of C.
_INNER = 5
#: A column that spreads no more than this part of its size has rounding errors alone.
_ALIKE = 1e-5


@dataclass(frozen=True)
class Probe:
    """A logistic model of states.

    Attributes
    ----------
    mean, scale : array, shape [width]
        How states are standardised.
    weights : array, shape [width]
        Of the standardised states.
    intercept : float
        The decision at the mean.
    """

    mean: Floats
    scale: Floats
    weights: Floats
    intercept: float

    def decide(self, states: NDArray[Any]) -> Floats:
        """Return the decision value of each row, above 0 where the model knows: shape [n]."""
        standard = (np.asarray(states, np.float64) - self.mean) / self.scale
        return np.asarray(standard @ self.weights + self.intercept)


class Fitter:
    """Fits probes to some states, with any C.

    The penalty does not change when the axes are turned. So where there are fewer rows than
    columns, the columns are turned onto the rows first, which loses nothing and saves most of the
    time.

    Parameters
    ----------
    states : array, shape [n, width]
        What to learn from.
    knows : array of bool, shape [n]
        Both labels occur.
    """

    def __init__(self, states: Floats, knows: Truth) -> None:
        self.knows = knows
        self.mean = states.mean(axis=0)
        spread, size = states.std(axis=0), np.sqrt((states**2).mean(axis=0))
        self.scale = np.where(spread > _ALIKE * size, spread, np.inf)
        standard = (states - self.mean) / self.scale
        self.turned: Floats | None = None
        self.rows = standard
        if standard.shape[0] < standard.shape[1]:
            self.turned, triangle = np.linalg.qr(standard.T)
            self.rows = np.ascontiguousarray(triangle.T)

    def search(self, folds: int, seed: int) -> tuple[float, Floats]:
        """Return the C of the least log loss out of fold, and the decision values out of fold.

        Of equals the strongest penalty is taken.

        Parameters
        ----------
        folds, seed : int
            Of the cross-validation.

        Returns
        -------
        c : float
        decisions : array, shape [n]
        """
        decisions = np.empty((len(GRID), len(self.rows)))
        for train, test in splits(self.knows, folds, seed):
            for place, c in enumerate(GRID):
                weights, intercept = self._weights(c, train)
                decisions[place, test] = self.rows[test] @ weights + intercept
        sign = np.where(self.knows, -1.0, 1.0)
        best = int(np.logaddexp(0, sign * decisions).mean(axis=1).argmin())
        return GRID[best], decisions[best]

    def probe(self, c: float) -> Probe:
        """Return the probe of all rows."""
        weights, intercept = self._weights(c, np.arange(len(self.rows)))
        if self.turned is not None:
            weights = self.turned @ weights
        used = np.isfinite(self.scale)
        scale = np.where(used, self.scale, 1.0)
        return Probe(self.mean, scale, np.where(used, weights, 0.0), intercept)

    def _weights(self, c: float, rows: Places) -> tuple[Floats, float]:
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(C=c, tol=1e-6, max_iter=10_000)
        model.fit(self.rows[rows], self.knows[rows])
        return np.asarray(model.coef_[0], np.float64), float(model.intercept_[0])


def splits(knows: Truth, folds: int, seed: int) -> Iterator[tuple[Places, Places]]:
    """Yield the places to fit on and to judge of each fold, both labels alike in all folds.

    Parameters
    ----------
    knows : array of bool, shape [n]
        The labels.
    folds : int
        How many parts; fewer where a label has fewer.
    seed : int
        Of the shuffle.
    """
    from sklearn.model_selection import StratifiedKFold

    least = int(min(knows.sum(), (~knows).sum()))
    made = StratifiedKFold(min(folds, least), shuffle=True, random_state=seed)
    yield from made.split(knows, knows)


def fitted(states: Floats, knows: Truth, seed: int) -> tuple[Probe, float, Floats]:
    """Return the probe of the best C, that C, and its decision values out of inner folds."""
    fitter = Fitter(states, knows)
    c, decisions = fitter.search(_INNER, seed)
    return fitter.probe(c), c, decisions
