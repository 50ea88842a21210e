"""The rules for the spans of a row: marked characters, some with a probability and a label."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from shroom.core.problems import show
from shroom.metrics.span_arrays import DIGITS, MAX_END
from shroom.scoring.csv_files import list_in
from shroom.scoring.item_values import TOLERANCE, id_meant, p_meant, word_meant
from shroom.scoring.kinds.quotes import Quote, other_unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_ENDS = ("start", "end")
_SOFT_KEYS = {*_ENDS, "prob"}
#: The code of spans that mark another text than their own, by the unit of their ends.
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
    """Characters that are marked with a probability and a label, as its place among the labels."""

    start: int
    end: int
    prob: float
    label: int


def hard_of(soft: Sequence[SoftSpan]) -> tuple[HardSpan, ...]:
    """Return what is marked by more than half, touching and overlapping spans as one.

    Examples
    --------
    >>> hard_of([SoftSpan(4, 6, 0.6), SoftSpan(0, 4, 1.0), SoftSpan(8, 9, 0.5)])
    (HardSpan(start=0, end=6),)
    """
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
    """Return marked spans with the probability 1.

    Examples
    --------
    >>> soft_of([HardSpan(0, 6)])
    (SoftSpan(start=0, end=6, prob=1.0),)
    """
    return tuple(SoftSpan(start, end, 1.0) for start, end in hard)


def sum_of(spans: Sequence[LabelledSpan]) -> tuple[SoftSpan, ...]:
    """Return spans that do not overlap, with the summed probability of all labels, at most 1.

    Examples
    --------
    >>> overlapping = [LabelledSpan(0, 4, 0.4, 0), LabelledSpan(2, 6, 0.4, 1)]
    >>> [tuple(span) for span in sum_of(overlapping)]
    [(0, 2, 0.4), (2, 4, 0.8), (4, 6, 0.4)]
    """
    cuts = sorted({place for span in spans for place in span[:2]})
    parts = [
        SoftSpan(start, end, min(1.0, sum(s.prob for s in spans if s.start <= start < s.end)))
        for start, end in zip(cuts, cuts[1:])
    ]
    return tuple(part for part in parts if part.prob > 0)


def share_marked(hard: Sequence[HardSpan], length: int) -> float:
    """Return the share of a text's characters that are marked; 0 for an empty text.

    Examples
    --------
    >>> share_marked([HardSpan(0, 3), HardSpan(2, 4)], 8)
    0.5
    """
    merged = hard_of(soft_of(hard))  # so that no character counts twice
    return sum(max(0, min(end, length) - start) for start, end in merged) / max(1, length)


def spans_meant(value: Any, labels: Sequence[str] = ()) -> Any:
    """Return spans as they can only be meant; the value itself if it has another reading.

    Spans from -1 to -1 are left out: that is how tools write that nothing is marked.

    Examples
    --------
    >>> spans_meant([[27.0, "31"], [-1, -1]])
    [[27, 31]]
    >>> spans_meant('[{"start": 0, "end": 4, "prob": "0,9"}]')
    [{'start': 0, 'end': 4, 'prob': 0.9}]
    """
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


@dataclass(frozen=True)
class SpanValues:
    """Reads the spans of one row, with a report of everything odd.

    Attributes
    ----------
    report : callable
        ``(code, key, expected, got)``: adds a problem of the row.
    strict : bool
        Whether malformed spans are errors, as in what is scored, or odd, as in data.
    text : str
        The text whose parts they mark, where it is known.

    Examples
    --------
    >>> values = SpanValues(lambda *problem: print(problem), strict=True)
    >>> values.hard([[0, 4], [6, 9]], "hard_labels")
    (HardSpan(start=0, end=4), HardSpan(start=6, end=9))
    >>> values.hard([[0, 4, 1]], "hard_labels")
    ('span-value', 'hard_labels[0]', '[start, end]', '[0, 4, 1]')
    """

    report: Callable[[str, str, str, str], None]
    strict: bool = False
    text: str = ""

    def hard(self, value: object, key: str) -> tuple[HardSpan, ...] | None:
        """Return the spans of [start, end]; ``None`` where they are null or malformed."""
        values = self._list(value, key, "a list of [start, end]")
        if values is None:
            return None
        spans = []
        for place, pair in enumerate(values):
            if not isinstance(pair, list) or len(pair) != 2:
                self._malformed(key, f"[{place}]", "[start, end]", pair)
            elif self._places(pair[0], pair[1], key, place, pair):
                spans.append(HardSpan(pair[0], pair[1]))
        # A part of the labels would be other labels.
        return tuple(spans) if len(spans) == len(values) else None

    def soft(self, value: object, key: str) -> tuple[SoftSpan, ...] | None:
        """Return the spans of {start, end, prob}; ``None`` where they are null or malformed."""
        values = self._list(value, key, "a list of {start, end, prob}")
        if values is None:
            return None
        spans = []
        for place, span in enumerate(values):
            if not isinstance(span, dict) or not span.keys() >= _SOFT_KEYS:
                self._malformed(key, f"[{place}]", "{start, end, prob}", span)
            elif self._places(span["start"], span["end"], key, place, span):
                prob = self._prob(span["prob"], key, place)
                if prob is not None:
                    spans.append(SoftSpan(span["start"], span["end"], prob))
        self._overlaps(spans, key)
        return tuple(spans) if len(spans) == len(values) else None

    def labelled(
        self, value: object, key: str, labels: Sequence[str], *, marking: bool = False
    ) -> tuple[LabelledSpan, ...] | None:
        """Return the spans of {start, end, prob, label}; ``None`` where they are malformed.

        Parameters
        ----------
        value, key
            The spans, and the key that they are under.
        labels : sequence of str
            The labels that a span may have.
        marking : bool
            Whether spans that mark nothing, because they are empty or their probability is 0 to
            eight digits, are errors: their label would count all the same.
        """
        values = self._list(value, key, "a list of {start, end, prob, label}")
        if values is None:
            return None
        spans = []
        for place, span in enumerate(values):
            if not isinstance(span, dict) or not span.keys() >= {*_SOFT_KEYS, "label"}:
                self._malformed(key, f"[{place}]", "{start, end, prob, label}", span)
                continue
            label, start, end = span["label"], span["start"], span["end"]
            is_known = isinstance(label, str) and label in labels
            if not is_known:
                expected = f"one of {', '.join(labels)}"
                self._malformed(key, f"[{place}].label", expected, label, "word-value")
            are_places = self._places(start, end, key, place, span, marking=marking)
            prob = self._prob(span["prob"], key, place)
            if marking and prob is not None and round(prob, DIGITS) <= 0:
                expected = "a number above 0 (a span of probability 0 marks nothing)"
                self._malformed(key, f"[{place}].prob", expected, span["prob"], "p-range")
                prob = None
            if is_known and are_places and prob is not None:
                spans.append(LabelledSpan(start, end, prob, labels.index(label)))
        return tuple(spans) if len(spans) == len(values) else None

    def past_end(self, spans: Sequence[tuple[Any, ...]], key: str, length: int, code: str) -> None:
        """Report the spans that do not end in a text of this length."""
        for place, span in enumerate(spans):
            if span[1] > length and span[0] < span[1]:
                units = len(self.text.encode("utf-16-le", "surrogatepass")) // 2
                fits = f" ({units} UTF-16 units)" if span[1] <= units else ""
                expected = f"a span within the {length} characters of the text{fits}"
                self.report(code, f"{key}[{place}]", expected, show(span))

    def quoted(self, quotes: Iterable[Quote], text: str) -> None:
        """Report the spans that mark another part of a text than the one that they repeat."""
        for quote in quotes:
            unit = other_unit(text, quote) if text else None
            if unit is not None:
                expected = f"the offsets of {show(quote.text)}{unit and f', not in {unit}'}"
                got = f"those of {show(text[quote.start : quote.end])}"
                self.report(_UNIT_CODES[unit], quote.key, expected, got)

    def _list(self, value: object, key: str, expected: str) -> list[Any] | None:
        if value is None or isinstance(value, list):
            return value
        self._malformed(key, "", expected, value)
        return None

    def _malformed(
        self, key: str, part: str, expected: str, value: object, code: str = "span-value"
    ) -> None:
        """Report a part of a field, or all of it, that leaves the field without labels."""
        rest = "" if self.strict else f" ({key} is left out)"
        code = code if self.strict else "span-odd"
        self.report(code, key + part, expected + rest, show(value))

    def _places(
        self, start: Any, end: Any, key: str, place: int, span: object, *, marking: bool = False
    ) -> bool:
        are_integers = type(start) is int and type(end) is int  # not True or 1.0
        if are_integers and 0 <= start < end <= MAX_END:
            return True
        if not are_integers or not (0 <= start <= MAX_END and 0 <= end <= MAX_END):
            expected = f"whole numbers in [0, {MAX_END}] as start and end"
            self._malformed(key, f"[{place}]", expected, span)
            return False
        expected = "start < end (it marks nothing)"
        if marking:
            self._malformed(key, f"[{place}]", expected, span)
        else:
            self.report("span-empty", f"{key}[{place}]", expected, show(span))
        return not marking

    def _prob(self, value: object, key: str, place: int) -> float | None:
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            code, expected = "p-number", "a number"
        elif -TOLERANCE <= value <= 1 + TOLERANCE:
            return float(value)
        elif isinstance(value, float) and not math.isfinite(value):
            code, expected = "p-finite", "a finite number"
        else:
            code, expected = "p-range", "a number in [0, 1]"
        self._malformed(key, f"[{place}].prob", expected, value, code)
        return None

    def _overlaps(self, spans: Sequence[SoftSpan], key: str) -> None:
        full = sorted(span for span in spans if span[0] < span[1])
        for span, following in zip(full, full[1:]):
            if following[0] < span[1]:
                expected = "spans that do not overlap (the last in the list gives the probability)"
                self.report("span-overlap", key, expected, show([span, following]))
                return
