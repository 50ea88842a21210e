"""The smallest difference between systems that a test set can detect, estimated in advance."""

# A difference is detectable if a two-sided paired test at the 5% level finds it with 80% power.

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.agreement import MISSING, Votes
from shroom.metrics.base import Array, Floats, Metric
from shroom.metrics.classification import MACRO_F1
from shroom.metrics.correlation import RHO, levels, rho

#: Assumed share of items on which the labels of two systems differ.
DIFFER = 0.2
#: Assumed share of each class that a system labels wrong.
WRONG = 0.25
#: Number of columns of votes that are paired.
_COLUMNS = 6
#: Number of items drawn from the distribution fitted to the votes.
_DRAWS = 100_000


def spread_by_annotators(values: Floats) -> float:
    """Return the standard error of the difference between systems that differ as annotators do."""
    # √(Σ 2 sᵢ² / n²) of a mean over items, sᵢ² the variance among the annotators of item i.
    paired = np.sum(~np.isnan(values), axis=1) >= 2
    if not paired.any():
        return float("nan")
    variances = np.nanvar(values[paired], axis=1, ddof=1)
    return float(np.sqrt(2 * variances.mean() / len(values)))


def spread_of_accuracy(n: int, differ: float = DIFFER) -> float:
    """Return the standard error √(differ / n) of the difference in accuracy of equal systems."""
    return float(np.sqrt(differ / n)) if n else float("nan")


def spread_of_macro_f1(yes: int, no: int) -> float:
    """Return the standard error of the difference in macro-F1; ``nan`` if a class has no item."""
    # Both systems label the share WRONG of each class wrong; they differ on the share DIFFER.
    if not yes or not no:
        return float("nan")
    counts = np.array([yes * (1 - WRONG), no * WRONG, yes * WRONG, no * (1 - WRONG)])
    tp, fp, fn, tn = _influence(MACRO_F1, np.diag(counts)) / counts
    variance = yes * (tp - fn) ** 2 + no * (tn - fp) ** 2  # a change makes a right label wrong
    return float(np.sqrt(DIFFER * variance))


def spread_of_rho(votes: Votes, p: Floats) -> float:
    """Return the standard error of the difference in rho between two annotators' votes as p."""
    squares = []
    columns = votes.T[:_COLUMNS] if votes.ndim == 2 else ()
    for a, b in combinations(columns, 2):
        rows = (a != MISSING) & (b != MISSING) & ~np.isnan(p)
        sides = a[rows], b[rows]
        if not rows.any() or any(len(np.unique(side)) < 2 for side in (*sides, p[rows])):
            continue
        gold = levels(p[rows])
        of_a, of_b = (_influence(RHO, np.column_stack((levels(side), gold))) for side in sides)
        squares.append(float(np.sum((of_a - of_b) ** 2)) * rows.sum() / len(votes))
    return float(np.sqrt(np.mean(squares))) if squares else float("nan")


def _influence(metric: Metric, statistics: Array) -> Floats:
    assert metric.influence is not None  # noqa: S101 - for mypy
    return metric.influence(statistics)


@dataclass(frozen=True)
class Noise:
    """How much the limited number of votes blurs differences between systems."""

    # The true shares of yes are modelled by a beta distribution with the votes' mean and variance.

    #: Probability that the majority differs from that of an unlimited number of such annotators.
    label_error: float
    #: Spearman's rho of p with the true share: approximately the factor by which rho shrinks.
    of_rho: float

    @property
    def of_accuracy(self) -> float:
        """The factor by which a difference in accuracy shrinks: 1 − 2 label_error."""
        return 1 - 2 * self.label_error


def noise(flagged: NDArray[np.intp], total: NDArray[np.intp]) -> Noise | None:
    """Return the noise of gold labels and p; ``None`` if votes agree only by chance."""
    # C. Spearman (1904), The proof and measurement of association between two things.
    rows = total >= 2
    ones, number = flagged[rows].astype(np.float64), total[rows].astype(np.float64)
    if not len(ones):
        return None
    mean = float(np.mean(ones / number))
    square = float(np.mean(ones * (ones - 1) / (number * (number - 1))))
    variance = square - mean**2
    if variance <= 0:
        return None
    strength = mean * (1 - mean) / variance - 1
    if strength <= 1e-9:
        return Noise(0.0, 1.0)
    generator = np.random.default_rng(0)
    p = generator.beta(mean * strength, (1 - mean) * strength, _DRAWS)
    sizes = generator.choice(total[rows], _DRAWS)
    less = np.minimum(p, 1 - p)
    wrong = [_majority(int(k), less[sizes == k]) for k in np.unique(sizes)]
    shares = generator.binomial(sizes, p) / sizes
    return Noise(float(np.concatenate(wrong).mean()), rho(shares, p))


def _majority(k: int, p: Floats) -> Floats:
    """Return the probability that more than half of k votes are yes; a tie counts 1/2."""
    chances: Floats = np.zeros(len(p))
    for ones in range((k + 1) // 2, k + 1):
        tie = 0.5 if 2 * ones == k else 1.0
        chances += tie * comb(k, ones) * p**ones * (1 - p) ** (k - ones)
    return chances
