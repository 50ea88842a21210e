"""How large a difference between two systems a test set can show, before any system has run.

A difference is detectable if a two-sided paired test at 5% finds it in 4 of 5 cases. It depends on
how much the two systems differ item by item, which nobody knows beforehand. Where there are votes,
the assumption is that they differ as two annotators do; it is on the safe side, since systems that
are alike differ less. Without votes the share of items on which they differ is assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.agreement import MISSING, Votes
from shroom.metrics.base import Floats
from shroom.metrics.correlation import RHO, levels, rho

#: The share of items on which two systems give other labels, where nothing is known of it.
DIFFER = 0.2
#: The share of each class that a system labels wrong, where nothing is known of it.
WRONG = 0.25
#: How many columns of votes are paired.
_COLUMNS = 6
#: How many items are drawn from the distribution that the votes show.
_DRAWS = 100_000


def spread_by_annotators(values: Floats) -> float:
    """Return the standard error of the difference of two systems that differ as annotators do.

    For a metric that is a mean over items: the square root of Σ 2 sᵢ² / n², where sᵢ² is the
    variance among the annotators' values of item i, which estimates half of the mean square of the
    difference between two of them.

    Parameters
    ----------
    values : array, shape [n, k]
        What each annotator would get on each item; ``nan`` where there is no annotation. Items
        with fewer than two are left out.

    Returns
    -------
    float
        Of the mean over all n items; ``nan`` where no item has two.

    Examples
    --------
    Of accuracy, half of the items with one of two annotators right:

    >>> import numpy as np
    >>> spread_by_annotators(np.array([[1.0, 0.0], [1.0, 1.0]] * 50))
    0.07071067811865475
    """
    paired = np.sum(~np.isnan(values), axis=1) >= 2
    if not paired.any():
        return float("nan")
    variances = np.nanvar(values[paired], axis=1, ddof=1)
    return float(np.sqrt(2 * variances.mean() / len(values)))


def spread_of_accuracy(n: int, differ: float = DIFFER) -> float:
    """Return the standard error of the difference in accuracy of two equally good systems.

    Where the labels are binary, exactly one of two systems is right wherever they differ, so it
    does not depend on the gold: √(differ / n).

    Parameters
    ----------
    n : int
        The number of items.
    differ : float
        The share of items that the systems label otherwise, in [0, 1].

    Examples
    --------
    >>> spread_of_accuracy(500, differ=0.2)
    0.02
    """
    return float(np.sqrt(differ / n)) if n else float("nan")


def spread_of_macro_f1(yes: int, no: int, differ: float = DIFFER, wrong: float = WRONG) -> float:
    """Return the standard error of the difference in macro-F1 of two equally good systems.

    Both label the share ``wrong`` of each class wrong, and they differ on the share ``differ`` of
    each class; the variance is that of the differences of their items' influence on macro-F1.

    Parameters
    ----------
    yes, no : int
        The number of items of each class in the gold.
    differ, wrong : float
        In [0, 1]; ``differ`` may not exceed twice ``wrong``.

    Returns
    -------
    float
        ``nan`` where a class has no item, since the F1 of it is then undefined.

    Examples
    --------
    >>> round(spread_of_macro_f1(120, 120), 4), spread_of_macro_f1(240, 0)
    (0.0289, nan)
    """
    if not yes or not no:
        return float("nan")
    variance = 0.0
    right = {"yes": yes * (1 - wrong), "no": no * (1 - wrong)}
    labelled = {"yes": right["yes"] + no * wrong, "no": right["no"] + yes * wrong}
    sizes = {"yes": yes + labelled["yes"], "no": no + labelled["no"]}  # gold and labelled
    f1 = {name: 2 * right[name] / size for name, size in sizes.items()}
    for gold, count in (("yes", yes), ("no", no)):
        other = "no" if gold == "yes" else "yes"
        # An item labelled right counts in the F1 of its class; wrong, in that of the other too.
        # The terms of its gold class are the same in both systems.
        change = (2 - f1[gold]) / sizes[gold] + f1[other] / sizes[other]
        variance += count * differ * (change / 2) ** 2
    return float(np.sqrt(variance))


def spread_of_rho(votes: Votes, p: Floats) -> float:
    """Return the standard error of the difference in rho of two annotators whose votes are p.

    The mean over pairs of columns, by the items' influence on each one's rho with the gold p.

    Parameters
    ----------
    votes : array of int8, shape [n, k]
        1, 0, or -1 for a missing vote.
    p : array, shape [n]
        The gold p.

    Returns
    -------
    float
        ``nan`` where no pair of columns has a rho.
    """
    squares = []
    columns = votes.shape[1] if votes.ndim == 2 else 0
    for a in range(min(columns, _COLUMNS)):
        for b in range(a + 1, min(columns, _COLUMNS)):
            rows = (votes[:, a] != MISSING) & (votes[:, b] != MISSING) & ~np.isnan(p)
            sides = [votes[rows, column] for column in (a, b)]
            if not rows.any() or any(len(np.unique(side)) < 2 for side in (*sides, p[rows])):
                continue
            gold = levels(p[rows])
            of_a, of_b = (RHO.influence(np.column_stack((levels(side), gold))) for side in sides)  # type: ignore[misc]
            squares.append(float(np.sum((of_a - of_b) ** 2)) * rows.sum() / len(votes))
    return float(np.sqrt(np.mean(squares))) if squares else float("nan")


@dataclass(frozen=True)
class Noise:
    """How far the votes that a gold is made of blur a difference between systems.

    The chance that an annotator says yes is taken to be distributed over items as a beta
    distribution with the mean and the variance that the votes show.

    Attributes
    ----------
    label_error : float
        The chance that the majority label of an item is not that of an unlimited number of such
        annotators.
    of_rho : float
        Spearman's rho of p with the share of yes among an unlimited number of such annotators: the
        factor by which a difference in rho shrinks, nearly.
    """

    label_error: float
    of_rho: float

    @property
    def of_accuracy(self) -> float:
        """The factor by which a difference in accuracy shrinks: 1 − 2 label_error."""
        return 1 - 2 * self.label_error


def noise(flagged: NDArray[np.intp], total: NDArray[np.intp]) -> Noise | None:
    """Return the noise of a gold's labels and p, from the votes that they are made of.

    Parameters
    ----------
    flagged, total : array of int, shape [n]
        How many votes of each item are yes, and how many there are.

    Returns
    -------
    Noise or None
        ``None`` where no item has two votes, or where annotators agree no more than by chance.

    References
    ----------
    The correction for attenuation: C. Spearman (1904), "The proof and measurement of association
    between two things".

    Examples
    --------
    Annotators who always agree leave no noise:

    >>> import numpy as np
    >>> noise(np.array([5, 0, 0, 5]), np.array([5, 5, 5, 5]))
    Noise(label_error=0.0, of_rho=1.0)
    """
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
    """Return the chance that more than half of k votes are yes; a tie counts 1/2."""
    chances: Floats = np.zeros(len(p))
    for ones in range((k + 1) // 2, k + 1):
        tie = 0.5 if 2 * ones == k else 1.0
        chances += tie * comb(k, ones) * p**ones * (1 - p) ** (k - ones)
    return chances
