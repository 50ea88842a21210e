"""RAGTruth: answers of six models to questions, data and articles, with hallucinated spans.

Answers in ``response.jsonl`` belong to ``source_info.jsonl`` by ``source_id``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Optional, Union

import numpy as np
from msgspec import Struct, ValidationError, convert
from numpy.typing import NDArray

from shroom.core import paths
from shroom.core.datapoint import Datapoint, pair
from shroom.core.problems import Problems, show
from shroom.datasets import records
from shroom.datasets.base import DataSet, View
from shroom.datasets.collection import Collection, Report
from shroom.datasets.fields import Filled, Index, Number, Rule, Text
from shroom.datasets.native_scores import (
    Judged,
    NativeResult,
    Predictions,
    confusions,
    f1_metrics,
    result,
    signature,
    sliced,
)
from shroom.datasets.records import Form, Link
from shroom.datasets.summary import Groups, Parts, Row, Summary, fields, is_a, of, shares
from shroom.metrics.cluster_bootstrap import places
from shroom.metrics.intervals import Intervals, Scored

NAME = "ragtruth"
TASKS = ("QA", "Data2txt", "Summary")
LABEL_TYPES = tuple(
    f"{degree} {kind}" for degree in ("Evident", "Subtle") for kind in ("Conflict", "Baseless Info")
)
GOOD = "good"
QUALITIES = (GOOD, "incorrect_refusal", "truncated")
#: Metrics of answers (hallucinated if any span is marked) and of characters.
_OF_ANSWERS, _OF_CHARACTERS = f1_metrics("response_", "answers"), f1_metrics("span_", "characters")
Places = list[tuple[int, int]]


class Span(Struct, frozen=True):
    """A hallucinated span of an answer: ``response[start:end] == text``."""

    start: Index
    end: Index
    text: Text
    label_type: Annotated[str, Rule("", words=LABEL_TYPES)]
    meta: str = ""  # the annotators' comment
    implicit_true: bool = False  # true, although the source does not say it
    due_to_null: bool = False  # because a field of the source is null


class Source(Struct, frozen=True):
    """The input of a model: an article, a question with passages, or data of a business."""

    source_id: str
    source_info: Annotated[Union[str, dict[str, Any]], Rule(expected="a text or an object")]
    task_type: Annotated[str, Rule("", words=TASKS)]
    source: Text
    prompt: Text

    @property
    def premise(self) -> str:
        """The text that answers are compared with: the prompt without the instruction."""
        info = self.source_info
        if isinstance(info, str):
            return info
        texts = [info.get("question"), info.get("passages")]
        if all(isinstance(text, str) for text in texts):
            return "\n".join(map(str, texts))
        return json.dumps(info, ensure_ascii=False)


class Response(Struct, frozen=True):
    """A model's answer, the spans that are marked in it, and its source."""

    id: str
    source_id: str
    response: Filled
    labels: tuple[Span, ...]
    model: Text
    temperature: Annotated[Optional[Number], Rule(None)]
    split: Annotated[str, Rule("", words=("train", "test"))]
    quality: Annotated[str, Rule("", words=QUALITIES)]
    origin: Optional[Source] = None

    @property
    def is_judged(self) -> bool:
        """Whether the answer counts: like the authors, we omit truncated answers and refusals."""
        return self.quality == GOOD

    @property
    def is_hallucinated(self) -> bool:
        """Whether the answer counts and has a marked span, even if the span is true by chance."""
        return self.is_judged and bool(self.labels)

    @property
    def places(self) -> Places:
        """The start and the end of each marked span."""
        return [(span.start, span.end) for span in self.labels]

    @property
    def task(self) -> str:
        """The task of its source."""
        return self.origin.task_type if self.origin else ""


Record = Union[Response, Source]


def _check(record: Record, report: Report) -> None:
    """Report spans whose text is not at their place."""
    if not isinstance(record, Response):
        return
    for number, span in enumerate(record.labels):
        there = record.response[span.start : span.end]
        if not there or there != span.text:
            expected = f"{show(span.text)} at {span.start} to {span.end}"
            report.add("span-text", f"labels[{number}]", expected, show(there))


FORM = Form[Any](
    {"source_info": Source, "response": Response},
    check=_check,
    ids="id-doubled",
    link=Link(Response, "source_id", Source, "origin", "source_info.jsonl"),
)
read = partial(records.read, NAME, FORM)


def _points(record: Record) -> Iterator[Datapoint | None]:
    """Yield an answer with its source: p is 1 if a span is hallucinated."""
    if isinstance(record, Response) and record.origin is not None:
        p = float(record.is_hallucinated) if record.is_judged else None
        premise = record.origin.premise
        yield pair(premise, record.response, p, record.model) if premise.strip() else None


