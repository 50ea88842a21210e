"""Metrics of segments, such as the sentences of a response, some of which are wrong.

Errors are the positive class. The segments of a response belong together, so a resample draws whole
responses: the statistics have a row for each response, and the scores are pooled over segments.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.base import Array, Floats, Metric, refuse_other_shapes
from shroom.metrics.classification import F1, PRECISION, RECALL, SPECIFICITY, counts, of_counts
from shroom.metrics.correlation import levels
from shroom.metrics.discrimination import AUROC

_SOURCE = "Chen et al. (2023), FELM: Benchmarking Factuality Evaluation of LLMs, section 4"


def any_wrong(wrong: Array, response: NDArray[np.intp], n: int) -> NDArray[np.bool_]:
    """Return for each response whether any of its segments is wrong: shape [n].

    Examples
    --------
    >>> any_wrong(np.array([0, 1, 0]), np.array([0, 0, 1]), 2).tolist()
    [True, False]
    """
    return np.bincount(response[np.equal(wrong, 1)], minlength=n) > 0


def scored(
    flagged: Array,
    wrong: Array,
    response: NDArray[np.intp],
    n: int,
    p: Array | None = None,
) -> list[tuple[Metric, NDArray[np.int64]]]:
    """Return every metric with its statistics, as :func:`~.intervals.estimates` takes them.

    The rows of the statistics are the responses, so those of a domain are ``statistics[mask]``.

    Parameters
    ----------
    flagged, wrong : array, shape [m]
        True, or 1, for what the system calls wrong, and for what is.
    response : array of int, shape [m]
        The response of each segment, in [0, n).
    n : int
        How many responses.
    p : array of float, shape [m], optional
        The system's p of being wrong; without it there is no AUROC.

    Examples
    --------
    >>> flagged, wrong, response = np.array([1, 1, 0]), np.array([1, 0, 0]), np.array([0, 0, 1])
    >>> for metric, statistics in scored(flagged, wrong, response, 2):
    ...     print(metric.name, metric(statistics))
    segment_f1 0.6666666666666666
    segment_precision 0.5
    segment_recall 1.0
    segment_specificity 0.5
    segment_balanced_accuracy 0.75
    response_f1 1.0
    response_balanced_accuracy 1.0
    """
    of_segments = np.zeros((n, 4), np.int64)
    np.add.at(of_segments, response, counts(flagged, wrong))
    of_responses = counts(any_wrong(flagged, response, n), any_wrong(wrong, response, n))
    metrics = [(metric, of_segments) for metric in SEGMENT_METRICS]
    metrics += [(metric, of_responses) for metric in RESPONSE_METRICS]
    if p is not None:
        metrics.append((SEGMENT_AUROC, _ranked(p, wrong, response, n)))
    return metrics


def _ranked(p: Array, wrong: Array, response: NDArray[np.intp], n: int) -> NDArray[np.int64]:
    """Return the statistics for :data:`SEGMENT_AUROC`: for each response a row of its segments.

    A segment is twice the level of its p, and one more where it is wrong; -1 where there is none.
    """
    refuse_other_shapes(p, wrong)
    sizes = np.bincount(response, minlength=n)
    order = np.argsort(response, kind="stable")
    column = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    table = np.full((n, int(sizes.max(initial=0))), -1, np.int64)
    table[response[order], column] = (2 * levels(p) + np.equal(wrong, 1))[order]
    return table


def _auroc(statistics: NDArray[np.int64], weights: Floats) -> Floats:
    there = statistics >= 0
    row, value = np.nonzero(there)[0], statistics[there]
    return AUROC.score(np.column_stack((value // 2, value % 2)), weights[:, row])


def _classes(statistics: NDArray[np.int64]) -> NDArray[Any]:
    wrong, there = statistics % 2, statistics >= 0
    return np.column_stack([np.sum(there & (wrong == value), axis=1) for value in (0, 1)])


def _ordered(_label: Array, p: Array, gold_label: Array, _gold_p: Array) -> NDArray[np.int64]:
    return _ranked(p, gold_label, np.arange(len(p)), len(p))


#: The metrics of segments, pooled; errors are the positive class.
SEGMENT_METRICS = (
    of_counts(
        "segment_f1",
        F1,
        about="the harmonic mean of precision and recall of wrong segments",
        formula="2TP / (2TP + FP + FN)",
        reference=_SOURCE,
    ),
    of_counts(
        "segment_precision",
        PRECISION,
        about="the share of flagged segments that are wrong",
        formula="TP / (TP + FP)",
        reference=_SOURCE,
    ),
    of_counts(
        "segment_recall",
        RECALL,
        about="the share of wrong segments that are flagged",
        formula="TP / (TP + FN)",
        reference=_SOURCE,
    ),
    of_counts(
        "segment_specificity",
        SPECIFICITY,
        about="the share of factual segments that are not flagged",
        formula="TN / (TN + FP)",
        reference=_SOURCE,
    ),
    of_counts(
        "segment_balanced_accuracy",
        RECALL,
        SPECIFICITY,
        about="the mean of the shares of wrong and of factual segments labelled correctly",
        formula="½ TP / (TP + FN) + ½ TN / (TN + FP)",
        reference=_SOURCE,
    ),
)

#: Those of responses: one is wrong where any of its segments is, and flagged likewise.
RESPONSE_METRICS = (
    of_counts(
        "response_f1",
        F1,
        about="the harmonic mean of precision and recall of wrong responses",
        formula="2TP / (2TP + FP + FN) over responses",
        reference=_SOURCE,
    ),
    of_counts(
        "response_balanced_accuracy",
        RECALL,
        SPECIFICITY,
        about="the mean of the shares of wrong and of factual responses labelled correctly",
        formula="½ TP / (TP + FN) + ½ TN / (TN + FP) over responses",
        reference=_SOURCE,
    ),
)

#: The area under the receiver operating characteristic of p over all segments.
SEGMENT_AUROC = Metric(
    "segment_auroc",
    _ordered,
    _auroc,
    (0.0, 1.0),
    about="the chance that p is greater for a wrong segment than for another, a tie half one",
    formula=AUROC.formula,
    reference=AUROC.reference,
    classes=_classes,
)
