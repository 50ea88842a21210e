"""Agreement between annotators, from an array of their votes.

The votes have the shape [items, annotators]: 1 for Hallucination, 0 for Not Hallucination, -1 or
``nan`` if an annotator has not judged an item. Every function also takes weights of the items, so
a resample of the items is a row of weights. During resampling, each distinct row of votes is scored
only once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shroom.metrics.base import Floats, Metric
from shroom.metrics.bootstrap import resamples

Votes = NDArray[np.int8]
#: No vote.
MISSING = -1
NO_PAIRS = "if no item has two votes"
A_SHARE = "none (a simple proportion)"
_FLEISS = "J. L. Fleiss (1971), Measuring nominal scale agreement among many raters"


def padded(lists: Sequence[Sequence[int]]) -> Votes:
    """Return the votes of each item as a row of an array; shorter rows are filled with -1."""
    votes = np.full((len(lists), max(map(len, lists), default=0)), MISSING, np.int8)
    for row, own in zip(votes, lists):
        row[: len(own)] = own
    return votes


def krippendorff_alpha(votes: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return Krippendorff's alpha for nominal data: agreement corrected for chance.

    Perfect agreement gets 1, and agreement at chance level gets 0. Votes may be missing; items with
    fewer than two votes are left out. If none of the n · k votes is missing, alpha equals kappa +
    (1 − kappa) / (n · k). If one label is rare, alpha is lower, even if annotators agree equally
    often.

    Parameters
    ----------
    votes : array-like, shape [n, k]
        Ones and zeros or booleans; -1 or ``nan`` for a missing vote.
    weights : array, shape [n], optional
        Weight of each item; 1 by default.

    Returns
    -------
    float
        At most 1; ``nan`` if no item has two votes, or if all votes are the same.

    References
    ----------
    K. Krippendorff (2004), "Content Analysis", chapter 11.

    Examples
    --------
    >>> krippendorff_alpha([[1, 1, 1], [0, 0, 1], [0, 0, -1]])
    0.5625
    """
    return ALPHA.weighted(as_votes(votes), weights)


