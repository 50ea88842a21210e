"""Scores of predictions for FELM's segments and responses, and their metrics.

A row has ``index`` and, by segment, ``labels`` (true is factual), ``p`` (of being wrong) or both.
Wrong segments are the positive class. Scores are pooled over segments, but whole responses are
drawn for resamples, because the segments of a response are not independent.

Chen et al. (2023), *FELM: Benchmarking Factuality Evaluation of LLMs*, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shroom.core.paths import Source
from shroom.core.problems import Problems, show
from shroom.datasets.collection import Collection, Report
from shroom.datasets.felm import NAME, Response
from shroom.datasets.native_scores import (
    Judged,
    NativeResult,
    Predictions,
    confusions,
    result,
    signature,
    sliced,
)
from shroom.metrics.base import Array, Metric
from shroom.metrics.classification import F1, PRECISION, RECALL, SPECIFICITY, of_counts
from shroom.metrics.cluster_bootstrap import clustered
from shroom.metrics.correlation import rho
from shroom.metrics.discrimination import AUROC
from shroom.metrics.intervals import Intervals
from shroom.scoring.item_values import problem_of_p

#: The metrics of the slices by source, which are many and small.
_OF_SOURCES = ("segment_f1", "segment_balanced_accuracy")
#: A segment without a label is predicted to be wrong above this p.
THRESHOLD = 0.5
_COLUMNS = ("labels", "p")
_KNOWN = {*_COLUMNS, *Response.__struct_fields__}


class Verdicts(NamedTuple):
    """A system's predictions for all segments, in the order of the records."""

    wrong: NDArray[np.bool_]
    p: NDArray[np.float64] | None


def read_predictions(
    source: Source, gold: Collection[Response], problems: Problems | None = None
) -> Verdicts:
    """Return the predictions for all segments of the gold, in the order of the gold."""
    problems = Problems() if problems is None else problems
    predictions = Predictions(source, gold, problems, "index")
    items = [item for _, items in predictions.files for item in items if isinstance(item, dict)]
    columns = [key for key in _COLUMNS if any(key in item for item in items)]
    known = {record.index: record for record in gold.records}
    rows: dict[str, dict[str, list[Any]]] = {}
    for item, record, report in predictions.with_records(known):
        values = {key: _values(item, key, record, report) for key in columns}
        if not columns:
            report.add_missing('"labels" or "p"')
        _check_thresholds(values, report)
        for key in sorted(item.keys() - _KNOWN):
            report.add("key-unknown", key, 'the keys "index", "labels" and "p"', show(key))
        if record is not None:
            rows[record.index] = values
    missing = [index for index in known if index not in rows]
    expected = f"all {len(known)} indices of {', '.join(gold.files)}"
    predictions.refuse_incomplete(missing, expected)
    column = {
        key: np.array([value for index in known for value in rows[index][key]]) for key in columns
    }
    wrong = np.logical_not(column["labels"]) if "labels" in column else column["p"] > THRESHOLD
    verdicts = Verdicts(np.asarray(wrong), column.get("p"))
    _check_columns(verdicts, gold, str(source), problems)
    return verdicts


def _values(item: dict[str, Any], key: str, record: Response | None, report: Report) -> list[Any]:
    """Return the values of a row under a key; wrong values are reported."""
    is_label, values = key == "labels", item.get(key)
    if key not in item:
        report.add_missing(f'"{key}"')
        return []
    if not isinstance(values, list):
        code = "label-value" if is_label else "p-number"
        report.add(code, key, "a list with a value for each segment")
        return []
    if record is not None and len(values) != len(record.labels):
        expected = f"{len(record.labels)} values, one for each segment"
        report.add("count", key, expected, f"{len(values)}")
    problem_of = _problem_of_label if is_label else problem_of_p
    problems = [*map(problem_of, values)]
    for number, problem in enumerate(problems):
        if problem is not None:
            code, expected = problem
            report.add(code, f"{key}[{number}]", expected, show(values[number]))
    if is_label:
        return [*map(bool, values)]
    return [
        min(max(float(p), 0.0), 1.0) if problem is None else THRESHOLD
        for p, problem in zip(values, problems)
    ]


def _problem_of_label(value: Any) -> tuple[str, str] | None:
    return None if isinstance(value, bool) else ("label-value", "true (factual) or false")


