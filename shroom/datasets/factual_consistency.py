"""Factual consistency of knowledge-grounded responses of GPT-2 models.

Crowd workers judged three files, which differ in their knowledge; experts judged one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from pathlib import PurePath
from typing import Annotated, Any, Optional

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, pair
from shroom.datasets import records
from shroom.datasets.base import DataSet, View
from shroom.datasets.collection import Report
from shroom.datasets.fields import Odd, Rule
from shroom.datasets.groups import Groups, Row, by_name
from shroom.datasets.records import Form
from shroom.datasets.summary import Summary, fields
from shroom.metrics.cluster_bootstrap import places, ratio, sums
from shroom.metrics.intervals import Intervals, estimates
from shroom.scoring.input_files import CSV
from shroom.scoring.item_values import id_in, number_in
from shroom.scoring.results import flat

NAME = "factual_consistency"
CORRECTNESS = "Avg Factual Correctness"
#: The mark after each turn of a context.
TURN_END = "<br>"
_TEXTS = ("context", "knowledge", "response")
#: The metrics of the first three columns; the mean is not a share, so it has no Wilson interval.
_METRICS = (
    ratio("mean_correctness"),
    ratio("hallucinated_share", share=np.asarray),
    ratio("verifiable_share", share=np.asarray),
)
_AS_GIVEN = (
    "mean_correctness excludes values outside [0, 1]; mean_correctness_as_given includes them, "
    "as the commonly quoted figures do"
)


def _integer(cell: str, *_: Any) -> int:
    number = id_in(cell)
    if number is None:
        raise Odd
    return int(number)


def _number(cell: str, report: Report, key: str) -> float | None:
    """Return the correctness; a value out of range is reported and kept."""
    text = cell.strip()
    value = number_in(text) if text else None
    if text and (value is None or not math.isfinite(value)):
        raise Odd
    if value is not None and not 0 <= value <= 1:
        report.add(
            "number-odd",
            key,
            "a number in [0, 1] (any other value is excluded from all means)",
            text,
        )
    return value


def _either(yes: str, no: str) -> Any:
    """Return the type of a judgement, which may be blank."""

    def parse(cell: str, *_: Any) -> bool | None:
        if cell.strip() not in (yes, no, ""):
            raise Odd
        return {yes: True, no: False}.get(cell.strip())

    rule = Rule(
        parse=parse,
        otherwise=None,
        expected=f'"{yes}" or "{no}" (any other value counts as missing)',
    )
    return Annotated[Optional[bool], rule]


Integer = Annotated[
    Optional[int],
    Rule(None, parse=_integer, expected="an integer (any other value counts as missing)"),
]


class Response(
    Struct,
    frozen=True,
    rename={
        "given_correctness": CORRECTNESS,
        "hallucination": "Hallucination",
        "verifiable": "Verifiable",
    },
):
    """One response, its input and its judgements."""

    # In the expert file, the numbers restart in the middle.
    conv_index: Integer
    model_type: str  # ``GPT2-small``, ``GPT2-medium``, ``GPT2-large`` or ``GPT2-xlarge``
    decoding: str  # ``nucleus``, ``beam search`` or ``DBS`` (diverse beam search)
    context: str
    knowledge: str  # the sentences of the model's input; may be empty
    response: str  # the text of the model
    # The annotators' mean, 1 for correct; it may be out of range, unlike ``correctness``.
    given_correctness: Annotated[
        Optional[float],
        Rule(
            None, parse=_number, expected="a number in [0, 1] (any other value counts as missing)"
        ),
    ]
    hallucination: _either("Yes", "No")  # type: ignore[valid-type]
    verifiable: _either("y", "n")  # type: ignore[valid-type]
    dial_index: Integer = None  # only in ``knn``; the source does not describe it
    file: str = ""

    @staticmethod
    def prepare(item: dict[str, Any], report: Report) -> dict[str, Any]:
        """Return a row with the name of its file."""
        base = PurePath(report.file).name
        return {**item, "file": re.split(r"\.csv", base, maxsplit=1, flags=re.IGNORECASE)[0]}

    @property
    def correctness(self) -> float | None:
        """The mean factual correctness in [0, 1]; ``None`` if it is blank or out of range."""
        value = self.given_correctness
        return value if value is not None and 0 <= value <= 1 else None

    @property
    def turns(self) -> tuple[str, ...]:
        """The turns of the context, without ``<br>`` and blanks around them."""
        parts = (part.strip() for part in self.context.split(TURN_END))
        return tuple(part for part in parts if part)

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
    """Report empty texts and missing judgements; unverifiable responses need no judgement."""
    verifiable = report.item["Verifiable"].strip()
    if not verifiable:
        report.add(
            "word-odd", "Verifiable", '"y" or "n" (any other value counts as missing)', "none"
        )
    blank = [key for key in (CORRECTNESS, "Hallucination") if not report.item[key].strip()]
    if len(blank) == 1 or (blank and verifiable == "y"):
        report.add("judgement-missing", " and ".join(blank), "a judgement", "none")
    for key in _TEXTS:
        if not getattr(record, key).strip():
            report.add("text-odd", key, "a text", "none")


FORM = Form({"": Response}, check=_check, same=lambda record: record, across=False, endings=CSV)
read = partial(records.read, NAME, FORM)


def _point(record: Response, p: float | None) -> list[Datapoint | None]:
    if p is None:
        return [None]
    return [pair(record.premise, record.response, float(p), record.model_type)]


def _incorrectness(record: Response) -> float | None:
    return None if record.correctness is None else 1 - record.correctness


def figures(
    records: Sequence[Response], intervals: Intervals, *, verifiable_only: bool = False
) -> Row:
    """Return counts, means and shares of responses; intervals resample dialogues."""
    counted = np.array([record.verifiable is True or not verifiable_only for record in records])
    judgements = ("correctness", "hallucination", "verifiable", "given_correctness")
    columns = {key: _column(records, key) for key in judgements}
    columns |= {
        key: np.where(counted, column, np.nan)
        for key, column in columns.items()
        if key != "verifiable"
    }
    units = places([record.dialogue for record in records])
    scored = [
        (metric, sums(np.stack([np.nan_to_num(column), ~np.isnan(column)], axis=1), units))
        for metric, column in zip(_METRICS, columns.values())
    ]
    values = columns["given_correctness"][~np.isnan(columns["given_correctness"])]
    with np.errstate(over="ignore"):  # if values are far out of range
        mean = float(values.mean()) if len(values) else np.nan
    return {
        "rows": len(records),
        "verifiable": int(np.nansum(columns["verifiable"])),
        "judged": int(np.count_nonzero(~np.isnan(columns["hallucination"]))),
        "hallucinated": int(np.nansum(columns["hallucination"])),
        "dialogues": len(set(units.tolist())),
        **flat(*estimates(scored, intervals)),
        "mean_correctness_as_given": mean if math.isfinite(mean) else None,
    }


def _column(records: Sequence[Response], key: str) -> NDArray[np.float64]:
    """Return the values of a field, with ``nan`` for ``None``."""
    values = (getattr(record, key) for record in records)
    return np.array([np.nan if value is None else float(value) for value in values], np.float64)


def _by(*names: str) -> Groups:
    """Return the figures by fields; files are never pooled, since their annotators differ."""
    by = {name: attrgetter(name) for name in names}
    return Groups(f"responses by {', '.join(names)}", figures, by, order=by_name)


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
            "Hallucination": lambda r: [{True: "Yes", False: "No"}.get(r.hallucination)],
            "Verifiable": lambda r: [{True: "y", False: "n"}.get(r.verifiable)],
            CORRECTNESS: lambda record: [record.given_correctness],
        },
        texts=fields("context", "knowledge", "response"),
        tables={
            "file": _by("file"),
            "model_type": _by("file", "model_type"),
            "decoding": _by("file", "decoding"),
            "model_type_decoding": _by("file", "model_type", "decoding"),
            "verifiable_only": Groups(
                "responses by file; only judgements of verifiable responses are used",
                partial(figures, verifiable_only=True),
                {"file": attrgetter("file")},
                order=by_name,
            ),
        },
        notes={_AS_GIVEN: lambda _: True},
    ),
    views={
        "hallucination": View(
            "responses compared with knowledge and dialogue; p is 1 if the annotators found a "
            "hallucination",
            lambda record: _point(record, record.hallucination),
            lambda record: record.dialogue,
        ),
        "correctness": View(
            "responses compared with knowledge and dialogue; p is 1 minus the mean correctness",
            lambda record: _point(record, _incorrectness(record)),
            lambda record: record.dialogue,
        ),
    },
)