def fleiss_kappa(votes: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return Fleiss' kappa: agreement corrected for chance, for a constant number of votes.

    Different items may have different annotators. If the number of votes differs between items, use
    alpha. Items without votes are left out.

    Parameters
    ----------
    votes, weights
        See :func:`krippendorff_alpha`.

    Returns
    -------
    float
        At most 1; ``nan`` if items have different numbers of votes, if items have fewer than two
        votes, or if all votes are the same.

    References
    ----------
    J. L. Fleiss (1971), "Measuring nominal scale agreement among many raters".

    Examples
    --------
    >>> round(fleiss_kappa([[1, 1, 1], [0, 0, 1], [0, 0, 0]]), 12)
    0.55
    >>> fleiss_kappa([[1, 1, 1], [0, 0, 1], [0, 0, -1]])
    nan
    """
    return KAPPA.weighted(as_votes(votes), weights)


def pairwise_agreement(votes: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return how often two annotators of the same item agree, averaged over items.

    Items with fewer than two votes are left out. The result is not corrected for chance: two
    annotators who toss coins agree half of the time.

    Parameters
    ----------
    votes, weights
        See :func:`krippendorff_alpha`.

    Returns
    -------
    float
        In [0, 1]; ``nan`` if no item has two votes.

    Examples
    --------
    >>> pairwise_agreement([[1, 1, 1], [0, 0, 1]])
    0.6666666666666666
    """
    return PAIRWISE.weighted(as_votes(votes), weights)


def unanimous(votes: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the share of items on which all votes are the same.

    Items with fewer than two votes are left out. The more annotators there are, the lower the
    share: compare shares only if the numbers of votes are the same.

    Parameters
    ----------
    votes, weights
        See :func:`krippendorff_alpha`.

    Returns
    -------
    float
        In [0, 1]; ``nan`` if no item has two votes.

    Examples
    --------
    >>> unanimous([[1, 1, 1], [0, 0, 1]])
    0.5
    """
    return UNANIMOUS.weighted(as_votes(votes), weights)


def as_votes(votes: ArrayLike) -> Votes:
    """Return votes as integers: 1, 0, or -1 for a missing vote."""
    values = np.asarray(votes, np.float64)
    if values.ndim != 2:
        raise ValueError(f"votes: expected the shape [items, annotators], got {values.shape}")
    values = np.where(np.isnan(values), MISSING, values)
    if not np.isin(values, (MISSING, 0, 1)).all():
        raise ValueError("votes: expected 1 or 0 (-1 or nan if a vote is missing)")
    return values.astype(np.int8)


def bootstrap_votes(
    figures: Mapping[str, Metric], votes: ArrayLike, count: int = 1000, seed: int = 0
) -> dict[str, Floats]:
    """Return several measures of agreement on the same ``count`` resamples of the items.

    Parameters
    ----------
    figures : mapping of str to Metric
        For example :data:`AGREEMENT`.
    votes : array-like, shape [n, k]
        See :func:`krippendorff_alpha`.
    count : int
        Number of resamples.
    seed : int
        Random seed.

    Returns
    -------
    dict of array, shape [count]
        ``nan`` for resamples on which a measure is undefined.

    Examples
    --------
    >>> found = bootstrap_votes(AGREEMENT, [[1, 1], [0, 1], [0, 0]], count=4)
    >>> found["unanimous"].shape
    (4,)
    """
    array = as_votes(votes)
    patterns, place = np.unique(array, axis=0, return_inverse=True)
    order = np.argsort(place.ravel(), kind="stable")  # ravel: two dimensions in NumPy 2.0.0
    starts = np.searchsorted(place.ravel()[order], np.arange(len(patterns)))
    scores: dict[str, list[Floats]] = {name: [np.empty(0)] for name in figures}
    for drawn in resamples(len(array), count, seed):
        weights = np.add.reduceat(drawn[:, order], starts, axis=1)
        for name, figure in figures.items():
            scores[name].append(figure.score(patterns, weights))
    return {name: np.concatenate(parts) for name, parts in scores.items()}


def counted(votes: Votes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of votes on each item, and the number of votes that are 1."""
    return (votes != MISSING).sum(axis=1), (votes == 1).sum(axis=1)


def _alpha(votes: Votes, weights: Floats) -> Floats:
    number, ones = counted(votes)
    paired = number >= 2
    zeros = number - ones
    n_ones, n_zeros = weights @ (paired * ones), weights @ (paired * zeros)
    disagreeing = weights @ (ones * zeros / np.maximum(number - 1, 1))
    with np.errstate(invalid="ignore"):
        return np.asarray(1 - (n_ones + n_zeros - 1) * disagreeing / (n_ones * n_zeros))


def _kappa(votes: Votes, weights: Floats) -> Floats:
    number, ones = counted(votes)
    if len(set(number[number > 0].tolist())) != 1:
        return np.full(len(weights), np.nan)
    with np.errstate(invalid="ignore"):
        of_ones = (weights @ ones) / (weights @ number)
        by_chance = of_ones**2 + (1 - of_ones) ** 2
        return np.asarray((PAIRWISE.score(votes, weights) - by_chance) / (1 - by_chance))


def _agreeing(votes: Votes) -> tuple[NDArray[Any], NDArray[Any]]:
    number, ones = counted(votes)
    zeros = number - ones
    agreeing = ones * (ones - 1) + zeros * (zeros - 1)
    return agreeing / np.maximum(number * (number - 1), 1), number >= 2


def _alike(votes: Votes) -> tuple[NDArray[Any], NDArray[Any]]:
    number, ones = counted(votes)
    paired = number >= 2
    return paired & ((ones == 0) | (ones == number)), paired


def of_votes(
    name: str,
    score: Callable[[Votes, Floats], Floats],
    least: float = 0.0,
    module: str = "agreement",
    undefined: str = NO_PAIRS,
    **about: Any,
) -> Metric:
    """Return a metric of annotators, whose statistics are their votes."""
    about["function"] = f"shroom.metrics.{module}:{name}"
    about["command"] = "shroom gold agreement GOLD"
    bounds = (least, 1.0)
    return Metric(name, as_votes, score, bounds, inputs=("votes",), undefined=undefined, **about)


def share_of_votes(
    name: str, parts: Callable[[Votes], tuple[NDArray[Any], NDArray[Any]]], **about: Any
) -> Metric:
    """Return a metric of annotators that is a share: the sum of parts over the sum of wholes."""

    def score(votes: Votes, weights: Floats) -> Floats:
        part, total = parts(votes)
        with np.errstate(invalid="ignore"):
            return np.asarray((weights @ part) / (weights @ total))

    return of_votes(name, score, share=lambda votes: np.column_stack(parts(votes)), **about)


ALPHA = of_votes(
    "krippendorff_alpha",
    _alpha,
    -1.0,
    about="agreement corrected for chance; votes may be missing",
    formula=(
        "1 − Dₒ/Dₑ; Dₒ is the share of disagreeing pairs among votes on the same item, Dₑ among "
        "all votes"
    ),
    undefined=f"{NO_PAIRS}, or if all votes on items with two or more votes are the same",
    reference="K. Krippendorff (2004), Content Analysis, chapter 11",
)
KAPPA = of_votes(
    "fleiss_kappa",
    _kappa,
    -1.0,
    about="agreement corrected for chance; every item needs the same number of votes",
    formula=(
        "(P − Pₑ)/(1 − Pₑ), with P the pairwise agreement and Pₑ the sum of the squared shares "
        "of the labels"
    ),
    undefined=f"{NO_PAIRS}, if items have different numbers of votes, or if all votes are the same",
    reference=_FLEISS,
)
PAIRWISE = share_of_votes(
    "pairwise_agreement",
    _agreeing,
    about="how often two annotators of the same item agree",
    formula="(1/n) Σ (pairs of votes on item i that agree)/(pairs of votes on item i)",
    reference=_FLEISS,
)
UNANIMOUS = share_of_votes(
    "unanimous",
    _alike,
    about="the share of items on which all annotators agree",
    formula="(1/n) Σ [all votes on item i are the same], over items with at least two votes",
    reference=A_SHARE,
)

#: The measures of agreement, by their keys in JSON.
AGREEMENT = {figure.name: figure for figure in (ALPHA, KAPPA, PAIRWISE, UNANIMOUS)}
