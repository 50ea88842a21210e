"""Marked spans of characters with probabilities, as in Mu-SHROOM."""

from __future__ import annotations

from functools import partial
from typing import Any

from numpy.typing import NDArray

from shroom.metrics.span_arrays import Spans
from shroom.metrics.span_metrics import FLOORS, METRICS
from shroom.scoring.editions.edition import Edition
from shroom.scoring.kinds.base import Columns, Field, Fields, Found, Kind, named
from shroom.scoring.kinds.span_values import (
    HardSpan,
    SoftSpan,
    check_pair,
    check_texts,
    hard_of,
    read_spans,
    soft_of,
    spans_meant,
)
from shroom.scoring.rows import Role, Rows

SOFT, HARD = "soft_labels", "hard_labels"
#: The key of the spans that each annotator marked.
ANNOTATIONS = "annotations"
_FIELDS = (
    Field(SOFT, partial(read_spans, form=SoftSpan)),
    Field(HARD, partial(read_spans, form=HardSpan)),
)
#: The organisers' program stops at soft ones; it takes hard ones, which count in the union.
_PAST_END = {SOFT: "span-value", HARD: "span-past-end"}


def _arrays(columns: dict[str, list[Any]], _edition: Edition) -> dict[str, Any]:
    """Return soft and hard spans; missing spans are derived from the other kind."""
    marks = []
    for soft, hard in zip(columns[SOFT], columns[HARD]):
        own_soft = soft_of(hard or ()) if soft is None else soft
        marks.append((own_soft, hard_of(soft or ()) if hard is None else hard))
    labelled = any(spans is not None for spans in (*columns[SOFT], *columns[HARD]))
    return {"marks": marks, "labelled": labelled}


def _columns(predictions: Rows, rows: NDArray[Any], gold: Rows) -> Columns:
    sides = (
        [[table.marks[row][side] for row in places] for side in (1, 0)]
        for table, places in ((predictions, rows.tolist()), (gold, range(gold.n)))
    )
    hard, soft, gold_hard, gold_soft = (Spans.of(it, gold.lengths) for side in sides for it in side)
    return hard, soft, gold_hard, gold_soft


def _trivial(gold: Rows, _edition: Edition) -> dict[str, tuple[Any, Any]]:
    return {name: (make(gold.lengths),) * 2 for name, make in FLOORS.items()}


def _check_file(table: Rows, role: Role) -> Found:
    if role is not Role.PREDICTIONS:
        yield from check_texts(table, table, _PAST_END)
    if role is not Role.GOLD:
        return
    pairs = zip(table.columns[SOFT], table.columns[HARD])
    rows = [row for row, pair in enumerate(pairs) if pair == (None, None)]
    if table.labelled and rows:
        ids = [str(table.id_at(row)) for row in rows[:5] if table.id_at(row) is not None]
        named = f": {', '.join(ids)}{', …' if len(rows) > 5 else ''}" if ids else ""
        found = f"{len(rows)} of {table.n} rows without labels{named}"
        yield table.problem("gold-unlabelled", "labels in every row", found)


#: Characters that are marked with a probability (soft), or by more than half (hard). Missing hard
#: labels are the soft ones above 0.5, with adjacent spans merged; missing soft ones are the hard
#: ones with the probability 1 (Vázquez et al. 2025, section 4, and the organisers' program).
SPANS = Kind(
    signature="rho:characters.spearman.avg",
    labels=f'"{SOFT}" or "{HARD}"',
    fields=lambda *_: [Fields(_FIELDS, either=True)],
    arrays=_arrays,
    columns=_columns,
    metric_names=lambda _: tuple(METRICS),
    metric=partial(named, METRICS),
    defaults=lambda _: ("iou", "rho"),
    trivial=_trivial,
    meant=lambda key, value, _: spans_meant(value) if key in (SOFT, HARD) else value,
    check_file=_check_file,
    check_pair=partial(check_pair, _PAST_END),
    marks_texts=True,
    keys=(
        *("lang", "model_input", "model_output_text", "model_id", "model_output_tokens"),
        *("model_output_logits", "wikipedia_url", ANNOTATIONS),
    ),
)
