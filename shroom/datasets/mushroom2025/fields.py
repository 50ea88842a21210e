"""The labels in one row of Mu-SHROOM, and reports of everything that is odd in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shroom.core.problems import show
from shroom.datasets.mushroom2025.records import HardSpan, SoftSpan
from shroom.datasets.rows import Row
from shroom.metrics.span_arrays import MAX_END
from shroom.scoring.item_values import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.core.problems import Problems


_SOFT_KEYS = {"start", "end", "prob"}


@dataclass(frozen=True)
class Fields(Row):
    """One row while it is read.

    Attributes
    ----------
    strict : bool
        Whether malformed labels are errors, as in what is scored, or odd, as in data.
    """

    strict: bool = False

    @classmethod
    def of(
        cls, item: dict[str, Any], index: int, file: str, problems: Problems, *, strict: bool
    ) -> Fields:
        """Return a row of a file, with its id if that is a text."""
        row_id = item.get("id")
        row_id = row_id if isinstance(row_id, str) and row_id else None
        return cls(item, index, file, problems, row_id, strict=strict)

    def hard(self, value: object, key: str) -> tuple[HardSpan, ...] | None:
        """Return a field of [start, end] pairs; ``None`` where it is absent, null or malformed."""
        values = self._list(value, key, "a list of [start, end]")
        if values is None:
            return None
        found = []
        for place, pair in enumerate(values):
            if not isinstance(pair, list) or len(pair) != 2:
                self._malformed(key, f"[{place}]", "[start, end]", pair)
            elif self._places(pair[0], pair[1], key, place, pair):
                found.append(HardSpan(pair[0], pair[1]))
        # A part of the labels would be other labels.
        return tuple(found) if len(found) == len(values) else None

    def soft(self, value: object, key: str) -> tuple[SoftSpan, ...] | None:
        """Return a field of {start, end, prob}; ``None`` as for :meth:`hard`."""
        values = self._list(value, key, "a list of {start, end, prob}")
        if values is None:
            return None
        found = []
        for place, span in enumerate(values):
            if not isinstance(span, dict) or not span.keys() >= _SOFT_KEYS:
                self._malformed(key, f"[{place}]", "{start, end, prob}", span)
            elif self._places(span["start"], span["end"], key, place, span):
                prob = self._prob(span["prob"], key, place)
                if prob is not None:
                    found.append(SoftSpan(span["start"], span["end"], prob))
        self._overlaps(found, key)
        return tuple(found) if len(found) == len(values) else None

    def check_ends(self, soft: Sequence[SoftSpan], hard: Sequence[HardSpan], length: int) -> None:
        """Report the labels that do not end in the text."""
        # The organisers' program stops at soft ones; it takes hard ones, which count in the union.
        self.past_end(soft, "soft_labels", length, "span-value" if self.strict else "row-odd")
        self.past_end(hard, "hard_labels", length, "row-odd")

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
        whole = type(start) is int and type(end) is int  # not True or 1.0
        if whole and 0 <= start < end <= MAX_END:
            return True
        if not whole or not (0 <= start <= MAX_END and 0 <= end <= MAX_END):
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
        for one, other in zip(full, full[1:]):
            if other[0] < one[1]:
                expected = "spans that do not overlap (the last in the list gives the probability)"
                self.report("row-odd", key, expected, show([one, other]))
                return
