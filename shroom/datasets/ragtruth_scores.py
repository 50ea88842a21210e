"""Scores of spans that a system marks in RAGTruth's answers.

A row has ``id``, and ``labels`` as in the data or the authors' ``pred`` with texts of spans.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems
from shroom.datasets.collection import Collection, items_of
from shroom.datasets.fields import Index
from shroom.datasets.native_scores import (
    NativeResult,
    by_unit,
    gold_record,
    objects,
    report_missing,
    result,
    signature,
    sliced,
)
from shroom.datasets.ragtruth import NAME, Response
from shroom.datasets.report import Report
from shroom.metrics.classification import F1, PRECISION, RECALL, counts, of_counts
from shroom.metrics.intervals import Intervals, Scored
from shroom.scoring.input_files import documents

#: Metrics of answers (hallucinated if any span is marked) and of characters.
RESPONSE_METRICS, SPAN_METRICS = (
    tuple(
        of_counts(f"{level}_{name}", ratio, about=f"the {name} of hallucinated {things}")
        for name, ratio in (("f1", F1), ("precision", PRECISION), ("recall", RECALL))
    )
    for level, things in (("response", "answers"), ("span", "characters"))
)
_LIST = "hallucination list"
Spans = list[tuple[int, int]]


class _Ends(msgspec.Struct):
    start: Index
    end: Index


def read_predictions(
    source: Source, gold: Collection[Any], problems: Problems
) -> dict[str, tuple[Response, Spans]]:
    """Return each answer of good quality with its predicted spans, by id."""
    # Predictions must be complete for each split that they contain answers of.
    known = {record.id: record for record in gold.records if isinstance(record, Response)}
    found: dict[str, tuple[Response, Spans]] = {}
    files = [*items_of(documents(source, problems), problems)]
    for file, items in files:
        for item, report in objects(file, items, problems, "id"):
            record = gold_record(item, "id", known, found, gold, report)
            if record is not None:
                found[record.id] = record, _spans(item, record.response, report)
    splits = {record.split for record, _ in found.values()}
    judged = [r for r in known.values() if r.is_judged and (r.split in splits or not splits)]
    if files:
        missing = [record.id for record in judged if record.id not in found]
        expected = f"all {len(judged)} answers in the splits with predictions"
        report_missing(missing, expected, source, problems, "id")
    if problems.errors:
        raise InvalidInput(problems)
    return {record.id: found[record.id] for record in judged}


def _spans(item: dict[str, Any], text: str, report: Report) -> Spans:
    """Return the spans of a row; wrong spans are reported."""
    if "pred" in item:
        value = item["pred"]
        listed = value.get(_LIST, []) if isinstance(value, dict) else None
        if not isinstance(listed, list) or not all(isinstance(it, str) for it in listed):
            report.add("span-value", "pred", f'an object with texts under "{_LIST}"')
            return []
        places = [(text.find(quote), len(quote)) for quote in filter(None, listed)]
        for number, (start, _) in enumerate(places):
            if start < 0:
                report.add(
                    "span-text", f"pred[{number}]", "a quote from the answer", "another text"
                )
        return [(start, start + size) for start, size in places if start >= 0]
    try:
        spans = msgspec.convert(item.get("labels"), list[_Ends])
    except msgspec.ValidationError:
        report.add("span-value", "labels", 'a list of {"start", "end"}')
        return []
    for number, span in enumerate(spans):
        if span.end > len(text):
            report.add(
                "span-past-end",
                f"labels[{number}]",
                f"an end of at most {len(text)}",
                f"{span.end}",
            )
        elif span.start >= span.end:
            place = f"{span.start} to {span.end}"
            report.add("span-empty", f"labels[{number}]", "a non-empty span of the answer", place)
    return [(span.start, span.end) for span in spans]


def _marked(spans: Iterable[tuple[int, int]], size: int) -> NDArray[np.bool_]:
    marked = np.zeros(size, bool)
    for start, end in spans:
        marked[start:end] = True
    return marked


def score(
    predictions: Source, gold: Collection[Any], intervals: Intervals, problems: Problems
) -> NativeResult:
    """Return the scores of answers and of characters; intervals draw sources."""
    # Like the authors, we count only answers of good quality; any mark makes one hallucinated.
    answers = [*read_predictions(predictions, gold, problems).values()]
    records = [record for record, _ in answers]
    truth = [
        _marked(((span.start, span.end) for span in record.labels), len(record.response))
        for record in records
    ]
    marked = [_marked(spans, len(record.response)) for record, spans in answers]
    sources = np.array([record.source_id for record in records], np.str_)

    def of(marked: list[NDArray[np.bool_]], mask: Any = slice(None)) -> Scored:
        pairs = [*zip(marked, truth)]
        characters = np.array([counts(*pair).sum(axis=0) for pair in pairs], np.int64)
        flagged, wrong = (np.array([side.any() for side in sides]) for sides in zip(*pairs))
        of_responses = counts(flagged, wrong)
        rows = [(metric, of_responses[mask]) for metric in RESPONSE_METRICS]
        rows += [(metric, characters.reshape(-1, 4)[mask]) for metric in SPAN_METRICS]
        return by_unit(rows, sources[mask].tolist())

    everything = [np.ones(len(side), bool) for side in truth]
    slices = {
        "task": [record.task for record in records],
        "model": [record.model for record in records],
    }
    return result(
        NAME,
        {"n": len({*sources.tolist()}), "responses": len(records)},
        of(marked),
        (of(everything), of([~side for side in everything])),
        intervals,
        slices={
            key: sliced(values, lambda mask: of(marked, mask), intervals, "responses")
            for key, values in slices.items()
        },
        signature=signature(
            NAME, "id", ((r.id, [(s.start, s.end) for s in r.labels]) for r in records)
        ),
    )
