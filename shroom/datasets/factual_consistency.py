"""Factual consistency of knowledge-grounded responses of GPT-2 models.

Crowd workers judged three files, which differ in their knowledge; experts judged one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import Annotated, Literal, Optional

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, pair
from shroom.datasets import records
from shroom.datasets.base import DataSet, View
from shroom.datasets.collection import Report
from shroom.datasets.fields import Finite, Rule
from shroom.datasets.records import Form
from shroom.datasets.summary import Groups, Row, Summary, fields
from shroom.metrics.cluster_bootstrap import places, ratio, sums
from shroom.metrics.intervals import Intervals, estimates
from shroom.scoring.input_files import CSV
from shroom.scoring.results import flat

NAME = "factual_consistency"
CORRECTNESS = "Avg Factual Correctness"
#: The mark after each turn of a context.
TURN_END = "<br>"
#: The metrics of the first three columns; the mean is not a share, so it has no Wilson interval.
_METRICS = (
    ratio("mean_correctness"),
    ratio("hallucinated_share", share=np.asarray),
    ratio("verifiable_share", share=np.asarray),
)
_VERDICTS = {"Yes": 1.0, "No": 0.0, "y": 1.0, "n": 0.0}
_AS_GIVEN = (
    "mean_correctness excludes values outside [0, 1]; mean_correctness_as_given includes them, "
    "as the commonly quoted figures do"
)
_RENAMED = {
    "given_correctness": CORRECTNESS,
    "hallucination": "Hallucination",
    "verifiable": "Verifiable",
}


class Response(Struct, frozen=True, rename=_RENAMED):
    """One response, its input and its judgements."""

    # In the expert file, the numbers restart in the middle.
    conv_index: Annotated[int, Rule(None)]
    model_type: str  # ``GPT2-small``, ``GPT2-medium``, ``GPT2-large`` or ``GPT2-xlarge``
    decoding: str  # ``nucleus``, ``beam search`` or ``DBS`` (diverse beam search)
    context: str
    knowledge: str  # the sentences of the model's input; may be empty
    response: str  # the text of the model
    # The annotators' mean, 1 for correct; it may be out of range, unlike ``correctness``.
    given_correctness: Annotated[Optional[Finite], Rule(None, expected="a number in [0, 1]")]
    hallucination: Annotated[Optional[Literal["Yes", "No"]], Rule(None)]
    verifiable: Annotated[Optional[Literal["y", "n"]], Rule(None)]
    dial_index: Annotated[Optional[int], Rule(None)] = None  # only in ``knn``; of unknown meaning

    @property
    def correctness(self) -> float | None:
        """The mean factual correctness in [0, 1]; ``None`` if it is blank or out of range."""
        value = self.given_correctness
        return value if value is not None and 0 <= value <= 1 else None

    @property
    def turns(self) -> tuple[str, ...]:
        """The turns of the context, without ``<br>`` and blanks around them."""
        return tuple(filter(None, map(str.strip, self.context.split(TURN_END))))

    @property
    def dialogue(self) -> tuple[int | None, str]:
        """The dialogue, identified by its number and its text."""
        return self.conv_index, self.context

    @property
    def premise(self) -> str:
        """The knowledge, followed by the turns; either may be missing."""
        parts = (self.knowledge, "\n".join(self.turns))
        return "\n".join(part for part in parts if part.strip())


def _check(record: Response, report: Report) -> None:
    """Report empty texts, and a correctness that is out of range."""
    if record.given_correctness != record.correctness:
        expected = "a number in [0, 1] (any other value is excluded from all means)"
        report.add("number-odd", CORRECTNESS, expected)
    for key in ("context", "knowledge", "response"):
        if not getattr(record, key).strip():
            report.add("text-odd", key, "a text", "none")


FORM = Form({"": Response}, check=_check, same=lambda record: record, endings=CSV)
read = partial(records.read, NAME, FORM)


def _point(record: Response, p: float | None) -> list[Datapoint]:
    return [pair(record.premise, record.response, p, record.model_type)]


def figures(records: Sequence[Response], intervals: Intervals) -> Row:
    """Return counts, means and shares of responses; intervals resample dialogues."""
    keys = ("correctness", "hallucination", "verifiable", "given_correctness")
    judged = {key: _column(records, key) for key in keys}
    units = places([record.dialogue for record in records])
    scored = [
        (metric, sums(np.column_stack([np.nan_to_num(column), ~np.isnan(column)]), units))
        for metric, column in zip(_METRICS, judged.values())
    ]
    given = judged["given_correctness"][~np.isnan(judged["given_correctness"])]
    with np.errstate(over="ignore"):  # if values are far out of range
        mean = float(given.mean()) if len(given) else np.nan
    return {
        "rows": len(records),
        "verifiable": int(np.nansum(judged["verifiable"])),
        "judged": int(np.count_nonzero(~np.isnan(judged["hallucination"]))),
        "hallucinated": int(np.nansum(judged["hallucination"])),
        "dialogues": len(set(units.tolist())),
        **flat(*estimates(scored, intervals)),
        "mean_correctness_as_given": mean if math.isfinite(mean) else None,
    }


def _column(records: Sequence[Response], key: str) -> NDArray[np.float64]:
    """Return the values of a field, with ``nan`` for ``None``."""
    values = (getattr(record, key) for record in records)
    return np.array([_VERDICTS.get(value, value) for value in values], np.float64)


def _by(*names: str) -> Groups:
    """Return the figures by fields; files are never pooled, since their annotators differ."""
    by = {name: attrgetter(name) for name in names}
    return Groups(f"responses by {', '.join(('file', *names))}", figures, by, by_file=True)


DATA_SET = DataSet(
    NAME,
    licence="CC BY-SA 4.0",
    about="dialogue responses of GPT-2 models, judged against the knowledge given to the models",
    source=(
        "S. Santhanam, B. Hedayatnia, S. Gella, A. Padmakumar, S. Kim, Y. Liu and D. Hakkani-Tür "
        '(2021), "Rome was built in 1776: A Case Study on Factual Correctness in '
        'Knowledge-Grounded Response Generation", arXiv:2110.05456'
    ),
    read=read,
    ending=".csv",
    summary=Summary(
        labels={
            "Hallucination": lambda record: [record.hallucination],
            "Verifiable": lambda record: [record.verifiable],
            CORRECTNESS: lambda record: [record.given_correctness],
        },
        texts=fields("context", "knowledge", "response"),
        tables={
            "file": _by(),
            "model_type": _by("model_type"),
            "decoding": _by("decoding"),
            "model_type_decoding": _by("model_type", "decoding"),
        },
        notes={_AS_GIVEN: lambda _: True},
    ),
    views={
        "hallucination": View(
            "responses compared with knowledge and dialogue; p is 1 if the annotators found a "
            "hallucination",
            lambda record: _point(record, _VERDICTS.get(record.hallucination)),
            attrgetter("dialogue"),
        ),
        "correctness": View(
            "responses compared with knowledge and dialogue; p is 1 minus the mean correctness",
            lambda r: _point(r, None if r.correctness is None else 1 - r.correctness),
            attrgetter("dialogue"),
        ),
    },
)
