"""Metrics of marked spans of characters: IoU, rho, and how far annotators agree on characters.

The conventions of IoU and rho are those of the organisers' program of SemEval-2025 Task 3, to the
last case.
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

#: What metrics of spans are computed from.
SPANS = ("marked spans", "gold spans")


def everything(lengths: Sequence[int] | NDArray[np.int64]) -> Spans:
    """Return the spans of the floor that marks every character of every text.

    Examples
    --------
    >>> everything([9, 3]).end.tolist()
    [9, 3]
    """
    ends = np.array(lengths, np.int64)
    n = len(ends)
    return Spans(ends, np.arange(n), np.zeros(n, np.int64), ends, np.ones(n))


def nothing(lengths: Sequence[int] | NDArray[np.int64]) -> Spans:
    """Return the spans of the floor that marks no character: none."""
    return Spans.of([[] for _ in lengths], lengths)


#: The systems that know nothing, by the names that reports give them.
FLOORS = {"flag everything": everything, "flag nothing": nothing}


def iou(predicted: Spans, gold: Spans) -> Floats:
    """Return the intersection over union of the marked characters of each text.

    Probabilities do not matter. What a span marks beyond the end of its text is part of the
    union, as in the organisers' program, so it counts as wrong.

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
        If the sides are not about texts of the same lengths.

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

    A character outside all spans has probability 0, one in several spans that of the last. What
    lies beyond the end of a text does not count. Where rho is undefined, because a side is
    constant (to eight digits) or the text empty, it is 1 if both sides are, else 0.

    Parameters
    ----------
    predicted, gold : Spans
        Spans of the same n texts in the same order.

    Returns
    -------
    array, shape [n]
        In [-1, 1]. Ties have their average rank; it equals scipy's to 1e-12.

    Raises
    ------
    ValueError
        If the sides are not about texts of the same lengths.

    References
    ----------
    As of :func:`iou`.

    Examples
    --------
    >>> gold = Spans.of([[(0, 2, 1.0), (2, 4, 0.5)], []], lengths=[6, 3])
    >>> rho(Spans.of([[(0, 2, 0.9), (3, 4, 0.2)], []], lengths=[6, 3]), gold).round(4).tolist()
    [0.9037, 1.0]
    """
    predicted, gold = predicted.within(), gold.within()
    # The whole texts cut cells too, so that what no span marks is in one.
    cells = Cells(predicted, gold, everything(gold.lengths))
    values = correlations(cells, cells.painted(predicted), cells.painted(gold))
    return np.where(np.isnan(values), 1.0, values)


def correlations(cells: Cells, first: Floats, second: Floats) -> Floats:
    """Return the rho of two columns in each text; 0 if one is constant, ``nan`` if both."""
    varied = [cells.varied(values) for values in (first, second)]
    x, y = (cells.rank_deviations(values) for values in (first, second))
    sxy, sxx, syy = (cells.sums(a * b) for a, b in ((x, y), (x, x), (y, y)))
    undefined = np.where(varied[0] == varied[1], np.nan, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(varied[0] & varied[1], np.clip(sxy / np.sqrt(sxx * syy), -1, 1), undefined)


def scored(
    predicted: tuple[Spans, Spans], gold: tuple[Spans, Spans]
) -> list[tuple[Metric, Floats]]:
    """Return each metric with its statistics, given the spans for IoU and for rho of both sides."""
    sides: Any = (*predicted, *gold)
    return [(metric, metric.statistics(*sides)) for metric in METRICS.values()]


_PAPER = "Vázquez et al. (2025), SemEval-2025 Task 3: Mu-SHROOM"
_MUSHROOM = f"{SCORE} --edition mushroom2025"

#: The mean of the texts' IoU. Its statistics are made of spans, hard ones in the place of labels.
IOU = mean_of(
    "iou",
    iou,
    columns=("label", "gold_label"),
    inputs=SPANS,
    about="the mean over texts of the intersection over union of their marked characters",
    formula="(1/n) Σ |markedᵢ ∩ gold markedᵢ| / |markedᵢ ∪ gold markedᵢ|, 1 where both are empty",
    reference=_PAPER,
    function="shroom.metrics.span_metrics:iou",
    command=_MUSHROOM,
)

#: The mean of the texts' rho, made of soft spans in the place of p.
RHO = mean_of(
    "rho",
    rho,
    (-1.0, 1.0),
    ("p", "gold_p"),
    inputs=SPANS,
    about="the mean over texts of Spearman's correlation of their characters' probabilities",
    formula="(1/n) Σ ρ(pᵢ, gold pᵢ) over characters; a constant side: 1 if both are, else 0",
    reference=_PAPER,
    function="shroom.metrics.span_metrics:rho",
    command=_MUSHROOM,
    page="character_rho",
)

#: The metrics of spans, by name.
METRICS: dict[str, Metric] = {metric.name: metric for metric in (IOU, RHO)}


@dataclass(frozen=True, eq=False)
class CharacterVotes:
    """How the annotators of n texts voted on their characters, alike ones in one row."""

    #: 1 for marked, 0 for not marked, -1 for no vote; the figures do not depend on who voted how.
    votes: NDArray[np.int8]
    #: The text that the characters of a row are of, in [0, n).
    text: NDArray[np.int64]
    #: How many characters they are.
    size: NDArray[np.float64]
    n: int

    @classmethod
    def of(
        cls, sides: Sequence[Spans], annotators: Sequence[int] | NDArray[np.int64]
    ) -> CharacterVotes:
        """Return the votes of spans: of the first annotator of each text, the second, and so on."""
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
        """Return a figure of agreement on characters as a metric of texts, and its statistics.

        Every character is an item; resamples draw whole texts.
        """
        return clustered(metric, self.votes, self.text, self.n, self.size)
