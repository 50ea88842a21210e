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


_BALANCED = RECALL, SPECIFICITY
_SEGMENTS = {
    "f1": ((F1,), "the harmonic mean of precision and recall of wrong segments"),
    "precision": ((PRECISION,), "the share of flagged segments that are wrong"),
    "recall": ((RECALL,), "the share of wrong segments that are flagged"),
    "specificity": ((SPECIFICITY,), "the share of factual segments that are not flagged"),
    "balanced_accuracy": (_BALANCED, "the mean of segment recall and segment specificity"),
}
_RESPONSES = {
    "f1": ((F1,), "the harmonic mean of precision and recall of wrong responses"),
    "balanced_accuracy": (_BALANCED, "the mean recall of wrong and of factual responses"),
}
#: The metrics of pooled segments; and of responses: a response is wrong if any segment is wrong,
#: and flagged likewise.
SEGMENT_METRICS, RESPONSE_METRICS = (
    [of_counts(f"{unit}_{name}", *ratios, about=about) for name, (ratios, about) in table.items()]
    for unit, table in (("segment", _SEGMENTS), ("response", _RESPONSES))
)

#: The area under the receiver operating characteristic of p over all segments.
SEGMENT_AUROC = replace(
    AUROC,
    name="segment_auroc",
    about="the probability that a wrong segment has a higher p than a factual one; ties count as ½",
    influence=None,
)
