"""The smallest difference between systems that a test on a gold detects, known in advance."""

# A difference is detectable if a two-sided paired test at the 5% level finds it with 80% power.

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from shroom.evaluation.gold_quality.rows import (
    GoldFile,
    annotators_of,
    item_votes,
    probabilities,
    soft_spans,
)
from shroom.evaluation.gold_quality.sharing import text_of
from shroom.metrics.agreement import MISSING, Votes
from shroom.metrics.base import Array, Floats, Metric
from shroom.metrics.classification import MACRO_F1
from shroom.metrics.correlation import RHO, levels
from shroom.metrics.paired_tests import detectable_difference
from shroom.metrics.span_arrays import Spans
from shroom.metrics.span_metrics import iou, rho
from shroom.scoring.tables import Estimate, Row

#: Assumed share of items on which the labels of two systems differ.
DIFFER = 0.2
#: Assumed share of each class that a system labels wrong.
WRONG = 0.25
#: Number of columns of votes that are paired.
_COLUMNS = 6
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


@dataclass(frozen=True)
class Detectable:
    """The smallest difference in one metric that a test at 5% detects in 4 of 5 cases."""

    metric: str
    n: int
    assumption: str
    difference: float | None
    #: The share of items on which the systems differ; ``None`` if it sets no difference.
    differ: float | None

    @property
    def row(self) -> Row:
        differ = "" if self.differ is None else f"{self.differ:.0%}"
        return (self.metric, Estimate(self.difference), differ)


def _of(
    metric: str,
    n: int,
    spread: float,
    assumption: str = _AS_ANNOTATORS,
    differ: float | None = None,
) -> Detectable:
    """Return the detectable difference by its standard error; ``None`` if that is not positive."""
    if not (math.isfinite(spread) and spread > 0):
        return Detectable(metric, n, assumption, None, None)
    return Detectable(metric, n, assumption, detectable_difference(spread), differ)


def detectable(file: GoldFile) -> list[Detectable]:
    return [*_BY_KIND[file.kind](file)]


def _binary(file: GoldFile) -> Iterator[Detectable]:
    labelled = file.where(lambda row: row.get("label") is not None)
    n, votes = int(labelled.sum()), item_votes(file)
    if votes is None:
        yield _of("accuracy", n, spread_of_accuracy(n), _AS_ASSUMED, DIFFER)
        return
    cast = votes.votes[labelled]
    spread = spread_by_annotators(np.where(cast == MISSING, math.nan, cast))
    yield _of("accuracy", n, spread, differ=spread**2 * n)
    yield _of("rho", n, spread_of_rho(cast, probabilities(file)[labelled]))


def _aspects(file: GoldFile) -> Iterator[Detectable]:
    assumption = f"{_AS_ASSUMED} and mislabel {WRONG:.0%} of each class"
    for aspect in file.edition.annotation.aspects:
        answers = [row.get(aspect.key) for row in file.rows]
        yes, no = answers.count(aspect.yes), answers.count(aspect.no)
        spread = spread_of_macro_f1(yes, no)
        yield _of(f"{aspect.name}_f1", yes + no, spread, assumption, DIFFER)


def _spans(file: GoldFile) -> Iterator[Detectable]:
    lengths = [len(text_of(row, "hyp")) for row in file.rows]
    soft = [soft_spans(row) for row in file.rows]
    hard = [[span for span in spans if span.prob > 0.5] for spans in soft]
    people = [[*annotators_of(row, file.kind).values()] for row in file.rows]
    number = np.array([*map(len, people)])
    for metric, value, marked in (("iou", iou, hard), ("rho", rho, soft)):
        gold, columns = Spans.of(marked, lengths), []
        for place in range(max(number.max(), 1)):  # the first annotator of each text, the second, …
            side = Spans.of([own[place] if place < len(own) else [] for own in people], lengths)
            columns.append(np.where(number > place, value(side, gold), math.nan))
        yield _of(metric, int(file.annotated.sum()), spread_by_annotators(np.column_stack(columns)))


def _labelled_spans(file: GoldFile) -> Iterator[Detectable]:
    # The annotators' spans have no offsets, so they cannot be scored like a system's.
    n, votes, spread = int(file.annotated.sum()), item_votes(file), math.nan
    if votes is not None:
        spread = spread_by_annotators(np.where(votes.votes == MISSING, math.nan, votes.votes))
    yield _of("detection_accuracy", n, spread, differ=spread**2 * n)


_BY_KIND = {
    "binary": _binary,
    "aspects": _aspects,
    "spans": _spans,
    "labelled-spans": _labelled_spans,
}
