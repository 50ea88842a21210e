"""What a Brier score is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.metrics.calibration import brier_score
from shroom.metrics.reliability import edges, places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shroom.metrics.reliability import By


@dataclass(frozen=True)
class BrierDecomposition:
    """The Brier score as a sum: ``score == reliability - resolution + uncertainty + within_bins``.

    Attributes
    ----------
    score : float
        The Brier score.
    reliability : float
        How far the mean p of a bin lies from the share in it, squared; 0 is best.
    resolution : float
        How far the shares of the bins lie from the share of all, squared; more is better.
    uncertainty : float
        The variance of y, which no system changes: ``share * (1 - share)`` for labels.
    within_bins : float
        The variance of p within the bins less twice its covariance with y there: what bins hide.
        It is 0 where each bin holds one value of p.
    """

    score: float
    reliability: float
    resolution: float
    uncertainty: float
    within_bins: float


def brier_decomposition(
    p: NDArray[Any], y: NDArray[Any], bins: int | None = None, by: By = "width"
) -> BrierDecomposition:
    """Return the Brier score's decomposition into reliability, resolution and uncertainty.

    Parameters
    ----------
    p, y : array, shape [n]
        Probabilities, and labels or proportions in [0, 1].
    bins : int, optional
        How many bins; by default each value of p is a bin of its own, as Murphy has it.
    by : "width" or "mass"
        Of :func:`shroom.metrics.reliability.reliability`.

    Returns
    -------
    BrierDecomposition
        All ``nan`` for no items.

    References
    ----------
    A. Murphy (1973), "A New Vector Partition of the Probability Score"; D. Stephenson, C. Coelho
    and I. Jolliffe (2008), "Two Extra Components in the Brier Score Decomposition".

    Examples
    --------
    >>> found = brier_decomposition(np.array([0.25, 0.25, 0.75, 0.75]), np.array([0, 0, 1, 0]))
    >>> found.score, found.reliability, found.resolution, found.uncertainty, found.within_bins
    (0.1875, 0.0625, 0.0625, 0.1875, 0.0)
    """
    p, y = np.asarray(p, np.float64), np.asarray(y, np.float64)
    if not len(p):
        return BrierDecomposition(*[float("nan")] * 5)
    if bins is None:
        place = np.unique(p, return_inverse=True)[1].reshape(-1)
    else:
        place = places(p, edges(p, bins, by))
    n = np.maximum(np.bincount(place), 1)
    mean_p, share = ((np.bincount(place, side) / n)[place] for side in (p, y))
    if bins is None:
        mean_p = p  # whose mean would differ from it in the last digits
    whole = y.mean()
    return BrierDecomposition(
        score=brier_score(p, y),
        reliability=float(np.mean((mean_p - share) ** 2)),
        resolution=float(np.mean((share - whole) ** 2)),
        uncertainty=float(np.mean((y - whole) ** 2)),
        within_bins=float(np.mean((p - mean_p) * (p - mean_p - 2 * (y - share)))),
    )
