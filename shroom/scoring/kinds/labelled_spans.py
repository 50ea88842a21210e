"""Marked spans of characters with probabilities and labels, as in SHROOM-Visions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.labelled_spans import METRICS, LabelledSpans
from shroom.scoring.editions.edition import Edition
from shroom.scoring.kinds.base import Columns, Fault, Field, Fields, Found, Kind, Read, named
from shroom.scoring.kinds.span_values import (
    LabelledSpan,
    check_pair,
    check_texts,
    read_spans,
    spans_meant,
)
from shroom.scoring.rows import Role, Rows

LABELS, VOTES = "labels", "raw_annots"
#: The word for an annotator who marked nothing.
NOTHING = "|"


def _majority_marked(votes: Any) -> Read:
    """Return whether more than half of a row's annotators marked something."""
    if not isinstance(votes, dict) or not votes:
        return None, (Fault("span-value", "the text marked by each annotator", votes),)
    texts = [text.strip() if isinstance(text, str) else "" for text in votes.values()]
    expected = (
        f'a marked text, or "{NOTHING}" if nothing is marked (any other value is read as '
        f'"{NOTHING}")'
    )
    faults = [
        Fault("vote-odd", expected, votes[annotator], f".{annotator}")
        for annotator, text in zip(votes, texts)
        if not text
    ]
    return 2 * sum(text not in ("", NOTHING) for text in texts) > len(texts), faults


def _fields(edition: Edition, role: Role) -> list[Fields]:
    labels, marking = edition.annotation.labels, role is Role.PREDICTIONS
    read = partial(read_spans, form=LabelledSpan, labels=labels, marking=marking)
    votes = Fields((Field(VOTES, _majority_marked),))
    return [Fields((Field(LABELS, read),)), *([votes] if role is Role.GOLD else [])]


def _arrays(columns: dict[str, list[Any]], edition: Edition) -> dict[str, Any]:
    """Return the spans of each text, and whether it is positive (by the votes, if any)."""
    votes = columns.get(VOTES, [None] * len(columns["text"]))
    marks = []
    for spans, text, vote in zip(columns[LABELS], columns["text"], votes):
        is_marked = any(span.start < min(span.end, len(text)) for span in spans or ())
        marks.append((spans, is_marked if vote is None else vote))
    labelled = any(spans is not None for spans in columns[LABELS])
    return {"marks": marks, "labels": edition.annotation.labels, "labelled": labelled}


def _spans(table: Rows, rows: Iterable[int], gold: Rows) -> LabelledSpans:
    texts = [table.marks[row][0] or () for row in rows]
    return LabelledSpans.of(texts, gold.lengths.tolist(), len(gold.labels))


def _columns(predictions: Rows, rows: NDArray[Any], gold: Rows) -> Columns:
    positive = np.array([mark[1] for mark in gold.marks], bool)
    marked = _spans(predictions, rows.tolist(), gold)
    return marked, None, _spans(gold, range(gold.n), gold), positive


def _trivial(gold: Rows, _edition: Edition) -> dict[str, tuple[Any, Any]]:
    counted = Counter(span.label for spans, _ in gold.marks for span in spans or ())
    label = counted.most_common(1)[0][0] if counted else 0
    lengths = gold.lengths.tolist()
    texts: dict[str, list[list[tuple[int, int, float, int]]]] = {
        "mark everything": [[(0, length, 1.0, label)] if length else [] for length in lengths],
        "mark nothing": [[] for _ in lengths],
    }
    size = len(gold.labels)
    return {name: (LabelledSpans.of(it, lengths, size), None) for name, it in texts.items()}


def _check_file(table: Rows, role: Role) -> Found:
    if role is not Role.PREDICTIONS:
        yield from check_texts(table, table, {LABELS: "span-past-end"})


#: Characters that are marked with a probability and a label. Gold may say who marked something,
#: for detection: ``raw_annots`` has the text marked by each annotator, ``|`` for nothing.
LABELLED_SPANS = Kind(
    signature="cor:characters.spearman.avg",
    labels=f'"{LABELS}"',
    fields=_fields,
    arrays=_arrays,
    columns=_columns,
    metric_names=lambda _: tuple(METRICS),
    metric=partial(named, METRICS),
    defaults=lambda _: ("cor", "iou"),
    trivial=_trivial,
    meant=lambda key, value, edition: (
        spans_meant(value, edition.annotation.labels) if key == LABELS else value
    ),
    check_file=_check_file,
    check_pair=partial(check_pair, {LABELS: "span-value"}),
    marks_texts=True,
)
