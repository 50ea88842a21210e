"""Scores of one annotator against the others, as a reference for the scores of systems.

Votes and weights are as in :mod:`shroom.metrics.agreement`. Each annotator (column) in turn is
compared with the others, on the items that this annotator and at least one other annotator have
judged. In the mean over annotators, each annotator is weighted by the number of these items.
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

    Each annotator in turn is left out and compared with the others. If the votes of the others are
    tied, the annotator gets 1/2. The key in JSON is ``human_ceiling.accuracy``.

    Parameters
    ----------
    votes, weights
        See :func:`~shroom.metrics.agreement.krippendorff_alpha`.

    Returns
    -------
    float
        In [0, 1]; ``nan`` if no item has two votes.

    Examples
    --------
    On the first item, all three annotators are right. On the second item, the first annotator is
    wrong, and the other annotators get 1/2, because the votes of the others are tied.

    >>> human_accuracy([[1, 1, 1], [0, 1, 1]])
    0.6666666666666666
    """
    return HUMAN_ACCURACY.weighted(as_votes(votes), weights)


def human_rho(votes: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return Spearman's rho between one annotator's votes and the share of the others.

    Each annotator in turn is left out and compared with the others. Votes are 0 or 1, so they have
    many ties, which lower rho more than the ties in a system's p. The key in JSON is
    ``human_ceiling.rho``.

    Parameters
    ----------
    votes, weights
        See :func:`~shroom.metrics.agreement.krippendorff_alpha`.

    Returns
    -------
    float
        In [-1, 1]: the mean over the annotators for whom rho is defined; ``nan`` if there are none.
        For an annotator, rho is undefined if their votes, or the shares of the others, are all the
        same.

    Examples
    --------
    >>> human_rho([[1, 1, 1], [0, 0, 1], [0, 0, 0], [1, 1, 0]])
    0.4714045207910318
    """
    return HUMAN_RHO.weighted(as_votes(votes), weights)


def label_accuracy(votes: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the accuracy of one annotator against the majority of all, including their own vote.

    A tie counts as 1/2. The result is higher than :func:`human_accuracy`, because the label depends
    on the vote that is scored. The key in JSON is ``human_ceiling.label_accuracy``.

    Parameters
    ----------
    votes, weights
        See :func:`~shroom.metrics.agreement.krippendorff_alpha`.

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
    """Return for each item the number of votes on the majority's side, and the number of votes."""
    # The majority is the sign of ``lead``, the number of ones minus the number of zeros.
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
    """Return for each vote the number of ones among the other votes on the item."""
    return np.asarray(ones[:, None] - (votes == 1))


_MODULE = "human_ceiling"
_LEFT_OUT = "E. Agirre et al. (2012), SemEval-2012 Task 6: A Pilot on Semantic Textual Similarity"
HUMAN_ACCURACY = share_of_votes(
    "human_accuracy",
    _with_others,
    module=_MODULE,
    about="the accuracy of one annotator against the majority vote of the other annotators",
    formula="the mean over votes v of [v = majority of the other votes], where a tie counts ½",
    reference=_LEFT_OUT,
)
HUMAN_RHO = of_votes(
    "human_rho",
    _rho,
    -1.0,
    _MODULE,
    f"{NO_PAIRS}, or if, for every annotator, their own votes or the shares of the others are "
    "constant",
    about="rho between one annotator's votes and the share of the others who chose Hallucination",
    formula=(
        "the mean over annotators of rho(vote, the share of the others who chose Hallucination)"
    ),
    reference=_LEFT_OUT,
)
LABEL_ACCURACY = share_of_votes(
    "label_accuracy",
    _with_all,
    least=0.5,
    module=_MODULE,
    about="the accuracy of one annotator against the majority of all annotators",
    formula=(
        "the mean over votes v of [v = majority of all votes on the item], where a tie counts ½"
    ),
    reference=A_SHARE,
)

#: The scores of one annotator, by their keys in JSON.
CEILING = {"accuracy": HUMAN_ACCURACY, "rho": HUMAN_RHO, "label_accuracy": LABEL_ACCURACY}
