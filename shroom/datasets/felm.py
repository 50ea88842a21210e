"""FELM: answers of ChatGPT in segments that people judged; *true is factual*."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Optional

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, pair
from shroom.core.json_writing import json_lines
from shroom.core.printing import counted
from shroom.core.problems import show
from shroom.datasets import records
from shroom.datasets.base import DataSet, View
from shroom.datasets.collection import Report
from shroom.datasets.fields import Rule, Text, TextOrNone, Unusable
from shroom.datasets.records import Form
from shroom.datasets.summary import Groups, Parts, Row, Summary, fields, shares
from shroom.metrics.intervals import Intervals

NAME = "felm"
#: World knowledge, science and technology, writing and recommendation, reasoning, mathematics.
DOMAINS = ("wk", "science", "writing_rec", "reasoning", "math")
_VERDICTS = {True: "factual", False: "wrong"}
_LISTS = ("comment", "type", "ref", "ref_contents")


class Response(Struct, frozen=True):
    """One answer of ChatGPT and the annotations of its segments."""

    index: str  # its number, as a string; predictions are aligned by it
    prompt: str
    segmented_response: tuple[str, ...]  # the answer in segments, a few of them empty
    labels: tuple[bool, ...]
    domain: Annotated[str, Rule("", words=DOMAINS, code="word-odd")]
    source: Text
    # ``None`` for a bare ``NaN`` in the file; the segments exist.
    response: TextOrNone
    comment: tuple[str, ...] = ()  # for each segment, a reason or correction; mostly empty
    # ``None`` or empty if there is no error; an empty tuple in the domains without kinds.
    type: tuple[Optional[str], ...] = ()
    ref: tuple[str, ...] = ()
    ref_contents: tuple[str, ...] = ()

    @staticmethod
    def prepare(item: dict[str, Any], _: Report) -> dict[str, Any]:
        """Return a row with lists; the source writes some empty lists as empty texts."""
        row = {**item, **{key: [] for key in _LISTS if item.get(key) == ""}}
        return {**row, "index": str(row["index"])} if type(row.get("index")) is int else row

    @property
    def kinds(self) -> tuple[str | None, ...]:
        """For each segment, the kind of error; ``None`` if the list has a different length."""
        m = len(self.labels)
        return self.type if len(self.type) == m else (None,) * m


def _check(record: Response, report: Report) -> None:
    m, n = len(record.labels), len(record.segmented_response)
    if not m or n != m:
        labels = f"{counted(n, 'label')}, one for each segment"
        raise Unusable("labels", labels if n else "at least one labelled segment", f"{m}")
    for number, segment in enumerate(record.segmented_response):
        if not segment.strip():
            key, expected = f"segmented_response[{number}]", "a segment that is not blank"
            report.add("segment-empty", key, expected, show(segment))


FORM = Form(
    {"": Response},
    check=_check,
    same=lambda record: (record.prompt, record.segmented_response),
    id="index",
    ids="id-doubled",
)
read = partial(records.read, NAME, FORM)


def _points(record: Response, *, references: bool) -> Iterator[Datapoint]:
    """Yield each segment with the prompt, and with the passages of the references."""
    src = "\n\n".join((record.prompt, *(record.ref_contents if references else ())))
    for segment, factual in zip(record.segmented_response, record.labels):
        yield pair(src, segment, float(not factual))


def predictions(
    records: Sequence[Response], wrong: NDArray[np.bool_], p: NDArray[np.float64] | None = None
) -> list[dict[str, Any]]:
    """Return predictions for all segments in the native form, an object for each response."""
    rows, start = [], 0
    for record in records:
        own = slice(start, start := start + len(record.labels))
        row: dict[str, Any] = {"index": record.index, "labels": (~wrong[own]).tolist()}
        rows.append(row if p is None else {**row, "p": p[own].tolist()})
    return rows


def _figures(records: Sequence[Response], intervals: Intervals) -> Row:
    segments = [len(record.labels) for record in records]
    wrong = [record.labels.count(False) for record in records]
    is_wrong = [n > 0 for n in wrong]
    row = {
        "responses": len(records),
        "segments": sum(segments),
        "factual": sum(segments) - sum(wrong),
        "wrong": sum(wrong),
        "wrong_responses": sum(is_wrong),
    }
    of_segments = shares({"wrong_share": (wrong, segments)}, intervals)
    ones = [1] * len(records)
    return {**row, **of_segments, **shares({"wrong_response_share": (is_wrong, ones)}, intervals)}


DATA_SET = DataSet(
    NAME,
    licence="CC BY-NC-SA 4.0",
    about="segments of ChatGPT's answers in five domains, judged factual or wrong",
    source=(
        "Chen et al. (2023), FELM: Benchmarking Factuality Evaluation of Large Language Models"
    ),
    read=read,
    summary=Summary(
        labels={
            "segments": lambda record: [_VERDICTS[label] for label in record.labels],
            "responses": lambda record: [_VERDICTS[all(record.labels)]],
        },
        texts={
            **fields("prompt", "response"),
            "segment": lambda record: record.segmented_response,
            "reference": lambda record: record.ref_contents,
        },
        tables={
            "domain": Groups(
                "wrong segments (not factual, so hallucinated) and responses with wrong segments",
                _figures,
                {"domain": lambda record: record.domain},
                total=True,
            ),
            "source": Groups(
                "segments by source of the prompt",
                _figures,
                {"source": lambda record: record.source},
            ),
            "type": Parts(
                "wrong segments by type of error",
                "type",
                lambda r: [
                    kind or "none" for kind, is_factual in zip(r.kinds, r.labels) if not is_factual
                ],
                ("responses", "wrong", "share_of_wrong"),
            ),
        },
    ),
    predictions=lambda records, wrong, p: json_lines(predictions(records, wrong, p)),
    views={
        "references": View(
            "segments of answers compared with the prompt and the references",
            partial(_points, references=True),
        ),
        "prompt": View(
            "segments of answers, each compared only with the prompt",
            partial(_points, references=False),
        ),
    },
)
