"""Calibrators: rising curves from a system's p to the proportion of annotators who agree.

All are fitted to the annotators' proportions; see :mod:`shroom.learners.curves` for how.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from shroom.core.extras import require
from shroom.learners.curves import FLAT, fit_logistic, log_odds, sigmoid, smoothed

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Calibrator:
    """A rising curve, fitted or read. A subclass is a dataclass of its parameters.

    Attributes
    ----------
    method : str
        Its name.
    keeps_order : bool
        Whether it makes no ties, whatever it is fitted on.
    """

    method: ClassVar[str]
    keeps_order: ClassVar[bool] = True

    @classmethod
    def fitted(cls, p: Floats, y: Floats) -> Self:
        """Return the curve fitted to p and the annotators' proportions y."""
        raise NotImplementedError

    @property
    def rises(self) -> bool:
        """Whether the curve increases; if not, p is constant or decreases with the gold."""
        return True

    def __call__(self, p: Floats) -> Floats:
        """Return the calibrated p, in [0, 1]: shape [n]."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise ValueError where the parameters are not those of a fitted curve."""

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as plain values, for json."""
        return {name: np.asarray(value).tolist() for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the calibrator of :meth:`to_dict`; raise ValueError, KeyError or TypeError."""
        parameters = {}
        for field in fields(cls):
            values = np.array(content[field.name], np.float64)
            if not np.isfinite(values).all():
                raise ValueError("a number is not finite")
            parameters[field.name] = values if values.ndim else values.item()
        calibrator = cls(**parameters)
        calibrator.check()
        return calibrator


@dataclass(frozen=True)
class Platt(Calibrator):
    """A logistic curve of the log-odds of p.

    Attributes
    ----------
    slope : float
        At least 0.
    intercept : float

    References
    ----------
    J. Platt (1999), "Probabilistic Outputs for Support Vector Machines and Comparisons to
    Regularized Likelihood Methods".

    Examples
    --------
    >>> curve = Platt.fitted(np.array([0.0, 0.1, 0.9, 1.0]), np.array([0.2, 0.0, 0.6, 1.0]))
    >>> curve(np.array([0.0, 0.5, 1.0])).round(3)
    array([0.245, 0.458, 0.688])
    """

    method: ClassVar[str] = "platt"
    slope: float
    intercept: float

    @classmethod
    def fitted(cls, p: Floats, y: Floats) -> Self:
        """Return the curve of the greatest likelihood, with Platt's targets."""
        x, targets = log_odds(p), smoothed(y)
        share = float(targets.mean())
        if np.ptp(x) > 0:  # the deviation may be above 0 by rounding alone
            scale = float(x.std())
            centred = (x - x.mean()) / scale
            # The likelihood has to rise at a slope of 0, from where the solver starts.
            if float(np.mean(centred * targets)) > FLAT * share * (1 - share):
                height, slope = fit_logistic(centred[:, None], targets).tolist()
                if slope > FLAT:
                    return cls(slope / scale, height - slope / scale * float(x.mean()))
        return cls(0.0, float(np.log(share) - np.log1p(-share)))

    @property
    def rises(self) -> bool:
        """Whether the slope is above 0."""
        return self.slope > 0

    def __call__(self, p: Floats) -> Floats:
        """Return the calibrated p: shape [n]."""
        return sigmoid(self.slope * log_odds(p) + self.intercept)

    def check(self) -> None:
        """Raise ValueError where the slope is not positive."""
        if not self.slope > 0:
            raise ValueError("slope is not positive")


