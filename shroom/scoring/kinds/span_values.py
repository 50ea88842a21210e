"""The rules for the spans of a row: marked characters, some with a probability and a label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from shroom.metrics.span_arrays import DIGITS, MAX_END
from shroom.scoring.csv_files import list_in
from shroom.scoring.item_values import id_meant, p_meant, problem_of_p, word_meant
from shroom.scoring.kinds.base import Fault, Read

_ENDS = ("start", "end")


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
    if isinstance(span, list):
        return [id_meant(place, "integer") for place in span]
    if not isinstance(span, dict):
        return span
    meant = dict(span)
    for key in meant.keys() & {"start", "end"}:
        meant[key] = id_meant(meant[key], "integer")
    if isinstance(span.get("prob"), str):
        meant["prob"] = span["prob"].replace(",", ".")
    meant["prob"] = p_meant(meant.get("prob"))
    meant["label"] = word_meant(meant.get("label"), labels)
    return {key: meant[key] for key in span}


def _ends(span: Any) -> Any:
    return [span.get("start"), span.get("end")] if isinstance(span, dict) else span


def read_spans(
    value: Any, form: type[Any], labels: Sequence[str] = (), *, marking: bool = False
) -> Read:
    """Return the spans of a field (``None`` if null or malformed) and their problems."""
    parts = ", ".join(form._fields)
    shape = f"[{parts}]" if form is HardSpan else f"{{{parts}}}"
    if value is None and form is not LabelledSpan:
        return None, ()
    if value == []:
        return (), ()
    if not isinstance(value, list):
        of = "spans" if value is None else shape
        return None, (Fault("span-value", f"a list of {of}", value),)
    spans, faults = [], list[Fault]()
    for place, span in enumerate(value):
        values = _values(span, form)
        wrong = [Fault("span-value", shape, span)]
        if values is not None:
            wrong = [*_faults(span, values, labels, marking=marking)]
            if not wrong or [fault.code for fault in wrong] == ["span-empty"]:
                spans.append(_span(values, form, labels))
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


def _span(values: Mapping[str, Any], form: type[Any], labels: Sequence[str]) -> Any:
    ends = values["start"], values["end"]
    if form is HardSpan:
        return HardSpan(*ends)
    prob = float(values["prob"])
    if form is SoftSpan:
        return SoftSpan(*ends, prob)
    return LabelledSpan(*ends, prob, labels.index(values["label"]))


def _overlaps(spans: Sequence[SoftSpan]) -> list[Fault]:
    full = sorted(span for span in spans if span.start < span.end)
    for span, following in zip(full, full[1:]):
        if following.start < span.end:
            expected = "spans that do not overlap (the last span in the list sets the probability)"
            return [Fault("span-overlap", expected, [span, following])]
    return []
