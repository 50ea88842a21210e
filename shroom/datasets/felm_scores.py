"""Scores of predictions for FELM's segments and responses.

A row has ``index`` and, by segment, ``labels`` (true is factual) or ``p`` (of being wrong), or both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, show
from shroom.datasets.collection import Collection
from shroom.datasets.felm import NAME, Response, Segments
from shroom.datasets.native_scores import (
    NativeResult,
    objects,
    predicted,
    report_missing,
    result,
    signature,
)
from shroom.datasets.records import Report
from shroom.metrics.correlation import rho
from shroom.metrics.intervals import Intervals, Scored, estimates
from shroom.metrics.segment_metrics import scored
from shroom.scoring.item_values import problem_of_p
from shroom.scoring.results import flat

#: The metrics of the slices by source, which are many and small.
_OF_SOURCES = ("segment_f1", "segment_balanced_accuracy")
#: Above this p a segment without a label is predicted to be wrong.
THRESHOLD = 0.5
_COLUMNS = ("labels", "p")
_KNOWN = {*_COLUMNS, *Response.__struct_fields__}


@dataclass(frozen=True, eq=False)
class Predictions:
    """A system's predictions for all segments, in the order of the records.

    Attributes
    ----------
    wrong : array of bool, shape [m]
        Whether a segment is predicted to be wrong: by labels, or else by p > 0.5.
    p : array of float, shape [m], or None
        Probability that a segment is wrong, in [0, 1]; ``None`` if there is none.
    """

    wrong: NDArray[np.bool_]
    p: NDArray[np.float64] | None = None


def floors(m: int) -> dict[str, Predictions]:
    """Return the predictions of trivial systems for m segments, by name.

    Examples
    --------
    >>> {name: floor.wrong.tolist() for name, floor in floors(2).items()}
    {'flag everything': [True, True], 'flag nothing': [False, False]}
    """
    verdicts = {"flag everything": True, "flag nothing": False}
    return {name: Predictions(np.full(m, wrong)) for name, wrong in verdicts.items()}


def read_predictions(
    source: Source, gold: Collection[Response], problems: Problems | None = None
) -> Predictions:
    """Return the predictions for the gold's responses, in the order of the gold.

    Parameters
    ----------
    source : path or "-"
        JSON Lines or a JSON list, also gzipped; a folder, a zip or a pipe.
    gold : Collection
        What they are for.
    problems : Problems, optional
        Receives every problem with its place.

    Raises
    ------
    InvalidInput
        With every problem, if there are errors.
    """
    problems = Problems() if problems is None else problems
    files = predicted(source, problems)
    every = [item for _, items in files for item in items if isinstance(item, dict)]
    columns = [key for key in _COLUMNS if any(key in item for item in every)]
    rows = _Rows(gold, columns)
    for file, items in files:
        for item, report in objects(file, items, problems, "index"):
            rows.add(item, report)
        _report_unknown_keys(file, items, problems)
    missing = [index for index in rows.records if index not in rows.values]
    if files:
        expected = f"all {len(rows.records)} indices of {', '.join(gold.files)}"
        report_missing(missing, expected, source, problems)
    if problems.errors:
        raise InvalidInput(problems)
    column = {
        key: np.array([value for index in rows.records for value in rows.values[index][key]])
        for key in columns
    }
    wrong = np.logical_not(column["labels"]) if "labels" in column else column["p"] > THRESHOLD
    predictions = Predictions(np.asarray(wrong), column.get("p"))
    _check_columns(predictions, gold, str(source), problems)
    return predictions


class _Rows:
    """The values of the rows by index, for each of the columns."""

    def __init__(self, gold: Collection[Response], columns: list[str]) -> None:
        self.gold_files, self.columns = ", ".join(gold.files), columns
        self.records = {record.index: record for record in gold.records}
        self.values: dict[str, dict[str, list[Any]]] = {}

    def add(self, item: dict[str, Any], report: Report) -> None:
        """Store the values of a row."""
        record = self._record(item, report)
        values = {}
        for key in self.columns:
            if key in item:
                read = _label if key == "labels" else _p
                listed = enumerate(_listed(item[key], key, record, report))
                values[key] = [read(value, f"{key}[{n}]", report) for n, value in listed]
            else:
                _report_missing_key(item, report, f'"{key}"')
        if not self.columns:
            _report_missing_key(item, report, '"labels" or "p"')
        for number, (factual, p) in enumerate(zip(*(values.get(key, []) for key in _COLUMNS))):
            if p != THRESHOLD and factual == (p > THRESHOLD):
                word, sign = ("true", "<=") if factual else ("false", ">=")
                expected = f"p {sign} {THRESHOLD} of being wrong for the label {word}"
                report.add("label-p", f"p[{number}]", expected, repr(p))
        if record is not None:
            self.values[record.index] = values

    def _record(self, item: dict[str, Any], report: Report) -> Response | None:
        if "index" not in item:
            _report_missing_key(item, report, '"index"')
            return None
        index = item["index"]
        record = self.records.get(str(index)) if type(index) in (str, int) else None
        if record is None:
            report.add("id-unknown", "index", f"an index of {self.gold_files}")
        elif record.index in self.values:
            report.add("id-doubled", "index", "an index of its own", f"{index} again")
        return record


def _report_missing_key(item: dict[str, Any], report: Report, keys: str) -> None:
    report.add("key-missing", None, f"the key {keys}", f"keys {show(list(item))}")


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


def _report_unknown_keys(file: str, items: Sequence[Any], problems: Problems) -> None:
    """Report each unknown key of the objects in a file once, with the number of objects."""
    places: dict[str, list[int]] = {}
    for index, item in enumerate(items):
        for key in item.keys() - _KNOWN if isinstance(item, dict) else ():
            places.setdefault(key, []).append(index)
    for key, indices in sorted(places.items()):
        rest = f" here and in {len(indices) - 1} more" if len(indices) > 1 else ""
        expected = '"index", "labels" and "p"'
        problems.add("key-unknown", file, expected, show(key) + rest, index=indices[0])


def _check_columns(
    predictions: Predictions, gold: Collection[Response], source: str, problems: Problems
) -> None:
    """Report what is odd in all rows together, as for SHROOM's predictions."""
    wrong, p = predictions.wrong, predictions.p
    if len(wrong) > 1 and np.all(wrong == wrong[0]):
        value = f"{'wrong' if wrong[0] else 'factual'} for every segment"
        problems.add("label-constant", source, "both verdicts", value)
    if p is not None and len(p) > 1 and np.ptp(p) == 0:
        value = f"{float(p[0])!r} for every segment"
        problems.add("p-constant", source, "p that differs", value, key="p")
    labels = np.array([not label for record in gold.records for label in record.labels], float)
    key, column = ("labels", wrong.astype(float)) if p is None else ("p", p)
    n = len(gold.records)
    correlation = rho(column, labels)  # nan if one side is constant
    # The segments of a response are not independent, so chance depends on the number of responses.
    if n >= 10 and correlation * math.sqrt(n - 1) <= -3:
        expected = "labels that are true, and p that is low, for what is factual"
        value = f"a correlation of {correlation:.2f} with the gold"
        code = "p-inverted" if key == "p" else "label-inverted"
        problems.add(code, source, expected, value, key=key)


