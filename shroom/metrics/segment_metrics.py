"""Metrics of segments, such as the sentences of a response, that are factual or wrong.

Wrong segments are the positive class. The segments of a response are not independent, so whole
responses are drawn for resamples: the statistics have a row for each response. Scores are pooled
over segments.

Chen et al. (2023), *FELM: Benchmarking Factuality Evaluation of LLMs*, section 4.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.base import Array, Metric, refuse_other_shapes
from shroom.metrics.classification import F1, PRECISION, RECALL, SPECIFICITY, counts, of_counts
from shroom.metrics.cluster_bootstrap import clustered
from shroom.metrics.discrimination import AUROC


def any_wrong(wrong: Array, response: NDArray[np.intp], n: int) -> NDArray[np.bool_]:
    """Return for each response whether any segment is wrong: shape [n]."""
    return np.bincount(response[np.equal(wrong, 1)], minlength=n) > 0


def scored(
    flagged: Array, wrong: Array, response: NDArray[np.intp], n: int, p: Array | None = None
) -> list[tuple[Metric, NDArray[np.int64]]]:
    """Return every metric with its statistics: a row for each of n responses.

    ``response`` is the response of each segment, and ``p`` is the probability that the segment is
    wrong. Without ``p``, there is no AUROC.
    """
    of_segments = np.zeros((n, 4), np.int64)
    np.add.at(of_segments, response, counts(flagged, wrong))
    of_responses = counts(any_wrong(flagged, response, n), any_wrong(wrong, response, n))
    metrics = [(metric, of_segments) for metric in SEGMENT_METRICS]
    metrics += [(metric, of_responses) for metric in RESPONSE_METRICS]
    if p is not None:
        refuse_other_shapes(p, wrong)
        statistics = SEGMENT_AUROC.statistics(flagged, p, wrong, wrong)
        metrics.append(clustered(SEGMENT_AUROC, statistics, response, n))
    return metrics


#: The metrics of pooled segments.
SEGMENT_METRICS = (
    of_counts(
        "segment_f1", F1, about="the harmonic mean of precision and recall of wrong segments"
    ),
    of_counts("segment_precision", PRECISION, about="the share of flagged segments that are wrong"),
    of_counts("segment_recall", RECALL, about="the share of wrong segments that are flagged"),
    of_counts(
        "segment_specificity",
        SPECIFICITY,
        about="the share of factual segments that are not flagged",
    ),
    of_counts(
        "segment_balanced_accuracy",
        *(RECALL, SPECIFICITY),
        about="the mean of segment recall and segment specificity",
    ),
)

#: The metrics of responses: a response is wrong if any segment is wrong, and flagged likewise.
RESPONSE_METRICS = (
    of_counts(
        "response_f1", F1, about="the harmonic mean of precision and recall of wrong responses"
    ),
    of_counts(
        "response_balanced_accuracy",
        *(RECALL, SPECIFICITY),
        about="the mean recall of wrong and of factual responses",
    ),
)

#: The area under the receiver operating characteristic of p over all segments.
SEGMENT_AUROC = replace(
    AUROC,
    name="segment_auroc",
    about="the probability that a wrong segment has a higher p than a factual one; ties count as ½",
    influence=None,
)