def _figures(responses: Sequence[Response], intervals: Intervals) -> Row:
    judged = [response.is_judged for response in responses]
    wrong = [response.is_hallucinated for response in responses]
    spans = [span for r in responses if r.is_judged for span in r.labels]
    return {
        "responses": len(responses),
        "judged": sum(judged),
        "hallucinated": sum(wrong),
        "spans": len(spans),
        "implicit_true": sum(span.implicit_true for span in spans),
        **shares({"hallucinated_share": (wrong, judged)}, intervals),
    }


def _by(about: str, key: str) -> Groups:
    by = {key: attrgetter(key)}
    return Groups(about, _figures, by, only=is_a(Response), total=True)


DATA_SET = DataSet(
    NAME,
    licence="MIT",
    about="six models' answers, summaries and descriptions of data, with hallucinated spans marked",
    source=(
        "C. Niu et al. (2024), RAGTruth: A Hallucination Corpus for Developing Trustworthy "
        "Retrieval-Augmented Language Models, https://github.com/ParticleMedia/RAGTruth"
    ),
    read=read,
    summary=Summary(
        labels=fields("split", "quality", kind=Response),
        texts={
            "premise": of(Source, lambda record: [record.premise]),
            "response": of(Response, lambda record: [record.response]),
            "span": of(Response, lambda record: [span.text for span in record.labels]),
        },
        tables={
            "task": _by(
                "good-quality answers; an answer with a marked span counts as hallucinated", "task"
            ),
            "model": _by("good-quality answers, by model", "model"),
            "label_type": Parts(
                "spans in good-quality answers, by type of hallucination",
                "label_type",
                of(Response, lambda r: [span.label_type for span in r.labels if r.is_judged]),
                ("responses", "spans", "share_of_spans"),
            ),
        },
    ),
    views={
        "responses": View(
            "answers compared with their sources; p is 1 if any span is marked",
            _points,
            lambda record: record.source_id,
        )
    },
)


class _Ends(Struct):
    start: Index
    end: Index


def _read_predictions(
    source: paths.Source, gold: Collection[Any], problems: Problems
) -> list[tuple[Response, Places]]:
    """Return each answer of good quality with the places of its predicted spans."""
    # Predictions must be complete for each split that they contain answers of.
    predictions = Predictions(source, gold, problems, "id")
    known = {record.id: record for record in gold.records if isinstance(record, Response)}
    found: dict[str, Places] = {}
    for item, record, report in predictions.with_records(known):
        try:
            spans = convert(item.get("labels"), list[_Ends])
        except ValidationError:
            report.add("span-value", "labels", 'a list of {"start", "end"}')
            spans = []
        if record is None:
            continue
        size = len(record.response)
        found[record.id] = [(span.start, span.end) for span in spans]
        for number, (start, end) in enumerate(found[record.id]):
            if start < end and end > size:
                expected = f"an end of at most {size}"
                report.add("span-past-end", f"labels[{number}]", expected, f"{end}")
            elif start >= end:
                expected = "a non-empty span of the answer"
                report.add("span-empty", f"labels[{number}]", expected, f"{start} to {end}")
    splits = {known[name].split for name in found} or {r.split for r in known.values()}
    judged = [r for r in known.values() if r.is_judged and r.split in splits]
    missing = [record.id for record in judged if record.id not in found]
    expected = f"all {len(judged)} answers in the predicted splits"
    predictions.refuse_incomplete(missing, expected)
    return [(record, found[record.id]) for record in judged]


def _marked(places: Sequence[Places], sizes: Sequence[int]) -> NDArray[np.bool_]:
    """Return for each character of all answers whether it is in a span."""
    marked = [np.zeros(size, bool) for size in sizes]
    for answer, spans in zip(marked, places):
        for start, end in spans:
            answer[start:end] = True
    return np.concatenate([np.zeros(0, bool), *marked])


def score(
    predictions: paths.Source, gold: Collection[Any], intervals: Intervals, problems: Problems
) -> NativeResult:
    """Return the scores of answers and of characters; intervals draw sources."""
    # Like the authors, we count only answers of good quality; any mark makes one hallucinated.
    answers = _read_predictions(predictions, gold, problems)
    records, n = [record for record, _ in answers], len(answers)
    sizes = [len(record.response) for record in records]
    answer = np.repeat(np.arange(n), sizes)
    wrong = _marked([record.places for record in records], sizes)
    flagged = _marked([own for _, own in answers], sizes)

    def scored(flagged: NDArray[np.bool_]) -> Scored:
        of_characters, of_answers = confusions(flagged, wrong, answer, n)
        rows = [(metric, of_answers) for metric in _OF_ANSWERS]
        return rows + [(metric, of_characters) for metric in _OF_CHARACTERS]

    sources = places([record.source_id for record in records])
    judged = Judged(scored(flagged), "responses", np.ones(n, np.int64), sources)
    columns = {key: [getattr(record, key) for record in records] for key in ("task", "model")}
    return result(
        NAME,
        judged,
        (scored(np.ones_like(wrong)), scored(np.zeros_like(wrong))),
        intervals,
        sliced(judged, columns, intervals),
        signature=signature(NAME, "id", ((record.id, record.places) for record in records)),
    )
