"""One response of the factual-consistency data, and its reading from the cells of a row."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shroom.core.problems import Problems, show
from shroom.datasets.rows import Row
from shroom.scoring.item_values import id_in, number_in

CORRECTNESS = "Avg Factual Correctness"
#: The columns in the order of the source, which is also that of the fields of a response.
COLUMNS = (
    "conv_index",
    "dial_index",
    "model_type",
    "decoding",
    "context",
    "knowledge",
    "response",
    CORRECTNESS,
    "Hallucination",
    "Verifiable",
)
#: Only one of the files has it.
OPTIONAL = ("dial_index",)
_TEXTS = ("context", "knowledge", "response")
#: The mark after each turn of a context.
TURN_END = "<br>"


@dataclass(frozen=True)
class Response:
    """One response, its input and its judgements.

    Attributes
    ----------
    file : str
        The name of the file without its ending: ``gt``, ``knn``, ``dpr`` or
        ``factual_dataset_expert``. Of the crowd's files it names the retrieval of the knowledge.
    conv_index : int or None
        The dialogue's number. In the expert file the numbers start again in its midst.
    dial_index : int or None
        Only in ``knn``; the source does not describe it.
    model_type : str
        ``GPT2-small``, ``GPT2-medium``, ``GPT2-large`` or ``GPT2-xlarge``.
    decoding : str
        ``nucleus``, ``beam search`` or ``DBS`` (diverse beam search).
    context : str
        The dialogue so far; each turn begins with ``A:`` or ``B:`` and ends with ``<br>``.
    knowledge : str
        The sentences of the model's input; may be empty.
    response : str
        The text of the model.
    given_correctness : float or None
        ``Avg Factual Correctness`` as in the file: the annotators' mean, 1 for correct.
        ``None`` where it is blank. It may be out of range; :attr:`correctness` never is.
    hallucination : bool or None
        Whether the annotators found a hallucination; ``None`` where it is blank.
    verifiable : bool or None
        Whether the response can be checked at all; ``None`` where it is blank.
    """

    file: str
    conv_index: int | None
    dial_index: int | None
    model_type: str
    decoding: str
    context: str
    knowledge: str
    response: str
    given_correctness: float | None
    hallucination: bool | None
    verifiable: bool | None

    @property
    def correctness(self) -> float | None:
        """The mean factual correctness in [0, 1]; ``None`` where it is blank or out of range."""
        value = self.given_correctness
        return value if value is not None and 0 <= value <= 1 else None

    @property
    def turns(self) -> tuple[str, ...]:
        """The turns of the context, without ``<br>`` and blanks around them."""
        parts = (part.strip() for part in self.context.split(TURN_END))
        return tuple(part for part in parts if part)

    @property
    def dialogue(self) -> tuple[int | None, str]:
        """What identifies the dialogue: its number together with its text."""
        return self.conv_index, self.context


def response_of(
    cells: Sequence[str], header: Sequence[str], stem: str, row: Row
) -> Response | None:
    """Return a row's response; ``None``, which is reported, for a row of another width."""
    if len(cells) != len(header):
        expected = f"{len(header)} fields, as the header has"
        row.report("row-width", None, expected, f"{len(cells)}")
        return None
    row = row.inner(dict(zip(header, cells)), "")
    values: tuple[Any, ...] = (
        _number(row, "conv_index"),
        _number(row, "dial_index"),
        *(row.item[name] for name in ("model_type", "decoding", *_TEXTS)),
        _correctness(row),
        _word(row, "Hallucination", {"Yes": True, "No": False}),
        _word(row, "Verifiable", {"y": True, "n": False}),
    )
    _report_blanks(row)
    for key in _TEXTS:
        if not row.item[key].strip():
            row.odd("text-odd", key, "a text", "none")
    return Response(stem, *values)


def _number(row: Row, key: str) -> int | None:
    if key not in row.item:
        return None
    value: int | None = id_in(row.item[key])
    if value is None:
        row.odd("number-odd", key, "an integer (read as none)")
    return value


def _correctness(row: Row) -> float | None:
    text = row.item[CORRECTNESS].strip()
    value = number_in(text) if text else None
    if text and (value is None or not math.isfinite(value)):
        row.odd("number-odd", CORRECTNESS, "a number in [0, 1] (read as none)", show(text))
        return None
    if value is not None and not 0 <= value <= 1:
        row.odd("number-odd", CORRECTNESS, "a number in [0, 1] (left out of all means)", text)
    return value


def _word(row: Row, key: str, words: Mapping[str, bool]) -> bool | None:
    text = row.item[key].strip()
    if text and text not in words:
        row.odd("word-odd", key, f"{' or '.join(words)} (read as none)", show(text))
    return words.get(text)


def _report_blanks(row: Row) -> None:
    """Report a judgement that is missing; a row that is not verifiable has neither."""
    verifiable = row.item["Verifiable"].strip()
    if not verifiable:
        row.odd("word-odd", "Verifiable", "y or n (read as none)", "none")
    blank = [key for key in (CORRECTNESS, "Hallucination") if not row.item[key].strip()]
    if len(blank) == 1 or (blank and verifiable == "y"):
        row.odd("judgement-missing", " and ".join(blank), "a judgement", "none")


def report_doubled(responses: Sequence[Response | None], file: str, problems: Problems) -> None:
    """Report each response that is the same as an earlier one, judgements and all."""
    seen: dict[Response, int] = {}
    for index, response in enumerate(responses):
        if response is not None and seen.setdefault(response, index) != index:
            same = f"the same as item {seen[response]}"
            problems.add("row-doubled", file, "a row of its own", same, index=index)
