"""Scores of predictions for FELM's segments and responses, and their metrics.

A row has ``index`` and, by segment, ``labels`` (true is factual), ``p`` (of being wrong) or both.
Wrong segments are the positive class. Scores are pooled over segments, but whole responses are
drawn for resamples, because the segments of a response are not independent.

Chen et al. (2023), *FELM: Benchmarking Factuality Evaluation of LLMs*, section 4.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shroom.core.paths import Source
from shroom.core.problems import Problems, show
from shroom.datasets.collection import Collection, Report, items_of
from shroom.datasets.felm import NAME, Response, Segments
from shroom.datasets.native_scores import (
    NativeResult,
    gold_record,
    objects,
    refuse_incomplete,
    result,
    signature,
)
from shroom.metrics.base import Array, Metric, refuse_other_shapes
from shroom.metrics.classification import F1, PRECISION, RECALL, SPECIFICITY, counts, of_counts
from shroom.metrics.cluster_bootstrap import clustered
from shroom.metrics.correlation import rho
from shroom.metrics.discrimination import AUROC
from shroom.metrics.intervals import Intervals, Scored, estimates
from shroom.scoring.input_files import documents
from shroom.scoring.item_values import problem_of_p
from shroom.scoring.results import flat

#: The metrics of the slices by source, which are many and small.
_OF_SOURCES = ("segment_f1", "segment_balanced_accuracy")
#: A segment without a label is predicted to be wrong above this p.
THRESHOLD = 0.5
_COLUMNS = ("labels", "p")
_KNOWN = {*_COLUMNS, *Response.__struct_fields__}


class Predictions(NamedTuple):
    """A system's predictions for all segments, in the order of the records."""

    wrong: NDArray[np.bool_]
    p: NDArray[np.float64] | None


def read_predictions(
    source: Source, gold: Collection[Response], problems: Problems | None = None
) -> Predictions:
    """Return the predictions for all segments of the gold, in the order of the gold."""
    problems = Problems() if problems is None else problems
    files = [*items_of(documents(source, problems), problems)]
    every = [item for _, items in files for item in items if isinstance(item, dict)]
    columns = [key for key in _COLUMNS if any(key in item for item in every)]
    known = {record.index: record for record in gold.records}
    rows: dict[str, dict[str, list[Any]]] = {}
    for item, report in objects(files, problems, "index"):
        record = gold_record(item, "index", known, rows, gold, report)
        values = _values(item, columns, record, report)
        if record is not None:
            rows[record.index] = values
        for key in sorted(item.keys() - _KNOWN):
            expected = 'the keys "index", "labels" and "p"'
            report.add("key-unknown", key, expected, show(key), often=True)
    missing = [index for index in known if index not in rows]
    expected = f"all {len(known)} indices of {', '.join(gold.files)}"
    refuse_incomplete(files, missing, expected, source, problems, "index")
    column = {
        key: np.array([value for index in known for value in rows[index][key]]) for key in columns
    }
    wrong = np.logical_not(column["labels"]) if "labels" in column else column["p"] > THRESHOLD
    predictions = Predictions(np.asarray(wrong), column.get("p"))
    _check_columns(predictions, gold, str(source), problems)
    return predictions


def _values(
    item: dict[str, Any], columns: list[str], record: Response | None, report: Report
) -> dict[str, list[Any]]:
    """Return the values of a row by column; wrong values are reported."""
    values = {}
    for key in columns:
        if key in item:
            read = _label if key == "labels" else _p
            listed = enumerate(_listed(item[key], key, record, report))
            values[key] = [read(value, f"{key}[{n}]", report) for n, value in listed]
        else:
            report.add_missing(f'"{key}"')
    if not columns:
        report.add_missing('"labels" or "p"')
    for number, (factual, p) in enumerate(zip(*(values.get(key, []) for key in _COLUMNS))):
        if p != THRESHOLD and factual == (p > THRESHOLD):
            word, sign = ("true (factual)", "<=") if factual else ("false (wrong)", ">=")
            expected = f"p {sign} {THRESHOLD} for the label {word}"
            report.add("label-p", f"p[{number}]", expected, repr(p))
    return values