def score(
    predictions: Source, gold: Collection[Response], intervals: Intervals, problems: Problems
) -> NativeResult:
    """Return the scores of FELM's segments and responses.

    Intervals resample responses. A type of error has only a recall, since the segments that are
    labelled factual have no type.
    """
    # A type of error has only a recall: segments that are labelled factual have no type.
    records = gold.records
    answers = read_predictions(predictions, gold, problems)
    segments = Segments.of(records)
    n, m = len(records), len(segments.wrong)

    def of(answers: Predictions, mask: slice | NDArray[np.bool_] = slice(None)) -> Scored:
        p = None if answers.p is None else answers.p[mask]
        return scored(answers.wrong[mask], segments.wrong[mask], segments.response[mask], n, p)

    columns = of(answers)
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
        rows = [it for it in of(answers, mask) if it[0].name == "segment_recall"]
        rows = [(metric, statistics[there]) for metric, statistics in rows]
        counts = {"n": int(there.sum()), "segments": int(mask.sum())}
        slices["type"][kind] = {**counts, **flat(*estimates(rows, intervals))}
    return result(
        NAME,
        {"n": n, "segments": m},
        columns,
        {name: of(floor) for name, floor in floors(m).items()},
        intervals,
        confusion=_named(confusion),
        slices={key: parts for key, parts in slices.items() if parts},
        signature=signature(NAME, "index", ((record.index, record.labels) for record in records)),
    )


def _named(confusion: NDArray[np.int64]) -> dict[str, int]:
    return dict(zip(("TP", "FP", "FN", "TN"), confusion.sum(axis=0).tolist()))
