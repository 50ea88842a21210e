"""Metrics of marked spans of characters: IoU, rho, and the agreement of annotators on characters.

IoU and rho follow the organisers' program of SemEval-2025 Task 3 in every special case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.agreement import MISSING
from shroom.metrics.base import SCORE, Floats, Metric, mean_of
from shroom.metrics.cluster_bootstrap import clustered
from shroom.metrics.span_arrays import Cells, Spans

#: The inputs of metrics of spans.
SPANS = ("marked spans", "gold spans")


def everything(lengths: Sequence[int] | NDArray[np.int64]) -> Spans:
    """Return the spans of a floor: a system that marks every character of every text.

    Examples
    --------
    >>> everything([9, 3]).end.tolist()
    [9, 3]
    """
    ends = np.array(lengths, np.int64)
    n = len(ends)
    return Spans(ends, np.arange(n), np.zeros(n, np.int64), ends, np.ones(n))


def nothing(lengths: Sequence[int] | NDArray[np.int64]) -> Spans:
    """Return the spans of a floor: a system that marks nothing."""
    return Spans.of([[] for _ in lengths], lengths)


#: The floors, by their names in reports.
FLOORS = {"flag everything": everything, "flag nothing": nothing}


def iou(predicted: Spans, gold: Spans) -> Floats:
    """Return the intersection over union of the marked characters of each text.

    Probabilities and labels of spans are ignored. Mu-SHROOM uses the hard labels of a row or, if
    there are none, the soft labels above 0.5. SHROOM-Visions uses all spans. Characters beyond the
    end of a text count as wrong. A system that marks everything gets the mean share of marked
    characters, a score that many systems do not reach.

    Parameters
    ----------
    predicted, gold : Spans
        Spans of the same n texts in the same order.

    Returns
    -------
    array, shape [n]
        In [0, 1]; 1 if neither side marks a character.

    Raises
    ------
    ValueError
        If the texts of the two sides differ in length.

    References
    ----------
    Vázquez et al. (2025), "SemEval-2025 Task 3: Mu-SHROOM, the Multilingual Shared-task on
    Hallucinations and Related Observable Overgeneration Mistakes", section 4, and its program.

    Examples
    --------
    >>> gold = Spans.of([[(0, 4)], [], []], lengths=[9, 3, 3])
    >>> iou(Spans.of([[(2, 4), (5, 7)], [], [(0, 1)]], lengths=[9, 3, 3]), gold).tolist()
    [0.3333333333333333, 1.0, 0.0]
    """
    cells = Cells(predicted, gold)
    marked = [cells.marked(side) for side in (predicted, gold)]
    union = cells.sums(marked[0] | marked[1])
    shared = cells.sums(marked[0] & marked[1])
    return np.divide(shared, union, out=np.ones(len(union)), where=union > 0)


def rho(predicted: Spans, gold: Spans) -> Floats:
    """Return Spearman's correlation of the characters' probabilities in each text.

    A character outside all spans has probability 0. If a character is in several spans, the last
    span counts. Characters beyond the end of a text are ignored. If only one side is constant (to
    eight digits), the result is 0. If both sides are constant, or if the text is empty, the result
    is 1. Editions call this metric ``rho``.

    Parameters
    ----------
    predicted, gold : Spans
        Spans of the same n texts in the same order.

    Returns
    -------
    array, shape [n]
        In [-1, 1]. Ties get their average rank. The result equals the result of scipy to 1e-12.

    Raises
    ------
    ValueError
        If the texts of the two sides differ in length.

    References
    ----------
    See :func:`iou`.

    Examples
    --------
    >>> gold = Spans.of([[(0, 2, 1.0), (2, 4, 0.5)], []], lengths=[6, 3])
    >>> rho(Spans.of([[(0, 2, 0.9), (3, 4, 0.2)], []], lengths=[6, 3]), gold).round(4).tolist()
    [0.9037, 1.0]
    """
    predicted, gold = predicted.within(), gold.within()
    # The whole texts are cut as well, so that unmarked characters are in a cell.
    cells = Cells(predicted, gold, everything(gold.lengths))
    values = correlations(cells, cells.painted(predicted), cells.painted(gold))
    return np.where(np.isnan(values), 1.0, values)


def correlations(cells: Cells, first: Floats, second: Floats) -> Floats:
    """Return rho of two columns in each text; 0 if one is constant, ``nan`` if both are."""
    varied = [cells.varied(values) for values in (first, second)]
    x, y = (cells.rank_deviations(values) for values in (first, second))
    sxy, sxx, syy = (cells.sums(a * b) for a, b in ((x, y), (x, x), (y, y)))
    undefined = np.where(varied[0] == varied[1], np.nan, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(varied[0] & varied[1], np.clip(sxy / np.sqrt(sxx * syy), -1, 1), undefined)


def scored(
    predicted: tuple[Spans, Spans], gold: tuple[Spans, Spans]
) -> list[tuple[Metric, Floats]]:
    """Return each metric and its statistics; a side has its spans for IoU and those for rho."""
    sides: Any = (*predicted, *gold)
    return [(metric, metric.statistics(*sides)) for metric in METRICS.values()]


_PAPER = "Vázquez et al. (2025), SemEval-2025 Task 3: Mu-SHROOM"
_MUSHROOM = f"{SCORE} --edition mushroom2025"

#: Mean IoU of the texts. Its statistics are computed from hard spans in place of labels.
IOU = mean_of(
    "iou",
    iou,
    columns=("label", "gold_label"),
    inputs=SPANS,
    about="the intersection over union of the marked characters, averaged over texts",
    formula="(1/n) Σ |markedᵢ ∩ gold markedᵢ| / |markedᵢ ∪ gold markedᵢ|; 1 if both are empty",
    reference=_PAPER,
    function="shroom.metrics.span_metrics:iou",
    command=_MUSHROOM,
)

#: Mean rho of the texts, computed from soft spans in place of p.
RHO = mean_of(
    "rho",
    rho,
    (-1.0, 1.0),
    ("p", "gold_p"),
    inputs=SPANS,
    about=(
        "the rank correlation between the predicted and the gold probabilities of the "
        "characters, averaged over texts"
    ),
    formula=(
        "(1/n) Σ ρ(pᵢ, gold pᵢ) over characters; 1 if both sides are constant, "
        "0 if only one side is constant"
    ),
    reference=_PAPER,
    function="shroom.metrics.span_metrics:rho",
    command=_MUSHROOM,
    listed_as="character_rho",
)

#: The metrics of spans, by name.
METRICS: dict[str, Metric] = {metric.name: metric for metric in (IOU, RHO)}


@dataclass(frozen=True, eq=False)
class CharacterVotes:
    """The votes on the characters of n texts; characters with equal votes share a row."""

    #: 1 for marked, 0 for not marked, -1 for no vote; sorted, since it does not matter who voted.
    votes: NDArray[np.int8]
    #: The text of each row, in [0, n).
    text: NDArray[np.int64]
    #: The number of characters of each row.
    size: NDArray[np.float64]
    n: int

    @classmethod
    def of(
        cls, sides: Sequence[Spans], annotators: Sequence[int] | NDArray[np.int64]
    ) -> CharacterVotes:
        """Return the votes; each side has the spans of one annotator of every text."""
        within = [side.within() for side in sides]
        lengths = within[0].lengths
        cells = Cells(*within, everything(lengths))
        there = np.asarray(annotators)[cells.text]
        voted = [
            np.where(place < there, cells.marked(side), MISSING)
            for place, side in enumerate(within)
        ]
        rows = np.column_stack((cells.text, np.sort(np.column_stack(voted), axis=1)))
        rows, size = rows[cells.length > 0], cells.length[cells.length > 0]
        alike, place = np.unique(rows, axis=0, return_inverse=True)
        sizes = np.bincount(place.ravel(), size, len(alike)).astype(np.float64)
        return cls(alike[:, 1:].astype(np.int8), alike[:, 0], sizes, len(lengths))

    def by_text(self, metric: Metric) -> tuple[Metric, NDArray[np.intp]]:
        """Return a measure of agreement on characters as a metric of texts, and its statistics.

        Every character is an item; resamples draw whole texts.
        """
        return clustered(metric, self.votes, self.text, self.n, self.size)