def _listed(value: Any, key: str, record: Response | None, report: Report) -> list[Any]:
    if not isinstance(value, list):
        code = "label-value" if key == "labels" else "p-number"
        report.add(code, key, "a list with a value for each segment", show(value))
        return []
    if record is not None and len(value) != len(record.labels):
        expected = f"{len(record.labels)} values, one for each segment"
        report.add("count", key, expected, f"{len(value)}")
    return value


def _label(value: Any, key: str, report: Report) -> bool:
    if not isinstance(value, bool):
        report.add("label-value", key, "true (factual) or false", show(value))
    return bool(value)


def _p(value: Any, key: str, report: Report) -> float:
    problem = problem_of_p(value)
    if problem:
        code, expected = problem
        report.add(code, key, expected, show(value))
        return THRESHOLD
    return min(max(float(value), 0.0), 1.0)


def _check_columns(
    predictions: Predictions, gold: Collection[Response], source: str, problems: Problems
) -> None:
    """Report constant columns and inverted polarity, as for SHROOM's predictions."""
    wrong, p = predictions
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
        low = "low p" if key == "p" else "the label true"
        expected = f"{low} for factual segments"
        value = f"a correlation of {correlation:.2f} with the gold"
        code = "p-inverted" if key == "p" else "label-inverted"
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
    of_segments = np.zeros((n, 4), np.int64)
    np.add.at(of_segments, response, counts(flagged, wrong))
    sides = (response[np.equal(side, 1)] for side in (flagged, wrong))
    of_responses = counts(*(np.bincount(side, minlength=n) > 0 for side in sides))
    metrics = [(metric, of_segments) for metric in SEGMENT_METRICS]
    metrics += [(metric, of_responses) for metric in RESPONSE_METRICS]
    if p is not None:
        refuse_other_shapes(p, wrong)
        statistics = SEGMENT_AUROC.statistics(flagged, p, wrong, wrong)
        metrics.append(clustered(SEGMENT_AUROC, statistics, response, n))
    return metrics


def score(
    predictions: Source, gold: Collection[Response], intervals: Intervals, problems: Problems
) -> NativeResult:
    """Return the scores of FELM's segments and responses."""
    # A type of error has only a recall: segments that are labelled factual have no type.
    records = gold.records
    wrong, p = read_predictions(predictions, gold, problems)
    segments = Segments.of(records)
    n, m = len(records), len(segments.wrong)
    everything = np.ones(m, bool)

    def of(wrong: NDArray[np.bool_], p: NDArray[Any] | None = None, mask: Any = ...) -> Scored:
        of_segments = wrong[mask], segments.wrong[mask], segments.response[mask]
        return scored(*of_segments, n, None if p is None else p[mask])

    columns = of(wrong, p)
    confusion = columns[0][1]
    sizes = np.bincount(segments.response, minlength=n)
    slices: dict[str, dict[str, dict[str, Any]]] = {"domain": {}, "source": {}, "type": {}}
    for key in ("domain", "source"):
        kept = [it for it in columns if key == "domain" or it[0].name in _OF_SOURCES]
        values = np.array([getattr(record, key) for record in records], np.str_)
        for value in dict.fromkeys(values.tolist()):
            mask = values == value
            counts = {"n": int(mask.sum()), "segments": int(sizes[mask].sum())}
            rows = [(metric, statistics[mask]) for metric, statistics in kept]
            scores = flat(*estimates(rows, intervals))
            slices[key][value] = {**counts, **scores, **_named(confusion[mask])}
    for kind in dict.fromkeys(sorted(segments.kind[segments.wrong].tolist())):
        mask = segments.wrong & (segments.kind == kind)
        there = np.bincount(segments.response[mask], minlength=n) > 0
        rows = [it for it in of(wrong, p, mask) if it[0].name == "segment_recall"]
        rows = [(metric, statistics[there]) for metric, statistics in rows]
        counts = {"n": int(there.sum()), "segments": int(mask.sum())}
        slices["type"][kind] = {**counts, **flat(*estimates(rows, intervals))}
    return result(
        NAME,
        {"n": n, "segments": m},
        columns,
        (of(everything), of(~everything)),
        intervals,
        confusion=_named(confusion),
        slices={key: parts for key, parts in slices.items() if parts},
        signature=signature(NAME, "index", ((record.index, record.labels) for record in records)),
    )


def _named(confusion: NDArray[np.int64]) -> dict[str, int]:
    return dict(zip(("TP", "FP", "FN", "TN"), confusion.sum(axis=0).tolist()))
