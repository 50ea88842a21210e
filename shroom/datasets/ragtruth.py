"""RAGTruth: answers of six models to questions, data and articles, with hallucinated spans.

Answers in ``response.jsonl`` belong to ``source_info.jsonl`` by ``source_id``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, Optional, Union

from msgspec import Struct

from shroom.core.datapoint import Datapoint, pair
from shroom.core.problems import show
from shroom.datasets import records
from shroom.datasets.base import DataSet, View
from shroom.datasets.fields import Filled, Index, Number, Rule, Text
from shroom.datasets.groups import Groups, Parts, Row, shares
from shroom.datasets.records import Form, Link
from shroom.datasets.report import Report
from shroom.datasets.summary import Summary, fields, is_a, of
from shroom.metrics.intervals import Intervals

NAME = "ragtruth"
TASKS = ("QA", "Data2txt", "Summary")
LABEL_TYPES = tuple(
    f"{degree} {kind}" for degree in ("Evident", "Subtle") for kind in ("Conflict", "Baseless Info")
)
GOOD = "good"
QUALITIES = (GOOD, "incorrect_refusal", "truncated")


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
    temperature: Annotated[Optional[Number], Rule(None, null=False)]
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
        place = f"{span.start} to {span.end}"
        if not there:
            report.add("span-empty", f"labels[{number}]", "a non-empty span of the answer", place)
        elif there != span.text:
            expected = f"{show(span.text)} at {place}"
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
        premise = record.origin.premise
        usable = record.is_judged and premise.strip()
        p = float(record.is_hallucinated)
        yield pair(premise, record.response, p, record.model) if usable else None


def _kinds(record: Response) -> list[str]:
    return [span.label_type for span in record.labels] if record.is_judged else []


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
    return Groups(about, _figures, by, only=is_a(Response), total="last")


DATA_SET = DataSet(
    NAME,
    licence="MIT",
    about="six models' answers, summaries and descriptions of data, with hallucinated spans marked",
    source=(
        "C. Niu et al. (2024), RAGTruth: A Hallucination Corpus for Developing Trustworthy "
        "Retrieval-Augmented Language Models, https://github.com/ParticleMedia/RAGTruth"
    ),
    read=read,
    is_linked=True,
    summary=Summary(
        labels=fields("split", "quality", kind=Response),
        texts={
            "premise": of(Source, lambda record: [record.premise]),
            "response": of(Response, lambda record: [record.response]),
            "span": of(Response, lambda record: [span.text for span in record.labels]),
        },
        tables={
            "task": _by("answers of good quality; an answer with any span is hallucinated", "task"),
            "model": _by("answers of good quality by model", "model"),
            "label_type": Parts(
                "spans in answers of good quality by type of hallucination",
                "label_type",
                of(Response, _kinds),
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
    no_predictions="its predictions are spans, but a submission has one p for each answer",
)
