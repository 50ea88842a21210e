"""Counts of items by two things: the labels of both sides, or p and the annotators' proportion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.metrics.confusion import counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Proportions and p are counted in so many bins, where there are more distinct ones.
_BINS = 20


@dataclass(frozen=True)
class Confusion:
    """How many items have which label, by the annotators' majority and by the system."""

    both: int
    only_gold: int
    only_system: int
    neither: int

    def to_dict(self) -> dict[str, int]:
        """Return it as plain values, for json; ``both`` is Hallucination by gold and system."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class Spread:
    """How p is spread at each of the annotators' proportions.

    Attributes
    ----------
    shares : array, shape [k]
        The proportions that occur, rising; the middles of bins where there are many.
    counts : array of int, shape [k, 20]
        How many items have p in each twentieth, p = 1 in the last.
    mean_p : array, shape [k]
        Their mean p.
    """

    shares: NDArray[np.float64]
    counts: NDArray[np.int64]
    mean_p: NDArray[np.float64]


def confusion(label: NDArray[Any], gold_label: NDArray[Any]) -> Confusion:
    """Return how many items have which label.

    Parameters
    ----------
    label, gold_label : array, shape [n]
        1 for Hallucination.

    Examples
    --------
    >>> confusion(np.array([1, 0, 1]), np.array([1, 1, 0]))
    Confusion(both=1, only_gold=1, only_system=1, neither=0)
    """
    tp, fp, fn, tn = counts(label, gold_label).sum(axis=0).tolist()
    return Confusion(both=tp, only_gold=fn, only_system=fp, neither=tn)


def spread(p: NDArray[Any], gold_p: NDArray[Any]) -> Spread:
    """Return how p is spread at each of the annotators' proportions.

    Parameters
    ----------
    p, gold_p : array, shape [n]
        In [0, 1].

    Examples
    --------
    >>> found = spread(np.array([0.0, 0.5, 1.0]), np.array([0.2, 0.8, 0.8]))
    >>> found.shares.tolist(), found.mean_p.tolist(), found.counts.sum(axis=1).tolist()
    ([0.2, 0.8], [0.0, 0.75], [1, 2])
    """
    shares, place = np.unique(np.round(gold_p, 3), return_inverse=True)
    if len(shares) > _BINS:
        middles = (np.arange(_BINS) + 0.5) / _BINS
        bins = np.minimum((gold_p * _BINS).astype(np.intp), _BINS - 1)
        occupied, place = np.unique(bins, return_inverse=True)
        shares = middles[occupied]
    column = np.minimum((p * _BINS).astype(np.intp), _BINS - 1)
    count = len(shares)
    counts = np.bincount(place * _BINS + column, minlength=count * _BINS).reshape(count, _BINS)
    mean_p = np.bincount(place, weights=p, minlength=count) / counts.sum(axis=1)
    return Spread(shares, counts, mean_p)
