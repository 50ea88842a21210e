"""The human ceiling: the score of one annotator, from an array of votes.

Votes and weights are those of :mod:`shroom.metrics.agreement`. Each annotator (column) is left out
in turn and compared with the others, on the items that they and at least one other have judged. The
mean over the annotators counts each by the number of these items, so that a column that only a few
items have weighs no more than it knows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shroom.metrics.agreement import (
    A_SHARE,
    MISSING,
    NO_PAIRS,
    Votes,
    as_votes,
    counted,
    of_votes,
    share_of_votes,
)
from shroom.metrics.base import Floats
from shroom.metrics.correlation import RHO, levels


def human_accuracy(votes: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the accuracy of one annotator against the majority of the others.

    Where the others are tied, their majority is either label with equal chance: the annotator gets
    1/2, which is what drawing lots comes to on average.

    Parameters
    ----------
    votes, weights
        As of :func:`~shroom.metrics.agreement.krippendorff_alpha`.

    Returns
    -------
    float
        In [0, 1]; ``nan`` if no item has two votes.

    Examples
    --------
    On the first item all three are right; on the second the first is wrong, and each of the others
    sees a tie.

    >>> human_accuracy([[1, 1, 1], [0, 1, 1]])
    0.6666666666666666
    """
    return HUMAN_ACCURACY.weighted(as_votes(votes), weights)


def human_rho(votes: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return Spearman's rho of one annotator's vote, taken as p, with the share of the others.

    Parameters
    ----------
    votes, weights
        As of :func:`~shroom.metrics.agreement.krippendorff_alpha`.

    Returns
    -------
    float
        In [-1, 1]: the mean over the annotators for whom it is defined; ``nan`` if there are
        none, since each has voted the same throughout, or the others have.

    Examples
    --------
    >>> human_rho([[1, 1, 1], [0, 0, 1], [0, 0, 0], [1, 1, 0]])
    0.4714045207910318
    """
    return HUMAN_RHO.weighted(as_votes(votes), weights)


def label_accuracy(votes: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the accuracy of one annotator against the majority of all, their own vote included.

    A tie counts 1/2. It is higher than :func:`human_accuracy`, since the vote that is scored has
    helped to make the label that it is scored by.

    Parameters
    ----------
    votes, weights
        As of :func:`~shroom.metrics.agreement.krippendorff_alpha`.

    Returns
    -------
    float
        In [1/2, 1]; ``nan`` if no item has two votes.

    Examples
    --------
    >>> label_accuracy([[1, 1, 1], [0, 1, 1]])
    0.8333333333333334
    """
    return LABEL_ACCURACY.weighted(as_votes(votes), weights)


def _with_others(votes: Votes) -> tuple[Floats, NDArray[np.int64]]:
    number, ones = counted(votes)
    return _right(votes, 2 * _others(votes, ones) - (number - 1)[:, None])


def _with_all(votes: Votes) -> tuple[Floats, NDArray[np.int64]]:
    number, ones = counted(votes)
    return _right(votes, (2 * ones - number)[:, None])


def _right(votes: Votes, lead: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    """Return how many votes are on the majority's side, given by how far 1 leads, and of how many.

    Both are of each item.
    """
    paired = (votes != MISSING).sum(axis=1) >= 2
    counts = (votes != MISSING) & paired[:, None]
    right = (1 + np.sign(lead) * (2 * votes - 1)) / 2
    return (right * counts).sum(axis=1), counts.sum(axis=1)


def _rho(votes: Votes, weights: Floats) -> Floats:
    number, ones = counted(votes)
    others = _others(votes, ones) / np.maximum(number - 1, 1)[:, None]
    total, items = np.zeros(len(weights)), np.zeros(len(weights))
    for vote, of_others in zip(votes.T, others.T):
        counting = weights * ((vote != MISSING) & (number >= 2))
        rhos = RHO.score(np.column_stack((levels(vote), levels(of_others))), counting)
        counted_items = np.where(np.isnan(rhos), 0, counting.sum(axis=1))
        total += np.nan_to_num(rhos) * counted_items
        items += counted_items
    with np.errstate(invalid="ignore"):
        return np.asarray(total / items)


def _others(votes: Votes, ones: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each vote how many of the item's other votes are 1."""
    return np.asarray(ones[:, None] - (votes == 1))


_MODULE = "human_ceiling"
_LEFT_OUT = "E. Agirre et al. (2012), SemEval-2012 Task 6: A Pilot on Semantic Textual Similarity"
HUMAN_ACCURACY = share_of_votes(
    "human_accuracy",
    _with_others,
    module=_MODULE,
    about="the accuracy of one annotator against the majority of the others, a tie half right",
    formula="the mean over votes v of [v = the others' majority], ½ where the others are tied",
    reference=_LEFT_OUT,
)
HUMAN_RHO = of_votes(
    "human_rho",
    _rho,
    -1.0,
    _MODULE,
    f"{NO_PAIRS}, or all annotators, or the others of each, vote the same throughout",
    about="rho of one annotator's vote, taken as p, with the share of the others",
    formula="the mean over annotators of rho(vote, the others' share of Hallucination)",
    reference=_LEFT_OUT,
)
LABEL_ACCURACY = share_of_votes(
    "label_accuracy",
    _with_all,
    least=0.5,
    module=_MODULE,
    about="the accuracy of one annotator against the majority of all, their own vote included",
    formula="the mean over votes v of [v = the majority of all], ½ where the votes are tied",
    reference=A_SHARE,
)

#: The figures of the human ceiling, by the names that json has for them.
CEILING = {"accuracy": HUMAN_ACCURACY, "rho": HUMAN_RHO, "label_accuracy": LABEL_ACCURACY}
