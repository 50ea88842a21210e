"""Marked characters in answers of Mu-SHROOM, scores of the floors, annotators' agreement."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from shroom.datasets.groups import Row, shares
from shroom.metrics.agreement import AGREEMENT
from shroom.metrics.intervals import Intervals, estimates
from shroom.metrics.span_arrays import Cells, Spans
from shroom.metrics.span_metrics import FLOORS, CharacterVotes, everything, scored
from shroom.scoring.results import flat

_FIGURES = ("krippendorff_alpha", "pairwise_agreement", "unanimous")
#: Maximum rounding error of a soft label.
_ROUNDED = 1e-6


def _sizes(records: Sequence[Any]) -> list[int]:
    return [len(record.model_output_text) for record in records]


def _languages(records: Sequence[Any]) -> str:
    return "+".join(sorted({record.lang for record in records}))


def figures(records: Sequence[Any], intervals: Intervals) -> Row:
    """Return the counts of marked characters, and the scores of the floors."""
    labelled = [record for record in records if record.is_labelled]
    sizes = _sizes(labelled)
    gold = _marks(labelled)
    hard = gold[0].within()
    cells = Cells(hard)
    marked = cells.sums(cells.marked(hard))
    return {
        "lang": _languages(records),
        "items": len(records),
        "labelled": len(labelled),
        "nothing_marked": sum(not record.share_marked for record in labelled),
        "characters": sum(sizes),
        "marked": int(marked.sum()),
        **shares({"marked_share": (marked, sizes)}, intervals),
        **_floors(gold, intervals),
    }


def _marks(records: Sequence[Any]) -> tuple[Spans, Spans]:
    """Return the hard and the soft spans of records as arrays."""
    sizes = _sizes(records)
    hard = Spans.of([record.hard for record in records], sizes)
    return hard, Spans.of([record.soft for record in records], sizes)


def _floors(gold: tuple[Spans, Spans], intervals: Intervals) -> Row:
    """Return the scores of the floors, such as ``flag_everything_iou``."""
    row: Row = {}
    lengths = gold[0].lengths.tolist()
    for name, floor in FLOORS.items():
        marked = floor(lengths)
        scores = flat(*estimates(scored((marked, marked), gold), intervals))
        row |= {f"{name.replace(' ', '_')}_{key}": value for key, value in scores.items()}
    return row


def agreement(records: Sequence[Any], intervals: Intervals) -> Row:
    """Return the agreement of annotators; each answer has at least two annotators."""
    sizes = _sizes(records)
    annotators = [len(record.annotations) for record in records]
    votes = CharacterVotes.of(_sides(records), annotators)
    return {
        "lang": _languages(records),
        "items": len(records),
        "characters": sum(sizes),
        "annotators": max(annotators),
        **flat(*estimates([votes.by_text(AGREEMENT[name]) for name in _FIGURES], intervals)),
        "labels_as_annotated": _labels_as_annotated(records),
    }


def _sides(records: Sequence[Any]) -> list[Spans]:
    """Return the spans of the first annotator of every record, of the second, and so on."""
    most = max((len(record.annotations) for record in records), default=0)
    return [
        Spans.of(
            [next(islice(record.annotations.values(), n, None), ()) for record in records],
            _sizes(records),
        )
        for n in range(most)
    ]


def _labels_as_annotated(records: Sequence[Any]) -> float | None:
    """Return the share of characters whose soft label equals the share of annotators."""
    labelled = [record for record in records if record.is_labelled]
    sizes = _sizes(labelled)
    annotators = np.array([len(record.annotations) for record in labelled], np.int64)
    sides = [side.within() for side in _sides(labelled)]
    labels = _marks(labelled)[1].within()
    cells = Cells(labels, everything(sizes), *sides)
    marked = sum(cells.marked(side).astype(np.float64) for side in sides)
    near = np.abs(cells.painted(labels) - marked / annotators[cells.text]) <= _ROUNDED
    total = sum(sizes)
    return float(cells.sums(near).sum()) / total if total else None
