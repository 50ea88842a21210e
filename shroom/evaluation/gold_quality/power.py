"""The smallest difference between systems that a test on a gold detects, known in advance."""

# A difference is detectable if a two-sided paired test at the 5% level finds it with 80% power.

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

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
AS_ANNOTATORS = "the systems differ as much as two annotators do"
_AS_ASSUMED = f"the systems differ on {DIFFER:.0%} of the items"


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
    cells = np.array([yes * (1 - WRONG), no * WRONG, yes * WRONG, no * (1 - WRONG)])
    tp, fp, fn, tn = _influence(MACRO_F1, np.diag(cells)) / cells
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
    ideal: float | None = None
    differ: float | None = None
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


def detectable(file: GoldFile) -> list[Detectable]:
    return list(_BY_KIND[file.kind](file))


def _of(
    metric: str,
    n: int,
    spread: float,
    assumption: str,
    *,
    why: str,
    factor: float | None = None,
    differ: float | None = None,
) -> Detectable:
    if spread == 0:
        why = "the annotators never differ, so their votes do not show how systems may differ"
    if spread == 0 or not math.isfinite(spread):
        return Detectable(metric, n, assumption, None, undefined=why)
    least = detectable_difference(spread)
    ideal = least / factor if factor is not None and factor > 0 else None
    return Detectable(metric, n, assumption, least, ideal, differ)


def _binary(file: GoldFile) -> Iterator[Detectable]:
    labelled = np.array([row.get("label") is not None for row in file.rows])
    n, votes = int(labelled.sum()), item_votes(file)
    keys = {key: file.edition.item.key(key) for key in ("label", P)}
    why = "no item has two votes" if n else f"no item has a {keys['label']}"
    if votes is None:
        spread = spread_of_accuracy(n)
        yield _of("accuracy", n, spread, _AS_ASSUMED, why=why, differ=DIFFER)
        return
    cast, p = votes.votes[labelled], probabilities(file)[labelled]
    total, yes = counted(cast)
    of_votes = noise(yes, total)
    spread = spread_by_annotators(np.where(cast == MISSING, math.nan, cast))
    factors = (None, None) if of_votes is None else (of_votes.of_accuracy, of_votes.of_rho)
    differ = spread**2 * n
    yield _of("accuracy", n, spread, AS_ANNOTATORS, why=why, factor=factors[0], differ=differ)
    spread = spread_of_rho(cast, p)
    why = "rho is undefined for all pairs of annotators"
    if np.isnan(p).all():
        why = f"no item has both {keys['label']} and {keys[P]}"
    yield _of("rho", n, spread, AS_ANNOTATORS, factor=factors[1], why=why)


def _aspects(file: GoldFile) -> Iterator[Detectable]:
    for aspect in file.edition.annotation.aspects:
        answers = [row.get(aspect.key) for row in file.rows]
        yes, no = answers.count(aspect.yes), answers.count(aspect.no)
        spread = spread_of_macro_f1(yes, no)
        assumption = f"{_AS_ASSUMED} and mislabel {WRONG:.0%} of each class"
        why = f"{aspect.key} has only one class"
        name = f"{aspect.name}_f1"
        yield _of(name, yes + no, spread, assumption, differ=DIFFER, why=why)


def _spans(file: GoldFile) -> Iterator[Detectable]:
    n = int(file.annotated.sum())
    lengths = [len(text_of(row, "hyp")) for row in file.rows]
    soft = [soft_spans(row) for row in file.rows]
    hard = [[span for span in spans if span[2] > 0.5] for spans in soft]
    people = [[*annotators_of(row, file.kind).values()] for row in file.rows]
    number = np.array([*map(len, people)])
    why = "no text has spans from two annotators"
    for metric, value, marked in (("iou", iou, hard), ("rho", rho, soft)):
        gold = Spans.of(marked, lengths)
        values = np.full((len(people), max(number.max(), 1)), math.nan)
        for place in range(number.max()):  # the first annotator of each text, the second one, …
            side = Spans.of([own[place] if place < len(own) else [] for own in people], lengths)
            values[:, place] = np.where(number > place, value(side, gold), math.nan)
        yield _of(metric, n, spread_by_annotators(values), AS_ANNOTATORS, why=why)


def _labelled_spans(file: GoldFile) -> Iterator[Detectable]:
    n, votes = int(file.annotated.sum()), item_votes(file)
    why = "the annotators' spans have no offsets, so an annotator cannot be scored like a system"
    for metric in ("cor", "cor_lbl", "iou"):
        yield _of(metric, n, math.nan, AS_ANNOTATORS, why=why)
    spread = math.nan
    if votes is not None:
        spread = spread_by_annotators(np.where(votes.votes == MISSING, math.nan, votes.votes))
    why = "no text has two annotators"
    yield _of("detection_accuracy", n, spread, AS_ANNOTATORS, differ=spread**2 * n, why=why)


_BY_KIND = {
    "binary": _binary,
    "aspects": _aspects,
    "spans": _spans,
    "labelled-spans": _labelled_spans,
}
