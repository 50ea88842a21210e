"""Each annotator compared with the others: leave-one-out agreement, with intervals.

Votes are those of :mod:`shroom.metrics.agreement`, with a column for each annotator. A row is an
item or, where spans are marked, a run of characters of one text on which everybody voted alike;
whole texts are resampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.agreement import MISSING, Votes, counted
from shroom.metrics.base import Floats
from shroom.metrics.bootstrap import Interval, resamples
from shroom.metrics.cluster_bootstrap import sums
from shroom.metrics.intervals import FEWEST, Intervals, resampled_interval, wilson_interval

#: A rate beyond this, on either side, is near-constant unless the others are beyond ``_USUAL``.
_CONSTANT, _USUAL = 0.95, 0.85
#: The fewest texts from which an annotator is called near-constant, or no better than chance.
_FEW, _ENOUGH = 20, 50


@dataclass(frozen=True, eq=False)
class NamedVotes:
    """The votes of annotators, a column for each.

    Attributes
    ----------
    names : sequence of str
        The annotators.
    votes : array of int8, shape [m, k]
        1 for yes (marked), 0 for no, -1 where there is no vote.
    text : array of int, shape [m]
        The text or item that each row is of.
    size : array, shape [m]
        The number of characters of a row; 1 for an item.
    """

    names: Sequence[str]
    votes: Votes
    text: NDArray[np.intp]
    size: Floats

    @classmethod
    def of_items(cls, votes: Votes, names: Sequence[str]) -> NamedVotes:
        """Return votes of which each row is an item."""
        return cls(names, votes, np.arange(len(votes)), np.ones(len(votes)))


@dataclass(frozen=True)
class LeftOut:
    """One annotator compared with the others on the texts that both have judged.

    Attributes
    ----------
    name : str
        The annotator.
    n : int
        The number of texts.
    rate, others_rate : float
        The share of yes among their votes and among those of the others.
    yes, others_yes : float
        The share of texts in which they, and the others on average, say yes to anything.
    agreement : float
        The share of votes that are those of the majority of the others; a tie counts 1/2.
    agreement_ci : tuple of float or None
        Its bootstrap interval over texts.
    correlation : float or None
        Pearson's correlation of the votes with the share of yes among the others; ``None`` where
        either is constant. It is 0 for votes that have nothing to do with the texts.
    correlation_ci : tuple of float or None
        Its bootstrap interval over texts.
    """

    name: str
    n: int
    rate: float
    others_rate: float
    yes: float
    others_yes: float
    agreement: float
    agreement_ci: Interval | None
    correlation: float | None
    correlation_ci: Interval | None

    @property
    def is_constant(self) -> bool:
        """Whether nearly all votes are the same, while those of the others are not."""
        if self.n < _FEW:
            return False
        never = self.yes <= 1 - _CONSTANT and self.others_yes > 1 - _USUAL
        return never or (self.rate >= _CONSTANT and self.others_rate < _USUAL)

    def is_random(self, usual: float | None) -> bool:
        """Return whether the votes may as well be random.

        With 50 texts or more, where the interval of the correlation has 0 in it; with 20 or more,
        where it is below half of ``usual``, the correlation of the annotator in the middle.
        """
        if self.correlation is None or self.correlation_ci is None or self.n < _FEW:
            return False
        low, high = self.correlation_ci
        return (self.n >= _ENOUGH and low <= 0) or (usual is not None and high < usual / 2)


def left_out(
    votes: NamedVotes, count: int = 1000, seed: int = 0, confidence: float = 0.95
) -> list[LeftOut]:
    """Return each annotator compared with the others, in the order of the columns.

    Parameters
    ----------
    votes : NamedVotes
        Those who have judged nothing together with others are left out.
    count, seed, confidence
        How many resamples, their seed, and the confidence of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> three = np.array([[1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]], np.int8)
    >>> result = left_out(NamedVotes.of_items(three, ["A", "B", "C"]))
    >>> [(one.name, one.agreement, round(one.correlation, 3)) for one in result]
    [('A', 0.75, 0.707), ('B', 0.75, 0.707), ('C', 0.5, 0.0)]
    """
    number, ones = counted(votes.votes)
    how = Intervals(count, seed, confidence)
    results = []
    for column, name in enumerate(votes.names):
        rows = np.flatnonzero((votes.votes[:, column] != MISSING) & (number > 1))
        if not len(rows):
            continue
        mine, text = votes.votes[rows, column], votes.text[rows]
        own = mine.astype(np.float64)
        others = (ones[rows] - own) / (number[rows] - 1)
        # Each other annotator by themselves, so that many do not say yes more often than one.
        apart = np.delete(votes.votes[rows], column, axis=1)
        by_text = _sums(own, others, text, votes.size[rows])
        yes = _share_with_yes(mine[:, None], text), _share_with_yes(apart, text)
        results.append(_one(name, by_text, *yes, how))
    return results


def usual_correlation(results: Sequence[LeftOut]) -> float | None:
    """Return the median correlation of annotators; ``None`` where fewer than three have one."""
    values = [result.correlation for result in results if result.correlation is not None]
    return float(np.median(values)) if len(values) > 2 else None


def _sums(own: Floats, others: Floats, text: NDArray[np.intp], size: Floats) -> Floats:
    """Return the sums of each text, from which all figures follow: shape [texts, 7]."""
    majority = np.where(others == 0.5, 0.5, (own == (others > 0.5)).astype(np.float64))
    terms = (np.ones(len(own)), own, others, own * own, others * others, own * others, majority)
    place = np.unique(text, return_inverse=True)[1].ravel()
    return sums(np.column_stack(terms) * size[:, None], place)


def _share_with_yes(votes: Votes, text: NDArray[np.intp]) -> float:
    """Return the share of texts in which an annotator says yes, mean by the number of texts."""
    yes = sum(len(np.unique(text[column == 1])) for column in votes.T)
    return yes / sum(len(np.unique(text[column != MISSING])) for column in votes.T)


def _one(name: str, rows: Floats, yes: float, others_yes: float, how: Intervals) -> LeftOut:
    total = rows.sum(axis=0)
    size, n, ci = total[0], len(rows), None
    correlation = float(_correlation(total))
    if not np.isnan(correlation) and n >= FEWEST:
        drawn = [_correlation(weights @ rows) for weights in resamples(n, how.resamples, how.seed)]
        ci = resampled_interval(np.concatenate([np.empty(0), *drawn]), how.confidence)
    return LeftOut(
        name=name,
        n=n,
        rate=float(total[1] / size),
        others_rate=float(total[2] / size),
        yes=yes,
        others_yes=others_yes,
        agreement=float(total[6] / size),
        agreement_ci=wilson_interval(rows[:, [6, 0]], how.confidence) if how.resamples else None,
        correlation=None if np.isnan(correlation) else correlation,
        correlation_ci=ci,
    )


@np.errstate(invalid="ignore", divide="ignore")
def _correlation(sums: Floats) -> Floats:
    """Return Pearson's correlation that follows from sums [..., 7]; ``nan`` for a constant."""
    size, x, y, xx, yy, xy, _ = np.moveaxis(sums, -1, 0)
    var_x, var_y = xx / size - (x / size) ** 2, yy / size - (y / size) ** 2
    product = np.where((var_x > 1e-12) & (var_y > 1e-12), var_x * var_y, np.nan)
    return np.asarray((xy / size - x * y / size**2) / np.sqrt(product))
