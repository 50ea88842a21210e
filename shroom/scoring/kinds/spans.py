"""Marked spans of characters with probabilities, as in Mu-SHROOM."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from shroom.core.problems import show
from shroom.metrics.span_arrays import Spans
from shroom.metrics.span_metrics import FLOORS, IOU, RHO
from shroom.scoring.kinds.base import Columns, scores_of
from shroom.scoring.kinds.span_rows import MarkedKind, MarkedTable, SpanRows, check_against_texts
from shroom.scoring.kinds.span_values import (
    HardSpan,
    SoftSpan,
    SpanValues,
    hard_of,
    soft_of,
    spans_meant,
)
from shroom.scoring.table import Role, Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from shroom.core.problems import Problems
    from shroom.metrics.base import Metric
    from shroom.scoring.align import Track
    from shroom.scoring.editions.edition import Edition

SOFT, HARD = "soft_labels", "hard_labels"
#: Keys of the data of Mu-SHROOM, which predictions may repeat.
_DATA = (
    *("lang", "model_input", "model_output_text", "model_id", "model_output_tokens"),
    *("model_output_logits", "wikipedia_url", "annotations"),
)


@dataclass(eq=False)
class SpanTable(MarkedTable):
    """The rows of a file of texts in which spans are marked.

    Attributes
    ----------
    soft_labels, hard_labels : list of (tuple of spans or None), length n
        The spans of each row; ``None`` where it has none of that form.
    """

    soft_labels: list[tuple[SoftSpan, ...] | None] = field(default_factory=list)
    hard_labels: list[tuple[HardSpan, ...] | None] = field(default_factory=list)

    @property
    def unlabelled(self) -> list[int]:
        """The rows without labels of either form."""
        return [row for row in range(self.n) if self._has_none(row)]

    def _has_none(self, row: int) -> bool:
        return self.soft_labels[row] is None and self.hard_labels[row] is None

    @property
    def labelled(self) -> bool:
        """Whether any row has labels of either form."""
        return len(self.unlabelled) < self.n

    @cached_property
    def hard(self) -> list[tuple[HardSpan, ...]]:
        """The hard labels of each row, made of the soft ones where they are missing."""
        pairs = zip(self.soft_labels, self.hard_labels)
        return [hard_of(soft or ()) if hard is None else hard for soft, hard in pairs]

    @cached_property
    def soft(self) -> list[tuple[SoftSpan, ...]]:
        """The soft labels of each row, made of the hard ones where they are missing."""
        pairs = zip(self.soft_labels, self.hard_labels)
        return [soft_of(hard or ()) if soft is None else soft for soft, hard in pairs]

    def digest(self) -> bytes:
        """Return what identifies the annotation: the spans in the order of the ids."""
        return json.dumps([(self.soft[row], self.hard[row]) for row in self.order]).encode()


class SpanKind(MarkedKind):
    """Characters that are marked with a probability (soft), or by more than half (hard).

    Missing hard labels are the soft ones above 0.5, with adjacent spans merged; missing soft ones
    are the hard ones with the probability 1 (Vázquez et al. 2025, section 4, and the organisers'
    program).
    """

    signature = "rho:characters.spearman.avg"
    labels = f'"{SOFT}" or "{HARD}"'
    metrics: ClassVar = {metric.name: metric for metric in (IOU, RHO)}
    usual = ("iou", "rho")

    def tabulate(
        self, items: Iterable[Any], role: Role, file: str, problems: Problems, edition: Edition
    ) -> SpanTable:
        rows = SpanRows(role, file, problems, edition, SOFT, HARD, *_DATA)
        soft: list[tuple[SoftSpan, ...] | None] = []
        hard: list[tuple[HardSpan, ...] | None] = []
        for item, length, values in rows.usable(items):
            labels = {} if role is Role.DATA else item
            soft.append(values.soft(labels.get(SOFT), SOFT))
            hard.append(values.hard(labels.get(HARD), HARD))
            if role is Role.GOLD:
                _check_ends(values, soft[-1], hard[-1], length)
            elif role is Role.PREDICTIONS and item.get(SOFT) is None and item.get(HARD) is None:
                expected = f"{SOFT}, {HARD} or both"
                rows.report("key-missing", rows.places[-1], expected, list(item), form=_keys)
        table = SpanTable(**rows.columns(), soft_labels=soft, hard_labels=hard)
        if role is Role.GOLD and table.labelled and table.unlabelled:
            _report_unlabelled(table, problems)
        return table

    def columns(self, predictions: Table, rows: NDArray[Any], gold: Table) -> Columns:
        assert isinstance(predictions, SpanTable)  # noqa: S101 - for mypy
        assert isinstance(gold, SpanTable)  # noqa: S101 - for mypy
        order = rows.tolist()
        return (
            Spans.of([predictions.hard[row] for row in order], gold.lengths),
            Spans.of([predictions.soft[row] for row in order], gold.lengths),
            Spans.of(gold.hard, gold.lengths),
            Spans.of(gold.soft, gold.lengths),
        )

    def meant(self, key: str, value: Any, edition: Edition) -> Any:
        del edition
        return spans_meant(value) if key in (SOFT, HARD) else value

    def floors(
        self, gold: Table, metrics: Iterable[Metric], edition: Edition
    ) -> dict[str, dict[str, float | None]]:
        del edition
        assert isinstance(gold, SpanTable)  # noqa: S101 - for mypy
        hard, soft = (Spans.of(spans, gold.lengths) for spans in (gold.hard, gold.soft))
        floors = {name: make(gold.lengths) for name, make in FLOORS.items()}
        return scores_of({name: (it, it, hard, soft) for name, it in floors.items()}, metrics)

    def check_aligned(self, track: Track, problems: Problems) -> None:
        predictions = track.predictions
        assert isinstance(predictions, SpanTable)  # noqa: S101 - for mypy
        soft, hard = predictions.soft_labels, predictions.hard_labels

        def check(values: SpanValues, row: int, length: int) -> None:
            _check_ends(values, soft[row], hard[row], length)

        check_against_texts(track, problems, check)


def _check_ends(
    values: SpanValues,
    soft: tuple[SoftSpan, ...] | None,
    hard: tuple[HardSpan, ...] | None,
    length: int,
) -> None:
    # The organisers' program stops at soft ones; it takes hard ones, which count in the union.
    values.past_end(soft or (), SOFT, length, "span-value")
    values.past_end(hard or (), HARD, length, "span-past-end")


def _report_unlabelled(gold: SpanTable, problems: Problems) -> None:
    rows = gold.unlabelled
    ids = [str(gold.id_at(row)) for row in rows[:5] if gold.id_at(row) is not None]
    more = ", …" if len(rows) > 5 else ""
    got = f"{len(rows)} of {gold.n} without" + (f": {', '.join(ids)}{more}" if ids else "")
    problems.add("gold-unlabelled", gold.file, "labels in every row", got)


def _keys(keys: list[str]) -> str:
    return f"keys {show(keys)}"


SPANS = SpanKind()
