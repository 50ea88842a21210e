"""Comparison of spans with their texts: the ends, and a repeated text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from shroom.core.printing import counted, show
from shroom.scoring.item_values import normalised
from shroom.scoring.kinds.base import Fault, Found

if TYPE_CHECKING:
    from shroom.scoring.align import Pair
    from shroom.scoring.rows import Rows

#: The problem code of spans with a different text, by the unit of their offsets.
_UNIT_CODES = {"": "span-text", "UTF-16 units": "span-utf16", "bytes": "span-bytes"}


class Quote(NamedTuple):
    """A span that repeats its marked text, with its key."""

    key: str
    start: int
    end: int
    text: str


def quotes(item: Mapping[str, Any]) -> Iterator[Quote]:
    """Yield the spans of a row that repeat their marked text as ``text``."""
    for key, spans in item.items():
        for place, span in enumerate(spans if isinstance(spans, list) else ()):
            text = span.get("text") if isinstance(span, dict) else None
            if isinstance(text, str) and all(
                type(span.get(end)) is int for end in ("start", "end")
            ):
                yield Quote(f"{key}[{place}]", span["start"], span["end"], text)


def other_unit(text: str, quote: Quote) -> str | None:
    """Return the unit of a span's offsets: ``None`` for characters, empty if unknown."""
    start, end = max(quote.start, 0), max(quote.end, 0)
    as_bytes, as_units = (text.encode(form, "replace") for form in ("utf-8", "utf-16-le"))
    for unit, marked in (
        (None, text[start:end]),
        ("UTF-16 units", as_units[2 * start : 2 * end].decode("utf-16-le", "replace")),
        ("bytes", as_bytes[start:end].decode("utf-8", "replace")),
    ):
        if normalised(marked) == normalised(quote.text):
            return unit
    return ""


def past_end(
    spans: Sequence[tuple[Any, ...]] | None, text: str, code: str = "span-past-end"
) -> Iterator[Fault]:
    """Yield the spans that end beyond a text."""
    for place, span in enumerate(spans or ()):
        if span[1] > len(text) and span[0] < span[1]:
            units = len(text.encode("utf-16-le", "surrogatepass")) // 2
            fits = f" ({units} UTF-16 units)" if span[1] <= units else ""
            expected = f"a span inside the {counted(len(text), 'character')} of the text{fits}"
            yield Fault(code, expected, span, f"[{place}]")


def check_texts(table: Rows, texts: Rows, codes: Mapping[str, str]) -> Found:
    """Yield spans that end beyond their text or repeat another text."""
    row_of = {} if texts is table else {texts.id_at(row): row for row in range(texts.n)}
    for row in range(table.n):
        # If the gold has no ids, rows go by their order.
        by_order = texts is table or texts.ids is None
        other = row if by_order else row_of.get(table.id_at(row), texts.n)
        if other >= texts.n:
            continue
        text = texts.columns["text"][other]
        for key, code in codes.items():
            for fault in past_end(table.columns[key][row], text, code):
                found = show(fault.value)
                yield table.problem(code, fault.expected, found, row, key + fault.part)
        for quote in table.columns["quotes"][row] if text else ():
            unit = other_unit(text, quote)
            if unit is not None:
                expected = f"the offsets of {show(quote.text)} in characters"
                found = f"the offsets of {show(text[quote.start : quote.end])}"
                if unit:
                    found = f"offsets in {unit}"
                yield table.problem(_UNIT_CODES[unit], expected, found, row, quote.key)


def check_pair(codes: Mapping[str, str], track: Pair) -> Found:
    """Yield the same problems for predictions, compared with the texts of the gold."""
    if track.gold is not None:
        yield from check_texts(track.predictions, track.gold, codes)
