"""The rows of files of Mu-SHROOM as records, with everything odd reported at its place."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shroom.core.problems import show
from shroom.datasets import rows
from shroom.datasets.mushroom2025.records import KEYS, HardSpan, Record, SoftSpan
from shroom.metrics.span_arrays import MAX_END
from shroom.scoring.item_values import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from shroom.core.problems import Problems

_SOFT_KEYS = {"start", "end", "prob"}


@dataclass(frozen=True)
class Fields(rows.Row):
    """One row while it is read.

    Attributes
    ----------
    strict : bool
        Whether malformed labels are errors, as in what is scored, or odd, as in data.
    """

    strict: bool = False

    def hard_labels(self) -> tuple[HardSpan, ...] | None:
        """Return the hard labels; ``None`` where they are absent, null or malformed."""
        return self.hard(self.item.get("hard_labels"), "hard_labels")

    def hard(self, value: object, key: str) -> tuple[HardSpan, ...] | None:
        """Return a field of [start, end] pairs; ``None`` as for :meth:`hard_labels`."""
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

    def soft_labels(self) -> tuple[SoftSpan, ...] | None:
        """Return the soft labels; ``None`` as for :meth:`hard_labels`."""
        key = "soft_labels"
        values = self._list(self.item.get(key), key, "a list of {start, end, prob}")
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

    def check_ends(self, record: Record, length: int) -> None:
        """Report the labels of a record that do not end in the text."""
        # The organisers' program stops at soft ones; it takes hard ones, which count in the union.
        code = "span-value" if self.strict else "row-odd"
        self.past_end(record.soft_labels or (), "soft_labels", length, code)
        self.past_end(record.hard_labels or (), "hard_labels", length, "row-odd")

    def past_end(self, spans: Sequence[tuple[Any, ...]], key: str, length: int, code: str) -> None:
        """Report the spans that do not end in the text."""
        for place, span in enumerate(spans):
            if span[1] > length and span[0] < span[1]:
                expected = f"a span within the {length} characters of the text"
                self.report(code, f"{key}[{place}]", expected, show(span))

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
        code = code if self.strict else "row-odd"
        self.report(code, key + part, expected + rest, show(value))

    def _places(self, start: Any, end: Any, key: str, place: int, span: object) -> bool:
        are_integers = type(start) is int and type(end) is int  # not True or 1.0
        if are_integers and 0 <= start < end <= MAX_END:
            return True
        if not are_integers or not (0 <= start <= MAX_END and 0 <= end <= MAX_END):
            expected = f"whole numbers in [0, {MAX_END}] as start and end"
            self._malformed(key, f"[{place}]", expected, span)
            return False
        self.report("row-odd", f"{key}[{place}]", "start < end (it marks nothing)", show(span))
        return True

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
                self.report("row-odd", key, expected, show([span, following]))
                return


class RowReader(rows.RowReader[Record]):
    """Reads the rows of one file; ``strict`` as of :class:`Fields`."""

    def __init__(
        self,
        file: str,
        problems: Problems,
        first: dict[Hashable, str] | None = None,
        *,
        strict: bool = False,
    ) -> None:
        super().__init__(file, problems, first)
        self.strict = strict

    def row(self, index: int, item: Any) -> Fields:
        """Return an item with its place."""
        item = item if isinstance(item, dict) else {}
        row_id = item.get("id")
        row_id = row_id if isinstance(row_id, str) and row_id else None
        return Fields(item, index, self.file, self.problems, row_id, strict=self.strict)

    def read(self, row: rows.Row) -> Record:
        """Return the record of a row."""
        assert isinstance(row, Fields)  # noqa: S101 - for mypy; see row
        if "model_output_text" not in row.item:
            raise rows.Unusable("model_output_text", "a text", f"keys {show(list(row.item))}")
        # null and NaN are empty texts, as tables write them.
        row.need("model_output_text", _is_text_or_none, "a text")
        record = Record(
            id=self._id(row),
            lang=self._lang(row),
            model_input=_text(row, "model_input"),
            model_output_text=_text(row, "model_output_text"),
            model_id=_text(row, "model_id"),
            soft_labels=row.soft_labels(),
            hard_labels=row.hard_labels(),
            model_output_tokens=_list(row, "model_output_tokens"),
            model_output_logits=_list(row, "model_output_logits"),
            wikipedia_url=_text(row, "wikipedia_url"),
            annotations=_annotations(replace(row, strict=False)),  # nothing is scored by them
        )
        self._check(row, record)
        return record

    def _id(self, row: Fields) -> str | None:
        if not isinstance(row.id, str):
            got = show(row.item["id"]) if "id" in row.item else "none"
            self.share(row, "id", "an id", got)
            return None
        first = self.earlier(row, row.id)
        if first:
            row.report("id-doubled", "id", "each id once", f"{row.id}, as in {first}")
        return row.id

    def _lang(self, row: Fields) -> str:
        lang = _text(row, "lang")
        if lang != lang.upper():
            self.share(row, "lang", f"{lang.upper()} (read so)", show(lang))
        return lang.upper()

    def _check(self, row: Fields, record: Record) -> None:
        length = len(record.model_output_text)
        tokens, logits = len(record.model_output_tokens), len(record.model_output_logits)
        if row.item["model_output_text"] == "":  # null and NaN are reported before
            row.odd("model_output_text", "an answer", "an empty text")
        if tokens != logits:
            row.odd("model_output_logits", f"as many logits as the {tokens} tokens", f"{logits}")
        row.check_ends(record, length)
        for annotator, spans in record.annotations.items():
            row.past_end(spans, f"annotations.{annotator}", length, "row-odd")
        for key in row.item.keys() - KEYS:
            self.share(row, key, "the keys of the data set", show(key))
        content = (record.lang, record.model_id, record.model_input, record.model_output_text)
        first = self.earlier(row, (self.file, *content))
        if first:
            row.report("row-doubled", None, "each answer once", f"the same texts as {first}")


def _is_text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, (str, float))


def _text(row: Fields, key: str) -> str:
    """Return a text, which may be absent."""
    text: str = row.text(key) if key in row.item else ""
    return text


def _list(row: Fields, key: str) -> tuple[Any, ...]:
    """Return a list, which may be absent."""
    if row.item.get(key) is None:
        return ()
    return tuple(row.take(key, rows.is_list, "a list (read as empty)", ()))


def _annotations(row: Fields) -> dict[str, tuple[HardSpan, ...]]:
    """Return what each annotator marked, by name; the hub's copy has a list of objects instead."""
    value = row.item.get("annotations")
    if rows.is_objects(value):
        value = {
            str(annotation.get("annotator_id")): annotation.get("labels") for annotation in value
        }
    if value is None or isinstance(value, dict):
        by_name = {
            name: () if spans is None else row.hard(spans, f"annotations.{name}")
            for name, spans in (value or {}).items()
        }
        return {name: spans for name, spans in by_name.items() if spans is not None}
    row.odd("annotations", "spans by annotator (left out)")
    return {}
