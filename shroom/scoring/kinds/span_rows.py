"""The rows of texts in which spans are marked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shroom.core.problems import Problems, show
from shroom.scoring.column_checks import check_doubled
from shroom.scoring.kinds.base import Kind
from shroom.scoring.kinds.quotes import Quote, quotes
from shroom.scoring.kinds.rows import Rows
from shroom.scoring.kinds.span_values import SpanValues
from shroom.scoring.table import Role, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from shroom.metrics.base import Metric
    from shroom.scoring.align import Track
    from shroom.scoring.editions.edition import Edition


@dataclass(eq=False)
class MarkedTable(Table):
    """The rows of a file of texts in which spans are marked; label and p are not used.

    Attributes
    ----------
    lengths : array of int, shape [n]
        How many characters each text has; 0 in predictions, which have no texts.
    places : list of int, length n
        The place of each row in the file, for messages.
    outputs : list of str, length n
        The texts; empty in predictions.
    quotes : list of list of Quote, length n
        The spans of each row that repeat the text that they mark.
    """

    lengths: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    places: list[int] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    quotes: list[list[Quote]] = field(default_factory=list)

    def values(self, row: int, problems: Problems) -> SpanValues:
        """Return what reports problems of the spans of a row."""
        place = {"index": self.places[row], "id": self.id_at(row)}

        def report(code: str, key: str, expected: str, got: str) -> None:
            problems.add(code, self.file, expected, got, key=key, **place)

        return SpanValues(report, strict=True)


class MarkedKind(Kind):
    """A kind whose metrics and checks are the same in every edition.

    Attributes
    ----------
    metrics : mapping of Metric
        By name.
    usual : tuple of str
        The metrics that rank, unless the edition says otherwise.
    """

    metrics: ClassVar[Mapping[str, Metric]]
    usual: ClassVar[tuple[str, ...]]

    def metric_names(self, edition: Edition) -> tuple[str, ...]:
        del edition
        return tuple(self.metrics)

    def metric(self, name: str, edition: Edition) -> Metric:
        if name not in self.metrics:
            raise self.unknown_metric(name, edition)
        return self.metrics[name]

    def defaults(self, edition: Edition) -> tuple[str, ...]:
        del edition
        return self.usual

    def check_columns(self, table: Table, problems: Problems) -> None:
        check_doubled(table, problems)


class SpanRows(Rows):
    """Reads the rows of a file of texts in which spans are marked.

    Parameters
    ----------
    role, file, problems, edition, *keys
        As of :class:`~shroom.scoring.kinds.rows.Rows`. In gold, a row without a text is left out,
        and reported.
    """

    def __init__(
        self, role: Role, file: str, problems: Problems, edition: Edition, *keys: str
    ) -> None:
        unusable = "row-object" if role is Role.GOLD else "item-object"
        super().__init__(role, file, problems, edition, *keys, not_an_object=unusable)
        self.lengths: list[int] = []
        self.places: list[int] = []
        self.outputs: list[str] = []
        self.quotes: list[list[Quote]] = []

    def usable(self, items: Iterable[Any]) -> Iterator[tuple[dict[str, Any], int, SpanValues]]:
        """Yield each usable row, the length of its text, and what reads its spans."""
        for index, item in self.objects(items):
            length = 0 if self.predictions else self._length(index, item or {})
            if item is None or length is None:
                continue
            self.lengths.append(length)
            self.places.append(index)
            text, values = (
                item.get(self.key("hyp")),
                SpanValues(partial(self._report_odd, index), strict=True),
            )
            self.outputs.append(text if isinstance(text, str) and not self.predictions else "")
            self.quotes.append(list(quotes(item)))
            values.quoted(self.quotes[-1], self.outputs[-1])
            yield item, length, values

    def columns(self) -> dict[str, Any]:
        """Return the columns that do not depend on the spans, after reports about all rows."""
        ids, has_id = self.finish()
        n, rows = len(self.places), np.array(self.places, np.intp)
        has_id = None if has_id is None or has_id[rows].all() else has_id[rows]
        some = ids is not None and n > 0 and (has_id is None or has_id.any())
        return {
            "file": self.file,
            "n": n,
            "label": np.full(n, -1, np.int8),
            "p": np.full(n, np.nan),
            "ids": ids[rows] if ids is not None and some else None,
            "has_id": has_id if some else None,
            "groups": self.groups(self.places),
            "lengths": np.array(self.lengths, np.int64),
            "places": self.places,
            "outputs": self.outputs,
            "quotes": self.quotes,
        }

    def _length(self, index: int, item: dict[str, Any]) -> int | None:
        """Return the length of a row's text; ``None``, which is reported, where it has none."""
        key, read = self.key("hyp"), "a text (read as empty)"
        if not item:
            return None
        value = item.get(key)
        if key not in item or not (value is None or isinstance(value, (str, float))):
            got = show(value) if key in item else f"keys {show(list(item))}"
            self._report_odd(index, "row-value", key, "a text", got)
            return None
        if isinstance(value, str):
            if not value:
                self._report_odd(index, "answer-empty", key, "an answer", "an empty text")
            return len(value)
        is_number = value is None or math.isfinite(value)
        self._report_odd(index, "text-odd" if is_number else "value-finite", key, read, show(value))
        return 0

    def _report_odd(self, index: int, code: str, key: str, expected: str, got: str) -> None:
        self.problems.add(code, self.file, expected, got, key=key, **self.place(index))


def check_against_texts(
    track: Track, problems: Problems, check: Callable[[SpanValues, int, int], None]
) -> None:
    """Check the spans of each row of predictions against its text.

    Parameters
    ----------
    track : Track
        Predictions with gold, aligned or not.
    problems : Problems
        Gets what is wrong.
    check : callable
        ``(values, row, length)``: checks the spans of one row.
    """
    predictions, gold = track.predictions, track.gold
    assert isinstance(predictions, MarkedTable)  # noqa: S101 - for mypy
    if not isinstance(gold, MarkedTable):
        return
    row_of = {gold.id_at(row): row for row in range(gold.n)}
    for row in range(predictions.n):
        # Where the gold has no ids, rows go by their order.
        other = row if gold.ids is None else row_of.get(predictions.id_at(row), gold.n)
        if other < gold.n:
            values = replace(predictions.values(row, problems), text=gold.outputs[other])
            check(values, row, int(gold.lengths[other]))
            values.quoted(predictions.quotes[row], gold.outputs[other])
