"""Calibrators: rising curves from a system's p to the proportion of annotators who agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import msgspec
import numpy as np

from shroom.core.extras import require
from shroom.learners.logistic import Floats, fit_logistic, log_odds, sigmoid

Positive = Annotated[float, msgspec.Meta(gt=0)]
Rising = tuple[Annotated[float, msgspec.Meta(ge=0, le=1)], ...]
#: A standardised slope up to this is a rounding error.
_FLAT = 1e-9


@dataclass(frozen=True)
class Calibrator:
    """A rising curve, fitted or read. The base class leaves p as it is, to fit a threshold only."""

    method: ClassVar[str] = "none"
    #: Whether the curve never creates ties.
    keeps_order: ClassVar[bool] = True

    @classmethod
    def fitted(cls, p: Floats, y: Floats) -> Self:
        """Return the curve fitted to p and the annotators' proportions y."""
        del p, y
        return cls()

    @property
    def rises(self) -> bool:
        """Whether the curve increases; if not, p is constant or decreases with the gold."""
        low, high = self(np.array([0.0, 1.0]))
        return bool(high > low)

    def __call__(self, p: Floats) -> Floats:
        """Return the calibrated p, in [0, 1] in spite of rounding errors: shape [n]."""
        return np.asarray(np.clip(p, 0.0, 1.0))


def smoothed(y: Floats) -> Floats:
    """Return Platt's targets, (h + 1)/(h + 2) and 1/(o + 2), which keep curves finite."""
    hallucinations = float(np.sum(y))
    others = len(y) - hallucinations
    high, low = (hallucinations + 1) / (hallucinations + 2), 1 / (others + 2)
    return np.asarray(y * high + (1 - y) * low)


def _logistic_curve(z: Floats, targets: Floats, *, intercept: bool) -> tuple[float, float]:
    """Return intercept and slope of the likeliest curve of standardised z; 0 unless it rises."""
    share = float(targets.mean()) if intercept else 0.5
    # The likelihood has to rise at a slope of 0, from where the solver starts.
    if float(np.mean(z * (targets - share))) > _FLAT * share * (1 - share):
        height, slope = fit_logistic(z[:, None], targets, intercept=intercept).tolist()
        if slope > _FLAT:
            return height, slope
    return float(np.log(share) - np.log1p(-share)), 0.0


@dataclass(frozen=True)
class Platt(Calibrator):
    """A logistic curve of the log-odds of p (Platt 1999, Probabilistic Outputs for SVMs)."""

    method: ClassVar[str] = "platt"
    slope: Positive
    intercept: float

    @classmethod
    def fitted(cls, p: Floats, y: Floats) -> Self:
        """Return the maximum-likelihood curve, with Platt's targets."""
        x = log_odds(p)
        scale = float(x.std()) if np.ptp(x) > 0 else np.inf  # it may be above 0 by rounding alone
        height, slope = _logistic_curve((x - x.mean()) / scale, smoothed(y), intercept=True)
        return cls(slope / scale, height - slope / scale * float(x.mean()))

    def __call__(self, p: Floats) -> Floats:
        return sigmoid(self.slope * log_odds(p) + self.intercept)


@dataclass(frozen=True)
class Temperature(Calibrator):
    """The log-odds of p divided by a temperature: above 1 it moves p towards 0.5."""

    method: ClassVar[str] = "temperature"
    temperature: Positive

    @classmethod
    def fitted(cls, p: Floats, y: Floats) -> Self:
        """Return the maximum-likelihood temperature, with Platt's targets."""
        x = log_odds(p)
        scale = float(np.sqrt(np.mean(x * x))) or np.inf
        _, slope = _logistic_curve(x / scale, smoothed(y), intercept=False)
        return cls(scale / slope if slope else np.inf)

    def __call__(self, p: Floats) -> Floats:
        return sigmoid(log_odds(p) / self.temperature)


@dataclass(frozen=True)
class Isotonic(Calibrator):
    """The nearest rising curve, linear between knots (Zadrozny and Elkan 2002)."""

    method: ClassVar[str] = "isotonic"
    keeps_order: ClassVar[bool] = False
    knots: Rising
    values: Rising

    def __post_init__(self) -> None:
        rising = [*self.knots] == sorted(self.knots) and [*self.values] == sorted(self.values)
        if not rising or not self.knots or len(self.knots) != len(self.values):
            raise ValueError("knots and values must be two increasing lists of equal length")

    @classmethod
    def fitted(cls, p: Floats, y: Floats) -> Self:
        """Return the least-squares curve, by scikit-learn; equal p share one value."""
        require("fit", "scikit-learn")
        from sklearn.isotonic import IsotonicRegression

        curve = IsotonicRegression(y_min=0.0, y_max=1.0).fit(np.clip(p, 0.0, 1.0), y)
        return cls(tuple(curve.X_thresholds_.tolist()), tuple(curve.y_thresholds_.tolist()))

    def __call__(self, p: Floats) -> Floats:
        return np.asarray(np.interp(p, self.knots, self.values))


#: The methods by name.
METHODS: dict[str, type[Calibrator]] = {
    kind.method: kind for kind in (Platt, Isotonic, Temperature, Calibrator)
}
