"""Calibrators: rising curves from a system's p to what annotators say where it says that.

All are fitted to the annotators' proportions; see :mod:`shroom.learners.curves` for how.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from shroom.core.extras import require
from shroom.learners.curves import (
    FLAT,
    fit_logistic,
    log_odds,
    sigmoid,
    smoothed,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Calibrator(Protocol):
    """A rising curve, fitted or read."""

    method: ClassVar[str]
    keeps_order: ClassVar[bool]  #: Whether it makes no ties, whatever it is fitted on.

    @property
    def rises(self) -> bool:
        """Whether a greater p ever means more; if not, p runs against the gold, or is constant."""
        ...

    def __call__(self, p: Floats) -> Floats:
        """Return the calibrated p, in [0, 1]: shape [n]."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted state as plain values, for json."""
        ...


@dataclass(frozen=True)
class Platt:
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
    keeps_order: ClassVar[bool] = True
    slope: float
    intercept: float

    @classmethod
    def fitted(cls, p: Floats, y: Floats) -> Platt:
        """Return the curve of the greatest likelihood, with Platt's targets."""
        x, wanted = log_odds(p), smoothed(y)
        if np.ptp(x) > 0:  # the deviation may be above 0 by rounding alone
            scale = float(x.std())
            centred = (x - x.mean()) / scale
            height, slope = fit_logistic(centred[:, None], wanted).tolist()
            if slope > FLAT:
                return cls(slope / scale, height - slope / scale * float(x.mean()))
        share = float(wanted.mean())
        return cls(0.0, float(np.log(share) - np.log1p(-share)))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Platt:
        """Return what :meth:`to_dict` gave; raises ValueError, KeyError, TypeError for others."""
        slope, intercept = _finite([content["slope"], content["intercept"]]).tolist()
        if slope <= 0:
            raise ValueError("slope is not positive")
        return cls(slope, intercept)

    @property
    def rises(self) -> bool:
        """Whether the slope is above 0."""
        return self.slope > 0

    def __call__(self, p: Floats) -> Floats:
        """Return the calibrated p: shape [n]."""
        return sigmoid(self.slope * log_odds(p) + self.intercept)

    def to_dict(self) -> dict[str, Any]:
        """Return the slope and the intercept."""
        return {"slope": self.slope, "intercept": self.intercept}


@dataclass(frozen=True)
class Temperature:
    """The log-odds of p over a temperature: above 1 it takes p nearer to 0.5.

    Attributes
    ----------
    temperature : float
        Above 0; infinite where p tells nothing.

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
    keeps_order: ClassVar[bool] = True
    temperature: float

    @classmethod
    def fitted(cls, p: Floats, y: Floats) -> Temperature:
        """Return the temperature of the greatest likelihood, with Platt's targets."""
        x = log_odds(p)
        scale = float(np.sqrt(np.mean(x * x)))
        if scale > 0:
            _, slope = fit_logistic((x / scale)[:, None], smoothed(y), intercept=False).tolist()
            if slope > FLAT:
                return cls(scale / slope)
        return cls(float("inf"))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Temperature:
        """Return what :meth:`to_dict` gave; raises ValueError, KeyError, TypeError for others."""
        (temperature,) = _finite([content["temperature"]]).tolist()
        if temperature <= 0:
            raise ValueError("temperature is not positive")
        return cls(temperature)

    @property
    def rises(self) -> bool:
        """Whether the temperature is finite."""
        return bool(np.isfinite(self.temperature))

    def __call__(self, p: Floats) -> Floats:
        """Return the calibrated p: shape [n]."""
        return sigmoid(log_odds(p) / self.temperature)

    def to_dict(self) -> dict[str, Any]:
        """Return the temperature."""
        return {"temperature": self.temperature}


@dataclass(frozen=True, eq=False)
class Isotonic:
    """The rising curve nearest to the proportions, straight between its knots.

    Attributes
    ----------
    knots : array, shape [k]
        Rising p; below the first and above the last the curve is flat.
    values : array, shape [k]
        The curve there; it never falls.

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
    def fitted(cls, p: Floats, y: Floats) -> Isotonic:
        """Return the curve of least squares, by scikit-learn; equal p share one value."""
        require("fit", "scikit-learn")
        from sklearn.isotonic import isotonic_regression

        knots, place = np.unique(np.clip(p, 0.0, 1.0), return_inverse=True)
        counts = np.bincount(place.reshape(-1))
        means = np.bincount(place.reshape(-1), weights=y) / counts
        values = np.clip(isotonic_regression(means, sample_weight=counts), 0.0, 1.0)
        kept = np.ones(len(knots), bool)
        kept[1:-1] = (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:])
        return cls(knots[kept], values[kept])

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Isotonic:
        """Return what :meth:`to_dict` gave; raises ValueError, KeyError, TypeError for others."""
        knots, values = _finite(content["knots"]), _finite(content["values"])
        if len(knots) != len(values) or len(knots) < 2:
            raise ValueError("knots and values are not two lists of one length, 2 or more")
        for name, side in (("knots", knots), ("values", values)):
            if side[0] < 0 or side[-1] > 1 or (np.diff(side) < 0).any():
                raise ValueError(f"{name} do not rise from 0 to 1")
        return cls(knots, values)

    @property
    def rises(self) -> bool:
        """Whether the curve is not flat all along."""
        return bool(self.values[-1] > self.values[0])

    def __call__(self, p: Floats) -> Floats:
        """Return the calibrated p: shape [n]."""
        return np.asarray(np.interp(p, self.knots, self.values))

    def to_dict(self) -> dict[str, Any]:
        """Return the knots and their values."""
        return {"knots": self.knots.tolist(), "values": self.values.tolist()}


@dataclass(frozen=True)
class Unchanged:
    """p as it is, for those who want a threshold alone."""

    method: ClassVar[str] = "none"
    keeps_order: ClassVar[bool] = True
    rises: ClassVar[bool] = True

    @classmethod
    def fitted(cls, p: Floats, y: Floats) -> Unchanged:
        """Return the one there is."""
        del p, y
        return cls()

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Unchanged:
        """Return the one there is."""
        del content
        return cls()

    def __call__(self, p: Floats) -> Floats:
        """Return p as it is, rounding errors beyond [0, 1] taken off."""
        return np.asarray(np.clip(p, 0.0, 1.0))

    def to_dict(self) -> dict[str, Any]:
        """Return nothing: there is nothing to keep."""
        return {}


#: The methods by name.
METHODS: dict[str, type[Platt | Isotonic | Temperature | Unchanged]] = {
    kind.method: kind for kind in (Platt, Isotonic, Temperature, Unchanged)
}


def _finite(numbers: Any) -> Floats:
    found = np.array([float(number) for number in numbers])
    if not np.isfinite(found).all():
        raise ValueError("a number is not finite")
    return found
