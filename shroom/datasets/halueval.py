"""HaluEval: texts with a hallucinated counterpart, and judged replies.

The files are JSON Lines, although their names end in ``.json``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal, Union

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, pair
from shroom.core.json_writing import json_lines
from shroom.core.paths import Source
from shroom.core.problems import Problems, show
from shroom.datasets import records
from shroom.datasets.base import DataSet, View
from shroom.datasets.collection import Collection, Report
from shroom.datasets.fields import Filled
from shroom.datasets.native_scores import (
    Judged,
    NativeResult,
    Predictions,
    f1_metrics,
    result,
    signature,
    sliced,
)
from shroom.datasets.records import Form
from shroom.datasets.summary import Groups, Row, Summary, shares
from shroom.metrics.classification import CORRECT, counts, of_counts
from shroom.metrics.intervals import Intervals, Scored

NAME = "halueval"
YES_OR_NO = {True: "Yes", False: "No"}
_FAILED = "failed!"  # counts as the wrong judgement
_METRICS = (
    of_counts("accuracy", CORRECT, about="the share of texts that are judged correctly"),
    *f1_metrics("", "texts"),
)


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
_KEYS = {kind.task: (*kind.inputs, kind.output) for kind in (Question, Dialogue, Article, Reply)}
#: By task and texts, the places of the rows of the gold, and whether each text is wrong.
_Gold = dict[tuple[str, ...], list[tuple[int, bool]]]

FORM = Form[Any](
    {
        "right_answer": Question,
        "right_response": Dialogue,
        "right_summary": Article,
        "chatgpt_response": Reply,
    },
    id="ID",
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


def _premise(record: Record) -> str:
    return "\n".join(getattr(record, key) for key in record.inputs)


def _points(record: Record) -> Iterator[Datapoint | None]:
    """Yield each text with its input: p is 1 if it is hallucinated."""
    premise = _premise(record)
    for text, wrong in texts(record):
        yield pair(premise, text, float(wrong)) if premise.strip() else None


def _predictions(records: Sequence[Any], wrong: NDArray[np.bool_], _: Any) -> str:
    rows = [row for record in records for row in native_rows(record)]
    return json_lines(
        {**row, "ground_truth": YES_OR_NO[truth], "judgement": YES_OR_NO[flagged]}
        for (row, truth), flagged in zip(rows, wrong.tolist())
    )


def _figures(records: Sequence[Record], intervals: Intervals) -> Row:
    labels = [_labels(record) for record in records]
    wrong, every = [it.count("hallucinated") for it in labels], [*map(len, labels)]
    figures = {"records": len(records), "texts": sum(every), "hallucinated": sum(wrong)}
    return {**figures, **shares({"hallucinated_share": (wrong, every)}, intervals)}


def _labels(record: Record) -> list[str]:
    return ["hallucinated" if wrong else "right" for _, wrong in texts(record)]


DATA_SET = DataSet(
    NAME,
    licence="MIT",
    about=(
        "correct and hallucinated answers, responses and summaries; labelled replies from ChatGPT"
    ),
    source=(
        "J. Li, X. Cheng, W. X. Zhao, J.-Y. Nie and J.-R. Wen (2023), HaluEval: A Large-Scale "
        "Hallucination Evaluation Benchmark for Large Language Models, arXiv:2305.11747"
    ),
    read=read,
    ending=".json",
    summary=Summary(
        labels={"texts": _labels},
        texts={
            "input": lambda record: [_premise(record)],
            "right": lambda record: [text for text, wrong in texts(record) if not wrong],
            "hallucinated": lambda record: [text for text, wrong in texts(record) if wrong],
        },
        tables={
            "task": Groups(
                "records by task; each record has two texts, except in the task 'general'",
                _figures,
                {"task": lambda record: record.task},
                total=True,
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


def _text_of(item: dict[str, Any], gold: _Gold, report: Report) -> tuple[str, ...] | None:
    """Return the task and the texts of a row; texts that the gold does not have are reported."""
    for task, keys in _KEYS.items():
        texts = task, *(item.get(key) for key in keys)
        if all(isinstance(text, str) for text in texts) and texts in gold:
            return texts
    expected = "an input of the gold with one of its texts"
    report.add("id-unknown", None, expected, f"keys {show(list(item))}")
    return None


def score(
    predictions: Source, gold: Collection[Any], intervals: Intervals, problems: Problems
) -> NativeResult:
    """Return the scores of judgements, overall and by task; intervals draw rows of the gold."""
    # Each row of the gold has at least one judgement: the authors judge one of its two texts.
    known: _Gold = {}
    for place, record in enumerate(gold.records):
        for row, wrong in native_rows(record):
            known.setdefault((record.task, *row.values()), []).append((place, wrong))
    of_gold = signature(NAME, "texts", known.items())
    rows: list[tuple[str, int, bool, bool]] = []  # task, row of the gold, flagged, wrong
    given = Predictions(predictions, gold, problems, "ID")
    for item, report in given.rows():
        text, judgement = _text_of(item, known, report), item.get("judgement")
        if judgement not in (*YES_OR_NO.values(), _FAILED):
            expected = " or ".join(map(show, (*YES_OR_NO.values(), _FAILED)))
            report.add("word-value", "judgement", expected)
        elif text is not None and not known[text]:
            expected, got = "one judgement for each text", "another judgement of this text"
            report.add("id-doubled", _KEYS[text[0]][-1], expected, got)
        elif text is not None:
            # Rows may share a text, and the texts of a row may be equal.
            said = item.get("ground_truth") == "Yes"
            place, wrong = next((it for it in known[text] if it[1] == said), known[text][0])
            known[text].remove((place, wrong))
            flagged = not wrong if judgement == _FAILED else judgement == "Yes"
            rows.append((text[0], place, flagged, wrong))
    judged = {place for _, place, _, _ in rows}
    missing = [f"row {place}" for place in range(len(gold.records)) if place not in judged]
    expected = f"a judgement for each of {len(gold.records)} rows of {', '.join(gold.files)}"
    given.refuse_incomplete(missing, expected, "judgement")
    tasks, units, verdicts, truth = (np.array(column) for column in zip(*rows))

    def scored(flagged: Any) -> Scored:
        return [(metric, counts(flagged, truth)) for metric in _METRICS]

    everything, each = np.ones(len(rows), bool), np.ones(len(rows), np.int64)
    of_texts = Judged(scored(verdicts), "texts", each, units)
    return result(
        NAME,
        of_texts,
        (scored(everything), scored(~everything)),
        intervals,
        sliced(of_texts, {"task": tasks}, intervals),
        signature=of_gold,
    )
