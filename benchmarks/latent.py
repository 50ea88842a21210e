"""Made-up systems whose true accuracy and rho are known: a latent Gaussian model.

Each item has a latent leaning ``u``; the annotators' proportion is the bin of ``u``, of 0, 0.2, …,
1, and the gold label is whether it exceeds 0.5. A system sees ``z``, which is normal with mean 0,
standard deviation 1 and correlation ``r`` with ``u``; its p is the normal distribution function of
``z``, and its label whether ``z > 0``. What systems get wrong can be correlated as well.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import ndtr

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shroom.metrics.base import Metric

    Array = NDArray[Any]

#: How often the annotators' proportion is 0, 0.2, …, 1, about as in the task's val split.
SHARES = (0.27, 0.15, 0.13, 0.13, 0.14, 0.18)
_CUTS = [NormalDist().inv_cdf(sum(SHARES[: k + 1])) for k in range(len(SHARES) - 1)]
#: Beyond so many standard deviations nothing counts.
_FAR = 12.0


def draw(
    n: int, r: Sequence[float], generator: np.random.Generator, shared: float = 0.5
) -> tuple[Array, list[Array]]:
    """Return the leanings ``u`` of n items, and what each system sees of them.

    ``shared`` is the correlation of what any two systems get wrong.
    """
    u, common = generator.normal(size=(2, n))
    seen = []
    for each in r:
        noise = math.sqrt(shared) * common + math.sqrt(1 - shared) * generator.normal(size=n)
        seen.append(each * u + math.sqrt(1 - each**2) * noise)
    return u, seen


def statistics(metric: Metric, u: Array, z: Array, digits: int | None = None) -> Array:
    """Return a metric's statistics of one system, whose p may be rounded to some digits."""
    truth = gold_p(u)
    p = ndtr(z) if digits is None else np.round(ndtr(z), digits)
    return metric.statistics(z > 0, p, truth > 0.5, truth)


def gold_p(u: Array) -> Array:
    """Return the annotators' proportion of items by their leanings."""
    return np.asarray(np.searchsorted(_CUTS, u) / (len(SHARES) - 1))


def accuracy(r: float) -> float:
    """Return the true accuracy of a system."""
    cut, slope = _CUTS[2], r / math.sqrt(1 - r**2)
    right = _integral(lambda u: ndtr(slope * u), cut, _FAR)
    return right + _integral(lambda u: ndtr(-slope * u), -_FAR, cut)


def rho(r: float, *, binary: bool = False) -> float:
    """Return the rho that the sample's approaches: Pearson's of the distributions' mid-ranks.

    With ``binary`` it is that of a system whose p is 0 or 1 alone.
    """
    slope = r / math.sqrt((1 if binary else 2) - r**2)
    variance_p = 1 / 4 if binary else 1 / 12
    # The mid-rank of the proportion rises at each cut by the mean of the bins beside it.
    rises = [(a + b) / 2 for a, b in zip(SHARES, SHARES[1:])]
    covariance = sum(
        rise * _integral(lambda u: ndtr(slope * u) - 0.5, cut, _FAR)
        for rise, cut in zip(rises, _CUTS)
    )
    variance = (1 - sum(share**3 for share in SHARES)) / 12
    return covariance / math.sqrt(variance * variance_p)


#: The true value of each metric, by r.
TRUE: dict[str, Callable[..., float]] = {"accuracy": accuracy, "rho": rho}


def correlation_for(metric: str, value: float, **kind: bool) -> float:
    """Return the r of a system whose true value is this one."""
    return float(brentq(lambda r: TRUE[metric](r, **kind) - value, 0.01, 0.999, xtol=1e-10))


def _integral(function: Any, low: float, high: float) -> float:
    density = NormalDist().pdf
    return float(quad(lambda u: density(u) * function(u), low, high, epsabs=1e-10)[0])