@dataclass(frozen=True)
class Temperature(Calibrator):
    """The log-odds of p divided by a temperature: above 1 it moves p towards 0.5.

    Attributes
    ----------
    temperature : float
        Above 0; infinite if p has no information.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun and K. Weinberger (2017), "On Calibration of Modern Neural Networks".

    Examples
    --------
    >>> curve = Temperature.fitted(np.array([0.0, 0.1, 0.9, 1.0]), np.array([0.2, 0.0, 0.6, 1.0]))
    >>> curve(np.array([0.0, 0.5, 1.0])).round(3)
    array([0.278, 0.5  , 0.722])
    """

    method: ClassVar[str] = "temperature"
    temperature: float

    @classmethod
    def fitted(cls, p: Floats, y: Floats) -> Self:
        """Return the temperature of the greatest likelihood, with Platt's targets."""
        x, targets = log_odds(p), smoothed(y)
        scale = float(np.sqrt(np.mean(x * x)))
        # The likelihood has to rise at a slope of 0, from where the solver starts.
        if scale > 0 and float(np.mean(x * (targets - 0.5))) / scale > FLAT / 4:
            _, slope = fit_logistic((x / scale)[:, None], targets, intercept=False).tolist()
            if slope > FLAT:
                return cls(scale / slope)
        return cls(float("inf"))

    @property
    def rises(self) -> bool:
        """Whether the temperature is finite."""
        return bool(np.isfinite(self.temperature))

    def __call__(self, p: Floats) -> Floats:
        """Return the calibrated p: shape [n]."""
        return sigmoid(log_odds(p) / self.temperature)

    def check(self) -> None:
        """Raise ValueError where the temperature is not positive."""
        if not self.temperature > 0:
            raise ValueError("temperature is not positive")


@dataclass(frozen=True, eq=False)
class Isotonic(Calibrator):
    """The rising curve nearest to the proportions, straight between its knots.

    Attributes
    ----------
    knots : array, shape [k]
        Rising p; below the first and above the last the curve is flat.
    values : array, shape [k]
        The curve at the knots; it never decreases.

    References
    ----------
    B. Zadrozny and C. Elkan (2002), "Transforming Classifier Scores into Accurate Multiclass
    Probability Estimates".

    Examples
    --------
    >>> curve = Isotonic.fitted(np.array([0.0, 0.1, 0.9, 1.0]), np.array([0.2, 0.0, 0.6, 1.0]))
    >>> curve(np.array([0.0, 0.1, 0.5, 1.0])).round(3)
    array([0.1 , 0.1 , 0.35, 1.  ])
    """

    method: ClassVar[str] = "isotonic"
    keeps_order: ClassVar[bool] = False
    knots: Floats
    values: Floats

    @classmethod
    def fitted(cls, p: Floats, y: Floats) -> Self:
        """Return the curve of least squares, by scikit-learn; equal p share one value."""
        require("fit", "scikit-learn")
        from sklearn.isotonic import isotonic_regression

        knots, place = np.unique(np.clip(p, 0.0, 1.0), return_inverse=True)
        counts = np.bincount(place.reshape(-1))
        means = np.bincount(place.reshape(-1), weights=y) / counts
        values = np.clip(isotonic_regression(means, sample_weight=counts), 0.0, 1.0)
        corner = np.ones(len(knots), bool)
        corner[1:-1] = (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:])
        return cls(knots[corner], values[corner])

    @property
    def rises(self) -> bool:
        """Whether the curve is not flat all along."""
        return bool(self.values[-1] > self.values[0])

    def __call__(self, p: Floats) -> Floats:
        """Return the calibrated p: shape [n]."""
        return np.asarray(np.interp(p, self.knots, self.values))

    def check(self) -> None:
        """Raise ValueError where knots and values are not two rising lists of one length."""
        if self.knots.shape != self.values.shape or self.knots.ndim != 1 or len(self.knots) < 2:
            raise ValueError("knots and values are not two lists of one length, 2 or more")
        for name, side in (("knots", self.knots), ("values", self.values)):
            if side[0] < 0 or side[-1] > 1 or (np.diff(side) < 0).any():
                raise ValueError(f"{name} do not rise from 0 to 1")


@dataclass(frozen=True)
class Unchanged(Calibrator):
    """The identity, for fitting a threshold only."""

    method: ClassVar[str] = "none"

    @classmethod
    def fitted(cls, p: Floats, y: Floats) -> Self:
        """Return the identity."""
        del p, y
        return cls()

    def __call__(self, p: Floats) -> Floats:
        """Return p as it is, without rounding errors beyond [0, 1]."""
        return np.asarray(np.clip(p, 0.0, 1.0))


#: The methods by name.
METHODS: dict[str, type[Calibrator]] = {
    kind.method: kind for kind in (Platt, Isotonic, Temperature, Unchanged)
}
