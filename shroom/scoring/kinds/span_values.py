"""The rules for the spans of a row: their forms and values, and their texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from shroom.core.printing import counted, show
from shroom.metrics.span_arrays import DIGITS, MAX_END
from shroom.scoring.align import Pair
from shroom.scoring.csv_files import list_in
from shroom.scoring.item_values import id_meant, normalised, p_meant, problem_of_p, word_meant
from shroom.scoring.kinds.base import Fault, Found, Read
from shroom.scoring.rows import Rows

_ENDS = ("start", "end")
#: The problem code of spans with a different text, by the unit of their offsets.
_UNIT_CODES = {"": "span-text", "UTF-16 units": "span-utf16", "bytes": "span-bytes"}


class HardSpan(NamedTuple):
    """Characters that are marked, from ``start`` up to but not including ``end``."""

    start: int
    end: int


class SoftSpan(NamedTuple):
    """Characters that are marked with a probability, up to but not including ``end``."""

    start: int
    end: int
    prob: float


class LabelledSpan(NamedTuple):
    """Characters that are marked with a probability and the index of a label."""

    start: int
    end: int
    prob: float
    label: int


def hard_of(soft: Sequence[SoftSpan]) -> tuple[HardSpan, ...]:
    """Return the spans with a probability above 0.5, with adjacent spans merged."""
    merged: list[HardSpan] = []
    for start, end, prob in sorted(soft):
        if prob <= 0.5 or start >= end:
            continue
        if merged and start <= merged[-1].end:
            merged[-1] = HardSpan(merged[-1].start, max(end, merged[-1].end))
        else:
            merged.append(HardSpan(start, end))
    return tuple(merged)


def soft_of(hard: Sequence[HardSpan]) -> tuple[SoftSpan, ...]:
    """Return marked spans with the probability 1."""
    return tuple(SoftSpan(start, end, 1.0) for start, end in hard)


def sum_of(spans: Sequence[LabelledSpan]) -> tuple[SoftSpan, ...]:
    """Return spans that do not overlap, with the summed probability of all labels, at most 1."""
    cuts = sorted({place for span in spans for place in span[:2]})
    parts = [
        SoftSpan(start, end, min(1.0, sum(s.prob for s in spans if s.start <= start < s.end)))
        for start, end in zip(cuts, cuts[1:])
    ]
    return tuple(part for part in parts if part.prob > 0)


def share_marked(hard: Sequence[HardSpan], length: int) -> float:
    """Return the share of a text's characters that are marked; 0 for an empty text."""
    merged = hard_of(soft_of(hard))  # so that no character counts twice
    return sum(max(0, min(end, length) - start) for start, end in merged) / max(1, length)


def spans_meant(value: Any, labels: Sequence[str] = ()) -> Any:
    """Return the unambiguous meaning of spans; otherwise the value itself."""
    # Tools write spans from -1 to -1 if nothing is marked.
    listed = list_in(value) if isinstance(value, str) else value
    if not isinstance(listed, list):
        return value
    spans = [_span_meant(span, labels) for span in listed]
    spans = [span for span in spans if _ends(span) != [-1, -1]]
    return value if repr(spans) == repr(value) else spans  # 27.0 equals 27


def _span_meant(span: Any, labels: Sequence[str]) -> Any:
    def meant(key: str, value: Any) -> Any:
        if key in _ENDS:
            return id_meant(value, "integer")
        if key == "prob":
            return p_meant(value.replace(",", ".") if isinstance(value, str) else value)
        return word_meant(value, labels) if key == "label" else value

    if isinstance(span, list):
        return [meant("start", place) for place in span]
    return {key: meant(key, span[key]) for key in span} if isinstance(span, dict) else span


def _ends(span: Any) -> Any:
    return list(map(span.get, _ENDS)) if isinstance(span, dict) else span


def read_spans(
    value: Any, form: type[Any], labels: Sequence[str] = (), *, marking: bool = False
) -> Read:
    """Return the spans of a field (``None`` if null or malformed) and their problems."""
    parts = ", ".join(form._fields)
    shape = f"[{parts}]" if form is HardSpan else f"{{{parts}}}"
    if value is None and form is not LabelledSpan:
        return None, ()
    if not isinstance(value, list):
        of = "spans" if value is None else shape
        return None, (Fault("span-value", f"a list of {of}", value),)
    made: dict[str, Any] = {"start": int, "end": int, "prob": float, "label": labels.index}
    spans, faults = [], list[Fault]()
    for place, span in enumerate(value):
        values = _values(span, form)
        wrong = [Fault("span-value", shape, span)]
        if values is not None:
            wrong = [*_faults(span, values, labels, marking=marking)]
            if not wrong or [fault.code for fault in wrong] == ["span-empty"]:
                spans.append(form(*(made[part](values[part]) for part in form._fields)))
        faults += [fault._replace(part=f"[{place}]{fault.part}") for fault in wrong]
    if form is SoftSpan:
        faults += _overlaps(spans)
    # A part of the labels would be other labels.
    return tuple(spans) if len(spans) == len(value) else None, faults


def _values(span: Any, form: type[Any]) -> Mapping[str, Any] | None:
    """Return the parts of a span by their names; ``None`` if it does not have them."""
    if form is HardSpan:
        return dict(zip(_ENDS, span)) if isinstance(span, list) and len(span) == 2 else None
    return span if isinstance(span, dict) and span.keys() >= {*form._fields} else None


def _faults(
    span: Any, values: Mapping[str, Any], labels: Sequence[str], *, marking: bool
) -> Iterator[Fault]:
    start, end, label = values["start"], values["end"], values.get("label")
    if labels and not (isinstance(label, str) and label in labels):
        yield Fault("word-value", f"one of {', '.join(labels)}", label, ".label")
    are_whole = type(start) is type(end) is int  # not True or 1.0
    if not (are_whole and 0 <= start <= MAX_END and 0 <= end <= MAX_END):
        yield Fault("span-value", f"integers in [0, {MAX_END}] as start and end", span)
    elif start >= end:
        code = "span-value" if marking else "span-empty"
        yield Fault(code, "start < end (this span marks nothing)", span)
    if "prob" in values:
        prob = values["prob"]
        problem = problem_of_p(prob)
        if problem is None and marking and round(prob, DIGITS) <= 0:
            problem = "p-range", "a number above 0 (a span of probability 0 marks nothing)"
        if problem is not None:
            yield Fault(*problem, prob, ".prob")


def _overlaps(spans: Sequence[SoftSpan]) -> list[Fault]:
    full = sorted(span for span in spans if span.start < span.end)
    expected = (
        "spans that do not overlap (if spans overlap, the last span in the list sets the "
        "probability)"
    )
    return [
        Fault("span-overlap", expected, [span, following])
        for span, following in zip(full, full[1:])
        if following.start < span.end
    ][:1]


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
            if isinstance(text, str) and type(span.get("start")) is type(span.get("end")) is int:
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
            expected = f"a span inside the {counted(len(text), 'character')} of the text"
            yield Fault(code, expected, span, f"[{place}]")


def check_texts(table: Rows, texts: Rows, codes: Mapping[str, str]) -> Found:
    """Yield spans that end beyond their text or repeat another text."""
    # If the gold has no ids, rows go by their order.
    by_order = texts is table or texts.ids is None
    names = range(texts.n) if by_order else map(texts.id_at, range(texts.n))
    text_of = dict(zip(names, texts.columns["text"]))
    for row in range(table.n):
        text = text_of.get(row if by_order else table.id_at(row))
        if text is None:
            continue
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
