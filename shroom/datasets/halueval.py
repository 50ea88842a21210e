"""HaluEval: texts with a hallucinated counterpart, and judged replies.

The files are JSON Lines, although their names end in ``.json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Union

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, pair
from shroom.core.json_writing import json_lines
from shroom.datasets import records
from shroom.datasets.base import DataSet, View
from shroom.datasets.fields import Filled
from shroom.datasets.groups import Groups, Row, shares
from shroom.datasets.records import Form
from shroom.datasets.summary import Summary
from shroom.metrics.intervals import Intervals

NAME = "halueval"
YES_OR_NO = {True: "Yes", False: "No"}


class Question(Struct, frozen=True):
    """A question with knowledge, its right answer and a hallucinated one."""

    knowledge: str
    question: str
    right_answer: Filled
    hallucinated_answer: Filled
    task = "qa"
    inputs, output = ("knowledge", "question"), "answer"


class Dialogue(Struct, frozen=True):
    """A dialogue with knowledge, its right next turn and a hallucinated one."""

    knowledge: str
    dialogue_history: str
    right_response: Filled
    hallucinated_response: Filled
    task = "dialogue"
    inputs, output = ("knowledge", "dialogue_history"), "response"


class Article(Struct, frozen=True):
    """A document, its right summary and a hallucinated one."""

    document: Filled
    right_summary: Filled
    hallucinated_summary: Filled
    task = "summarization"
    inputs, output = ("document",), "summary"


class Reply(Struct, frozen=True):
    """A reply of ChatGPT to a user, and whether people found a hallucination in it."""

    user_query: Filled
    chatgpt_response: Filled
    hallucination: Literal["yes", "no"]
    ID: str = ""
    hallucination_spans: tuple[str, ...] = ()
    task = "general"
    inputs, output = ("user_query",), "chatgpt_response"


Record = Union[Question, Dialogue, Article, Reply]

FORM = Form[Any](
    {
        "right_answer": Question,
        "right_response": Dialogue,
        "right_summary": Article,
        "chatgpt_response": Reply,
    },
    id="ID",
    by_content=True,
)
read = partial(records.read, NAME, FORM)


def texts(record: Record) -> list[tuple[str, bool]]:
    """Return the texts of a record, each with whether it is hallucinated."""
    if isinstance(record, Reply):
        return [(record.chatgpt_response, record.hallucination == "yes")]
    sides = (("right", False), ("hallucinated", True))
    return [(getattr(record, f"{side}_{record.output}"), wrong) for side, wrong in sides]


def native_rows(record: Record) -> list[tuple[dict[str, str], bool]]:
    """Return the row of each text in the authors' form of results, and whether it is wrong."""
    inputs = {key: getattr(record, key) for key in record.inputs}
    return [({**inputs, record.output: text}, wrong) for text, wrong in texts(record)]


def _points(record: Record) -> Iterator[Datapoint | None]:
    """Yield each text with its input: p is 1 if it is hallucinated."""
    premise = "\n".join(getattr(record, key) for key in record.inputs)
    for text, wrong in texts(record):
        yield pair(premise, text, float(wrong)) if premise.strip() else None


def _predictions(records: Sequence[Any], wrong: NDArray[np.bool_], _: Any) -> str:
    rows = [row for record in records for row in native_rows(record)]
    return json_lines(
        {**row, "ground_truth": YES_OR_NO[truth], "judgement": YES_OR_NO[flagged]}
        for (row, truth), flagged in zip(rows, wrong.tolist())
    )


def _figures(records: Sequence[Record], intervals: Intervals) -> Row:
    verdicts = [[wrong for _, wrong in texts(record)] for record in records]
    wrong, every = [*map(sum, verdicts)], [*map(len, verdicts)]
    counts = {"records": len(records), "texts": sum(every), "hallucinated": sum(wrong)}
    return {**counts, **shares({"hallucinated_share": (wrong, every)}, intervals)}


def _labels(record: Record) -> Mapping[str, int]:
    verdicts = [wrong for _, wrong in texts(record)]
    return {"hallucinated": sum(verdicts), "right": len(verdicts) - sum(verdicts)}


DATA_SET = DataSet(
    NAME,
    licence="MIT",
    about="right and hallucinated answers, responses and summaries; labelled replies from ChatGPT",
    source=(
        "J. Li, X. Cheng, W. X. Zhao, J.-Y. Nie and J.-R. Wen (2023), HaluEval: A Large-Scale "
        "Hallucination Evaluation Benchmark for Large Language Models, arXiv:2305.11747"
    ),
    read=read,
    ending=".json",
    summary=Summary(
        labels={"texts": _labels},
        texts={
            "input": lambda record: ["\n".join(getattr(record, key) for key in record.inputs)],
            "right": lambda record: [text for text, wrong in texts(record) if not wrong],
            "hallucinated": lambda record: [text for text, wrong in texts(record) if wrong],
        },
        tables={
            "task": Groups(
                "records by task; each record has two texts, except in the task 'general'",
                _figures,
                {"task": lambda record: record.task},
                total="last",
            )
        },
    ),
    views={
        "texts": View(
            "texts compared with their inputs; p is 1 if the text is hallucinated", _points
        )
    },
    predictions=_predictions,
)
