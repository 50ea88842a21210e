"""Agreement between annotators, from an array of their votes.

A votes array has shape [items, annotators]: 1 for Hallucination, 0 for Not Hallucination, -1 or
``nan`` if an annotator has not judged an item. Each figure takes weights as well, how often an
item counts, so that a resample of the items is a row of weights; items that got the same votes
are interchangeable, so resampling computes each pattern of votes once.
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
NO_PAIRS = "where no item has two votes"
A_SHARE = "none: a plain share"
_FLEISS = "J. L. Fleiss (1971), Measuring nominal scale agreement among many raters"


def padded(lists: Sequence[Sequence[int]]) -> Votes:
    """Return the votes of each item as a row of an array, with -1 if a list is shorter."""
    votes = np.full((len(lists), max(map(len, lists), default=0)), MISSING, np.int8)
    for row, own in zip(votes, lists):
        row[: len(own)] = own
    return votes


def krippendorff_alpha(votes: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return Krippendorff's alpha for nominal data: agreement corrected for chance.

    ``1 - D_o / D_e``: the observed disagreement of the pairs of votes within items, over that of
    pairs drawn from all votes. Votes may be missing; an item with fewer than two has no pair and
    is left out.

    Parameters
    ----------
    votes : array-like, shape [n, k]
        Ones and zeros or booleans; -1 or ``nan`` for a missing vote.
    weights : array, shape [n], optional
        Weight of each item; 1 by default.

    Returns
    -------
    float
        At most 1, which is perfect agreement; 0 is agreement by chance. ``nan`` if no item
        has two votes, or if all votes are the same: then no disagreement could be expected.

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
    """Return Fleiss' kappa: agreement corrected for chance, for a constant number of raters.

    ``(P - P_e) / (1 - P_e)``: P is :func:`pairwise_agreement`, and P_e the sum of the squared
    shares of both labels among all votes. The raters need not be the same for each item, but as
    many: with another number P and P_e would weigh the items differently. Items without any vote
    are left out.

    Parameters
    ----------
    votes, weights
        As of :func:`krippendorff_alpha`.

    Returns
    -------
    float
        At most 1; ``nan`` if items differ in their number of votes, if it is below 2, or
        if all votes are the same.

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
    """Return how often two annotators of one item agree: per item, then the mean of the items.

    Parameters
    ----------
    votes, weights
        As of :func:`krippendorff_alpha`.

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
    """Return the share of items whose votes are all the same, among those with two or more.

    Parameters
    ----------
    votes, weights
        As of :func:`krippendorff_alpha`.

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
    """Return votes as integers: 1, 0, or -1 if there is none."""
    values = np.asarray(votes, np.float64)
    if values.ndim != 2:
        raise ValueError(f"votes: expected the shape [items, annotators], got {values.shape}")
    values = np.where(np.isnan(values), MISSING, values)
    if not np.isin(values, (MISSING, 0, 1)).all():
        raise ValueError("votes: expected 1, 0, and -1 or nan for a missing one")
    return values.astype(np.int8)


def bootstrap_votes(
    figures: Mapping[str, Metric], votes: ArrayLike, count: int = 1000, seed: int = 0
) -> dict[str, Floats]:
    """Return several figures on ``count`` resamples of the items, the same for all of them.

    Parameters
    ----------
    figures : mapping of str to Metric
        Such as :data:`AGREEMENT`.
    votes : array-like, shape [n, k]
        As of :func:`krippendorff_alpha`.
    count : int
        How many resamples.
    seed : int
        Seed of the random generator.

    Returns
    -------
    dict of array, shape [count]
        ``nan`` if a figure is undefined on a resample.

    Examples
    --------
    >>> found = bootstrap_votes(AGREEMENT, [[1, 1], [0, 1], [0, 0]], count=4)
    >>> found["unanimous"].shape
    (4,)
    """
    array = as_votes(votes)
    patterns, place = np.unique(array, axis=0, return_inverse=True)
    order = np.argsort(place.ravel(), kind="stable")  # ravel: NumPy 2.0.0 gave it two dimensions
    starts = np.searchsorted(place.ravel()[order], np.arange(len(patterns)))
    scores: dict[str, list[Floats]] = {name: [np.empty(0)] for name in figures}
    for drawn in resamples(len(array), count, seed):
        weights = np.add.reduceat(drawn[:, order], starts, axis=1)
        for name, figure in figures.items():
            scores[name].append(figure.score(patterns, weights))
    return {name: np.concatenate(parts) for name, parts in scores.items()}


def counted(votes: Votes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many votes each item has, and how many of them are 1."""
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
    """Return a figure of annotators: a metric whose statistics are their votes."""
    about["function"] = f"shroom.metrics.{module}:{name}"
    about["command"] = "shroom gold agreement GOLD"
    bounds = (least, 1.0)
    return Metric(name, as_votes, score, bounds, inputs=("votes",), undefined=undefined, **about)


def share_of_votes(
    name: str, parts: Callable[[Votes], tuple[NDArray[Any], NDArray[Any]]], **about: Any
) -> Metric:
    """Return a figure that is a share, given what each item adds to the part and the whole."""

    def score(votes: Votes, weights: Floats) -> Floats:
        part, total = parts(votes)
        with np.errstate(invalid="ignore"):
            return np.asarray((weights @ part) / (weights @ total))

    return of_votes(name, score, share=lambda votes: np.column_stack(parts(votes)), **about)


ALPHA = of_votes(
    "krippendorff_alpha",
    _alpha,
    -1.0,
    about="how far the annotators agree, corrected for chance; votes may be missing",
    formula="1 − Dₒ/Dₑ: the observed disagreement of votes within items, over that of all votes",
    undefined=f"{NO_PAIRS}, or all votes in such items are the same",
    reference="K. Krippendorff (2004), Content Analysis, chapter 11",
)
KAPPA = of_votes(
    "fleiss_kappa",
    _kappa,
    -1.0,
    about="how far the annotators agree, corrected for chance; as many votes for each item",
    formula="(P − Pₑ)/(1 − Pₑ), P the pairwise agreement, Pₑ the sum of the labels' squared shares",
    undefined=f"{NO_PAIRS}, items differ in their number of votes, or all votes are the same",
    reference=_FLEISS,
)
PAIRWISE = share_of_votes(
    "pairwise_agreement",
    _agreeing,
    about="how often two annotators of one item agree",
    formula="(1/n) Σ (pairs of votes on item i that agree)/(pairs of votes on item i)",
    reference=_FLEISS,
)
UNANIMOUS = share_of_votes(
    "unanimous",
    _alike,
    about="the share of items on which all annotators agree",
    formula="(1/n) Σ [all votes on item i are the same], over items with two votes or more",
    reference=A_SHARE,
)

#: The figures of agreement, by the names that json has for them.
AGREEMENT = {figure.name: figure for figure in (ALPHA, KAPPA, PAIRWISE, UNANIMOUS)}
