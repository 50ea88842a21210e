"""Spans that repeat the text that they mark, which shows in what their ends are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from shroom.scoring.item_values import normalised

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Quote(NamedTuple):
    """A span that repeats the text that it marks, with the key that it is under."""

    key: str
    start: int
    end: int
    text: str


def quotes(item: Mapping[str, Any]) -> Iterator[Quote]:
    """Yield the spans of a row that repeat the text that they mark, as ``text``.

    Examples
    --------
    >>> list(quotes({"soft_labels": [{"start": 0, "end": 4, "prob": 1.0, "text": "Rome"}]}))
    [Quote(key='soft_labels[0]', start=0, end=4, text='Rome')]
    """
    for key, spans in item.items():
        for place, span in enumerate(spans if isinstance(spans, list) else ()):
            text = span.get("text") if isinstance(span, dict) else None
            if isinstance(text, str) and all(
                type(span.get(end)) is int for end in ("start", "end")
            ):
                yield Quote(f"{key}[{place}]", span["start"], span["end"], text)


def other_unit(text: str, quote: Quote) -> str | None:
    """Return in what the ends of a span are counted if not in characters.

    ``None`` if they are, and an empty text if they mark another text in every way of counting.

    Examples
    --------
    >>> text = "😀 was in Rome."
    >>> [other_unit(text, Quote("", start, start + 4, "Rome")) for start in (9, 10, 12, 3)]
    [None, 'UTF-16 units', 'bytes', '']
    """
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