def _check_thresholds(values: Mapping[str, list[Any]], report: Report) -> None:
    for number, (is_factual, value) in enumerate(zip(*(values.get(key, ()) for key in _COLUMNS))):
        if value != THRESHOLD and is_factual == (value > THRESHOLD):
            word, sign = ("true (factual)", "<=") if is_factual else ("false (wrong)", ">=")
            expected = f"p {sign} {THRESHOLD} for the label {word}"
            report.add("label-p", f"p[{number}]", expected, repr(value))


def _check_columns(
    verdicts: Verdicts, gold: Collection[Response], source: str, problems: Problems
) -> None:
    """Report constant columns and inverted polarity, as for SHROOM's predictions."""
    wrong, p = verdicts
    if len(wrong) > 1 and np.all(wrong == wrong[0]):
        value = f"the verdict '{'wrong' if wrong[0] else 'factual'}' for every segment"
        problems.add("label-constant", source, "both verdicts", value)
    if p is not None and len(p) > 1 and np.ptp(p) == 0:
        value = f"{float(p[0])!r} for every segment"
        problems.add("p-constant", source, "different values of p", value, key="p")
    labels = np.array([not label for record in gold.records for label in record.labels], float)
    key, column = ("labels", wrong.astype(float)) if p is None else ("p", p)
    n = len(gold.records)
    correlation = rho(column, labels)  # nan if one side is constant
    # The segments of a response are not independent, so chance depends on the number of responses.
    if n >= 10 and correlation * math.sqrt(n - 1) <= -3:
        code, low = ("label-inverted", "the label true") if p is None else ("p-inverted", "low p")
        expected = f"{low} for factual segments"
        value = f"a correlation of {correlation:.2f} with the gold"
        problems.add(code, source, expected, value, key=key)


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


def scored(
    flagged: Array, wrong: Array, response: NDArray[np.intp], n: int, p: Array | None = None
) -> list[tuple[Metric, NDArray[np.int64]]]:
    """Return every metric with its statistics: a row for each of n responses.

    ``response`` is the response of each segment, and ``p`` is the probability that the segment is
    wrong. Without ``p``, there is no AUROC.
    """
    of_segments, of_responses = confusions(flagged, wrong, response, n)
    metrics = [(metric, of_segments) for metric in SEGMENT_METRICS]
    metrics += [(metric, of_responses) for metric in RESPONSE_METRICS]
    if p is not None:
        statistics = SEGMENT_AUROC.statistics(flagged, p, wrong, wrong)
        metrics.append(clustered(SEGMENT_AUROC, statistics, response, n))
    return metrics


def score(
    predictions: Source, gold: Collection[Response], intervals: Intervals, problems: Problems
) -> NativeResult:
    """Return the scores of FELM's segments and responses."""
    records, n = gold.records, len(gold.records)
    flagged, p = read_predictions(predictions, gold, problems)
    response = np.repeat(np.arange(n), [len(record.labels) for record in records])
    wrong = np.array([not label for record in records for label in record.labels], bool)
    kinds = np.array([kind or "none" for record in records for kind in record.kinds], np.str_)
    columns = scored(flagged, wrong, response, n, p)
    judged = Judged(columns, "segments", np.bincount(response, minlength=n))

    def confusion(mask: Any = slice(None)) -> dict[str, int]:
        return dict(zip(("TP", "FP", "FN", "TN"), columns[0][1][mask].sum(axis=0).tolist()))

    few = replace(judged, scored=[it for it in columns if it[0].name in _OF_SOURCES])
    slices = sliced(judged, {"domain": [r.domain for r in records]}, intervals, confusion)
    slices |= sliced(few, {"source": [r.source for r in records]}, intervals, confusion)
    # A type of error has only a recall: segments that are labelled factual have no type.
    for kind in sorted({*kinds[wrong].tolist()}):
        mask = wrong & (kinds == kind)
        rows, _ = confusions(flagged[mask], wrong[mask], response[mask], n)
        recall = Judged([(SEGMENT_METRICS[2], rows)], "segments", rows.sum(axis=1))
        slices.setdefault("type", {})[kind] = recall.figures(recall.sizes > 0, intervals)
    everything = np.ones(len(wrong), bool)
    floors = scored(everything, wrong, response, n), scored(~everything, wrong, response, n)
    return result(
        NAME,
        judged,
        floors,
        intervals,
        slices,
        confusion=confusion(),
        signature=signature(NAME, "index", ((record.index, record.labels) for record in records)),
    )
