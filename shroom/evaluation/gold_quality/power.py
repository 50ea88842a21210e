"""The smallest difference between systems that a test on a gold detects, known in advance."""

# A difference is detectable if a two-sided paired test at the 5% level finds it with 80% power.

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shroom.evaluation.gold_quality.rows import GoldFile
from shroom.evaluation.gold_quality.sharing import text_of
from shroom.evaluation.gold_quality.votes import (
    annotators_of,
    item_votes,
    probabilities,
    soft_spans,
)
from shroom.metrics.agreement import MISSING, Votes, counted
from shroom.metrics.base import Array, Floats, Metric
from shroom.metrics.classification import MACRO_F1
from shroom.metrics.correlation import RHO, levels
from shroom.metrics.correlation import rho as rank_correlation
from shroom.metrics.paired_tests import detectable_difference
from shroom.metrics.span_arrays import Spans
from shroom.metrics.span_metrics import iou, rho
from shroom.scoring.rows import P
from shroom.scoring.tables import Estimate, Row

#: Assumed share of items on which the labels of two systems differ.
DIFFER = 0.2
#: Assumed share of each class that a system labels wrong.
WRONG = 0.25
#: Number of columns of votes that are paired.
_COLUMNS = 6
#: Number of items drawn from the distribution fitted to the votes.
_DRAWS = 100_000
#: The assumptions on how two systems differ.
_AS_ANNOTATORS = "the systems differ as much as two annotators do"
_AS_ASSUMED = f"the systems differ on {DIFFER:.0%} of the items"


def spread_by_annotators(values: Floats) -> float:
    """Return the standard error of the difference between systems that differ as annotators do."""
    # √(Σ 2 sᵢ² / n²) of a mean over items, sᵢ² the variance among the annotators of item i.
    paired = np.sum(~np.isnan(values), axis=1) >= 2
    if not paired.any():
        return math.nan
    variances = np.nanvar(values[paired], axis=1, ddof=1)
    return float(np.sqrt(2 * variances.mean() / len(values)))


def spread_of_accuracy(n: int, differ: float = DIFFER) -> float:
    """Return the standard error √(differ / n) of the difference in accuracy of equal systems."""
    return math.sqrt(differ / n) if n else math.nan


def spread_of_macro_f1(yes: int, no: int) -> float:
    """Return the standard error of the difference in macro-F1; ``nan`` if a class has no item."""
    # Both systems label the share WRONG of each class wrong; they differ on the share DIFFER.
    if not yes or not no:
        return math.nan
    cells = np.array([yes * (1 - WRONG), no * WRONG, yes * WRONG, no * (1 - WRONG)])
    tp, fp, fn, tn = _influence(MACRO_F1, np.diag(cells)) / cells
    variance = yes * (tp - fn) ** 2 + no * (tn - fp) ** 2  # a change makes a right label wrong
    return float(np.sqrt(DIFFER * variance))


def spread_of_rho(votes: Votes, p: Floats) -> float:
    """Return the standard error of the difference in rho between two annotators' votes as p."""
    squares = []
    columns = votes.T[:_COLUMNS] if votes.ndim == 2 else ()
    for pair in combinations(columns, 2):
        rows = np.all([side != MISSING for side in pair], axis=0) & ~np.isnan(p)
        a, b, gold = (levels(side[rows]) for side in (*pair, p))
        if min(len(np.unique(side)) for side in (a, b, gold)) > 1:
            of_a, of_b = (_influence(RHO, np.column_stack((side, gold))) for side in (a, b))
            squares.append(float(np.sum((of_a - of_b) ** 2)) * rows.sum() / len(votes))
    return float(np.sqrt(np.mean(squares))) if squares else math.nan


def _influence(metric: Metric, statistics: Array) -> Floats:
    assert metric.influence is not None  # noqa: S101 - for mypy
    return metric.influence(statistics)


class Noise(NamedTuple):
    """How much the limited number of votes blurs differences between systems."""

    #: Probability that the majority differs from that of an unlimited number of such annotators.
    label_error: float
    #: Spearman's rho of p with the true share: approximately the factor by which rho shrinks.
    of_rho: float


def noise(flagged: NDArray[np.intp], total: NDArray[np.intp]) -> Noise | None:
    """Return the noise of gold labels and p; ``None`` if votes agree only by chance."""
    # The true shares of yes are modelled by a beta distribution with the votes' mean and variance.
    # C. Spearman (1904), The proof and measurement of association between two things.
    ones, number = (it[total >= 2].astype(np.float64) for it in (flagged, total))
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
    sizes = generator.choice(total[total >= 2], _DRAWS)
    less = np.minimum(p, 1 - p)
    wrong = [_majority(int(k), less[sizes == k]) for k in np.unique(sizes)]
    shares = generator.binomial(sizes, p) / sizes
    return Noise(float(np.concatenate(wrong).mean()), rank_correlation(shares, p))


