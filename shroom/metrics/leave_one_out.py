"""Each annotator compared with the others: leave-one-out agreement, with intervals."""

# For spans, a row is a run of characters on which no annotator changes their vote.

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

#: An annotator with a larger share of one answer is near-constant, unless the others exceed _USUAL.
_CONSTANT, _USUAL = 0.95, 0.85
#: The fewest texts for calling an annotator near-constant, and for comparing one with chance.
_FEW, _ENOUGH = 20, 50


@dataclass(frozen=True, eq=False)
class NamedVotes:
    """Votes with a column for each annotator."""

    names: Sequence[str]
    #: 1 for yes (marked), 0 for no, -1 for no vote; a row is an item or a run of characters.
    votes: Votes
    #: The text or item of each row.
    text: NDArray[np.intp]
    #: The number of characters of each row; 1 for an item.
    size: Floats

    @classmethod
    def of_items(cls, votes: Votes, names: Sequence[str]) -> NamedVotes:
        """Return votes with one row per item."""
        return cls(names, votes, np.arange(len(votes)), np.ones(len(votes)))


@dataclass(frozen=True)
class LeftOut:
    """One annotator compared with the others, on texts that both have judged."""

    name: str
    #: The number of texts.
    n: int
    #: The share of yes among the votes of the annotator, and of the others.
    rate: float
    others_rate: float
    #: The share of texts with any yes from the annotator, and on average from each of the others.
    yes: float
    others_yes: float
    #: The share of votes that agree with the majority of the others; a tie counts 1/2.
    agreement: float
    agreement_ci: Interval | None
    #: Pearson's correlation with the others' share of yes; ``None`` if either is constant.
    correlation: float | None
    correlation_ci: Interval | None

    @property
    def is_constant(self) -> bool:
        """Whether nearly all votes of the annotator are the same, unlike those of the others."""
        if self.n < _FEW:
            return False
        never = self.yes <= 1 - _CONSTANT and self.others_yes > 1 - _USUAL
        return never or (self.rate >= _CONSTANT and self.others_rate < _USUAL)

    def is_random(self, usual: float | None) -> bool:
        """Return whether the votes could be random; ``usual`` is the median correlation."""
        # With 50 texts: the interval contains 0. With 20: it lies below half of the usual.
        if self.correlation is None or self.correlation_ci is None or self.n < _FEW:
            return False
        low, high = self.correlation_ci
        return (self.n >= _ENOUGH and low <= 0) or (usual is not None and high < usual / 2)


def left_out(
    votes: NamedVotes, count: int = 1000, seed: int = 0, confidence: float = 0.95
) -> list[LeftOut]:
    """Return each annotator compared with the others, in the order of the columns.

    Annotators who share no item with other annotators are left out.
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
        # The other annotators one by one: together they would say yes more often than one does.
        apart = np.delete(votes.votes[rows], column, axis=1)
        by_text = _sums(own, others, text, votes.size[rows])
        yes = _share_with_yes(mine[:, None], text), _share_with_yes(apart, text)
        results.append(_one(name, by_text, *yes, how))
    return results


def usual_correlation(results: Sequence[LeftOut]) -> float | None:
    """Return the median correlation of annotators; ``None`` if fewer than three have one."""
    values = [result.correlation for result in results if result.correlation is not None]
    return float(np.median(values)) if len(values) > 2 else None


def _sums(own: Floats, others: Floats, text: NDArray[np.intp], size: Floats) -> Floats:
    """Return the sums of each text, from which all results follow: shape [texts, 7]."""
    majority = np.where(others == 0.5, 0.5, (own == (others > 0.5)).astype(np.float64))
    terms = (np.ones(len(own)), own, others, own * own, others * others, own * others, majority)
    place = np.unique(text, return_inverse=True)[1].ravel()
    return sums(np.column_stack(terms) * size[:, None], place)


def _share_with_yes(votes: Votes, text: NDArray[np.intp]) -> float:
    """Return the share of texts with a yes, the mean over annotators weighted by their texts."""
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
    """Return Pearson's correlation from sums [..., 7]; ``nan`` if a side is constant."""
    size, x, y, xx, yy, xy, _ = np.moveaxis(sums, -1, 0)
    var_x, var_y = xx / size - (x / size) ** 2, yy / size - (y / size) ** 2
    product = np.where((var_x > 1e-12) & (var_y > 1e-12), var_x * var_y, np.nan)
    return np.asarray((xy / size - x * y / size**2) / np.sqrt(product))
