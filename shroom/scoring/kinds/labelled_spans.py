"""Marked spans of characters with probabilities and labels, as in SHROOM-Visions."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.problems import show
from shroom.metrics.labelled_spans import METRICS, LabelledSpans
from shroom.scoring.kinds.base import Columns, scores_of
from shroom.scoring.kinds.span_rows import MarkedKind, MarkedTable, SpanRows, check_against_texts
from shroom.scoring.kinds.span_values import LabelledSpan, SpanValues, spans_meant
from shroom.scoring.table import Role, Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from shroom.core.problems import Problems
    from shroom.metrics.base import Metric
    from shroom.scoring.align import Track
    from shroom.scoring.editions.edition import Edition

LABELS, VOTES = "labels", "raw_annots"
#: What stands in the place of a marked text where an annotator marked nothing.
NOTHING = "|"


@dataclass(eq=False)
class LabelledTable(MarkedTable):
    """The rows of a file of texts in which spans with labels are marked.

    Attributes
    ----------
    spans : list of (tuple of LabelledSpan or None), length n
        The spans of each row; ``None`` where it has no key for them, or malformed ones.
    positive : array of bool, shape [n]
        Whether more than half of the annotators marked something; where the file has no
        annotators, whether any character is marked. False in predictions.
    labels : tuple of str
        The labels that spans may have.
    """

    spans: list[tuple[LabelledSpan, ...] | None] = field(default_factory=list)
    positive: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    labels: tuple[str, ...] = ()

    @property
    def labelled(self) -> bool:
        """Whether any row has spans, or an empty list of them."""
        return any(spans is not None for spans in self.spans)

    def digest(self) -> bytes:
        """Return what identifies the annotation: spans and votes in the order of the ids."""
        order = self.order.tolist()
        rows = [(self.spans[row], bool(self.positive[row])) for row in order]
        return json.dumps([self.labels, rows]).encode()

    def as_arrays(self, rows: Iterable[int], lengths: NDArray[np.int64]) -> LabelledSpans:
        """Return the spans of some rows as arrays, for texts of these lengths."""
        texts = [self.spans[row] or () for row in rows]
        return LabelledSpans.of(texts, lengths.tolist(), len(self.labels))


class LabelledSpanKind(MarkedKind):
    """Characters that are marked with a probability and a label.

    Gold may say who marked something, for detection: ``raw_annots`` has the marked text of each
    annotator, ``|`` for nothing.
    """

    signature = "cor:characters.spearman.avg"
    labels = f'"{LABELS}"'
    metrics = METRICS
    usual = ("cor", "iou")

    def tabulate(
        self, items: Iterable[Any], role: Role, file: str, problems: Problems, edition: Edition
    ) -> LabelledTable:
        rows, labels = SpanRows(role, file, problems, edition, LABELS), edition.annotation.labels
        is_gold, items = role is Role.GOLD, list(items)
        has = {key: any(isinstance(i, dict) and key in i for i in items) for key in (LABELS, VOTES)}
        is_scored = role is Role.PREDICTIONS or (is_gold and has[LABELS])
        spans: list[tuple[LabelledSpan, ...] | None] = []
        positive = []
        for item, length, values in rows.usable(items):
            marked = None
            if is_scored and LABELS not in item:
                rows.report_missing_key(rows.places[-1], LABELS, item)
            elif is_scored and item[LABELS] is None:
                values.report("span-value", LABELS, "a list of spans", show(None))
            elif is_scored:
                marked = values.labelled(item[LABELS], LABELS, labels, marking=not is_gold)
            if is_gold:
                values.past_end(marked or (), LABELS, length, "span-past-end")
            spans.append(marked)
            votes = _majority_marked(rows, item, values) if is_gold and has[VOTES] else None
            if votes is None:
                votes = any(span.start < min(span.end, length) for span in marked or ())
            positive.append(votes)
        return LabelledTable(
            **rows.columns(), spans=spans, positive=np.array(positive, bool), labels=labels
        )

    def columns(self, predictions: Table, rows: NDArray[Any], gold: Table) -> Columns:
        assert isinstance(predictions, LabelledTable)  # noqa: S101 - for mypy
        assert isinstance(gold, LabelledTable)  # noqa: S101 - for mypy
        marked = predictions.as_arrays(rows.tolist(), gold.lengths)
        return marked, None, gold.as_arrays(range(gold.n), gold.lengths), gold.positive

    def meant(self, key: str, value: Any, edition: Edition) -> Any:
        return spans_meant(value, edition.annotation.labels) if key == LABELS else value

    def floors(
        self, gold: Table, metrics: Iterable[Metric], edition: Edition
    ) -> dict[str, dict[str, float | None]]:
        assert isinstance(gold, LabelledTable)  # noqa: S101 - for mypy
        counted = Counter(span.label for spans in gold.spans for span in spans or ())
        label = counted.most_common(1)[0][0] if counted else 0
        lengths = gold.lengths.tolist()
        texts: dict[str, list[list[tuple[int, int, float, int]]]] = {
            "mark everything": [[(0, length, 1.0, label)] if length else [] for length in lengths],
            "mark nothing": [[] for _ in lengths],
        }
        del edition
        marked, size = gold.as_arrays(range(gold.n), gold.lengths), len(gold.labels)
        floors: dict[str, Columns] = {
            name: (LabelledSpans.of(spans, lengths, size), None, marked, gold.positive)
            for name, spans in texts.items()
        }
        return scores_of(floors, metrics)

    def check_aligned(self, track: Track, problems: Problems) -> None:
        predictions = track.predictions
        assert isinstance(predictions, LabelledTable)  # noqa: S101 - for mypy

        def check(values: SpanValues, row: int, length: int) -> None:
            values.past_end(predictions.spans[row] or (), LABELS, length, "span-value")

        check_against_texts(track, problems, check)


def _majority_marked(rows: SpanRows, item: dict[str, Any], values: SpanValues) -> bool | None:
    """Return whether more than half of a row's annotators marked something."""
    if VOTES not in item:
        rows.report_missing_key(rows.places[-1], VOTES, item)
        return None
    votes = item[VOTES]
    if not isinstance(votes, dict) or not votes:
        values.report("span-value", VOTES, "the marked text of each annotator", show(votes))
        return None
    marked = [
        isinstance(text, str) and text.strip() not in ("", NOTHING) for text in votes.values()
    ]
    for annotator, text in votes.items():
        if not isinstance(text, str) or not text.strip():
            expected = f'a marked text, or "{NOTHING}" for nothing (read so)'
            values.report("vote-odd", f"{VOTES}.{annotator}", expected, show(text))
    return 2 * sum(marked) > len(marked)


LABELLED_SPANS = LabelledSpanKind()