def _majority(k: int, p: Floats) -> Floats:
    """Return the probability that more than half of k votes are yes; a tie counts 1/2."""
    chances: Floats = np.zeros(len(p))
    for ones in range((k + 1) // 2, k + 1):
        tie = 0.5 if 2 * ones == k else 1.0
        chances += tie * math.comb(k, ones) * p**ones * (1 - p) ** (k - ones)
    return chances


@dataclass(frozen=True)
class Detectable:
    """The smallest difference in one metric that a test at 5% detects in 4 of 5 cases."""

    metric: str
    n: int
    assumption: str
    difference: float | None
    #: The difference with labels from an unlimited number of annotators.
    ideal: float | None
    #: The share of items on which the systems differ; ``None`` if it sets no difference.
    differ: float | None
    #: Why there is no difference.
    undefined: str = ""

    @property
    def row(self) -> Row:
        differ = "" if self.differ is None else f"{self.differ:.0%}"
        return (self.metric, Estimate(self.difference), Estimate(self.ideal), differ)

    def at(self, differ: float) -> float | None:
        """Return the difference if the systems differ on another share of the items."""
        if self.difference is None or not self.differ:
            return None
        return self.difference * math.sqrt(differ / self.differ)


def _of(
    metric: str,
    n: int,
    spread: float,
    why: str,
    assumption: str = _AS_ANNOTATORS,
    *,
    shrinks: float = 0.0,
    differ: float | None = None,
) -> Detectable:
    """Return the detectable difference by its standard error, or ``why`` there is none."""
    if spread == 0:
        why = "the annotators never differ, so their votes do not show how systems may differ"
    if spread == 0 or not math.isfinite(spread):
        return Detectable(metric, n, assumption, None, None, None, why)
    least = detectable_difference(spread)
    ideal = least / shrinks if shrinks > 0 else None
    return Detectable(metric, n, assumption, least, ideal, differ)


def detectable(file: GoldFile) -> list[Detectable]:
    return [*_BY_KIND[file.kind](file)]


def _binary(file: GoldFile) -> Iterator[Detectable]:
    labelled = file.where(lambda row: row.get("label") is not None)
    n, votes = int(labelled.sum()), item_votes(file)
    label_key, p_key = map(file.edition.item.key, ("label", P))
    why = "no item has two votes" if n else f"no item has a {label_key}"
    if votes is None:
        yield _of("accuracy", n, spread_of_accuracy(n), why, _AS_ASSUMED, differ=DIFFER)
        return
    cast, p = votes.votes[labelled], probabilities(file)[labelled]
    total, yes = counted(cast)
    # If the votes agree only by chance, the differences without noise are unknown.
    error, of_rho = noise(yes, total) or (0.5, 0.0)
    spread = spread_by_annotators(np.where(cast == MISSING, math.nan, cast))
    yield _of("accuracy", n, spread, why, shrinks=1 - 2 * error, differ=spread**2 * n)
    why = "rho is undefined for all pairs of annotators"
    if np.isnan(p).all():
        why = f"no item has both {label_key} and {p_key}"
    yield _of("rho", n, spread_of_rho(cast, p), why, shrinks=of_rho)


def _aspects(file: GoldFile) -> Iterator[Detectable]:
    for aspect in file.edition.annotation.aspects:
        answers = [row.get(aspect.key) for row in file.rows]
        yes, no = answers.count(aspect.yes), answers.count(aspect.no)
        assumption = f"{_AS_ASSUMED} and mislabel {WRONG:.0%} of each class"
        name, why = f"{aspect.name}_f1", f"{aspect.key} has only one class"
        yield _of(name, yes + no, spread_of_macro_f1(yes, no), why, assumption, differ=DIFFER)


def _spans(file: GoldFile) -> Iterator[Detectable]:
    n = int(file.annotated.sum())
    lengths = [len(text_of(row, "hyp")) for row in file.rows]
    soft = [soft_spans(row) for row in file.rows]
    hard = [[span for span in spans if span.prob > 0.5] for spans in soft]
    people = [[*annotators_of(row, file.kind).values()] for row in file.rows]
    number = np.array([*map(len, people)])
    for metric, value, marked in (("iou", iou, hard), ("rho", rho, soft)):
        gold = Spans.of(marked, lengths)
        columns = []
        for place in range(
            max(number.max(), 1)
        ):  # the first annotator of each text, the second one, …
            side = Spans.of([own[place] if place < len(own) else [] for own in people], lengths)
            columns.append(np.where(number > place, value(side, gold), math.nan))
        spread = spread_by_annotators(np.column_stack(columns))
        yield _of(metric, n, spread, "no text has spans from two annotators")


def _labelled_spans(file: GoldFile) -> Iterator[Detectable]:
    n, votes = int(file.annotated.sum()), item_votes(file)
    why = "the annotators' spans have no offsets, so an annotator cannot be scored like a system"
    for metric in ("cor", "cor_lbl", "iou"):
        yield _of(metric, n, math.nan, why)
    spread = math.nan
    if votes is not None:
        spread = spread_by_annotators(np.where(votes.votes == MISSING, math.nan, votes.votes))
    why = "no text has two annotators"
    yield _of("detection_accuracy", n, spread, why, differ=spread**2 * n)


_BY_KIND = {
    "binary": _binary,
    "aspects": _aspects,
    "spans": _spans,
    "labelled-spans": _labelled_spans,
}
