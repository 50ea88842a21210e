"""Mu-SHROOM by file: what is marked, what the floors score, and how far annotators agree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np

from shroom.datasets.collection import FileRecords
from shroom.datasets.contents import Contents, Row, Table, counted, lengths, named, shares
from shroom.datasets.mushroom2025.reader import Record, share_marked
from shroom.metrics.agreement import AGREEMENT
from shroom.metrics.intervals import Intervals, estimates
from shroom.metrics.span_arrays import Cells, Spans
from shroom.metrics.span_metrics import FLOORS, CharacterVotes, everything, scored
from shroom.scoring.results import flat

_FIGURES = ("krippendorff_alpha", "pairwise_agreement", "unanimous")
#: How far a soft label may be from the annotators' share by rounding.
_ROUNDED = 1e-6
_NOT_THE_SAME = (
    "agreement is of the spans in annotations, every character an item; the labels are not always "
    "these annotators' shares: labels_as_annotated is the share of the characters where they are"
)


def marks(records: Sequence[Record], lengths: Sequence[int]) -> tuple[Spans, Spans]:
    """Return the hard and the soft spans of records as arrays."""
    hard = Spans.of([record.hard for record in records], lengths)
    return hard, Spans.of([record.soft for record in records], lengths)


def contents(files: Sequence[FileRecords], intervals: Intervals) -> Contents:
    """Return what the answers hold; intervals resample answers."""
    records: list[Record] = [record for file in files for record in file.records]
    rows = [{"file": name, **_row(answers, intervals)} for name, answers in named(files)]
    voted = [(name, _voted(answers)) for name, answers in named(files)]
    agreement = [
        {"file": name, **_agreement(answers, intervals)} for name, answers in voted if answers
    ]
    return Contents(
        labels={
            "answers": counted(map(_kind, records)),
            "characters": {
                "marked": sum(row["marked"] for row in rows),
                "not marked": sum(row["characters"] - row["marked"] for row in rows),
            },
        },
        lengths=lengths(
            {
                key: [getattr(record, key) for record in records]
                for key in ("model_input", "model_output_text")
            }
        ),
        tables={
            "file": Table(
                "characters that are hard-labelled, and the scores of systems that know nothing",
                ("file", "lang"),
                rows,
            )
        },
        agreement=Table("agreement on characters", ("file", "lang"), agreement)
        if agreement
        else None,
        notes=(_NOT_THE_SAME,) if agreement else (),
    )


def _kind(record: Record) -> str:
    if not record.is_labelled:
        return "unlabelled"
    return "something marked" if share_marked(record) else "nothing marked"


def _languages(records: Sequence[Record]) -> str:
    return "+".join(sorted({record.lang for record in records}))


def _row(records: Sequence[Record], intervals: Intervals) -> Row:
    labelled = [record for record in records if record.is_labelled]
    sizes = [len(record.model_output_text) for record in labelled]
    gold = marks(labelled, sizes)
    hard = gold[0].within()
    cells = Cells(hard)
    marked = cells.sums(cells.marked(hard))
    return {
        "lang": _languages(records),
        "items": len(records),
        "labelled": len(labelled),
        "nothing_marked": sum(not share_marked(record) for record in labelled),
        "characters": sum(sizes),
        "marked": int(marked.sum()),
        **shares({"marked_share": (marked, sizes)}, intervals),
        **_floors(gold, intervals),
    }


def _floors(gold: tuple[Spans, Spans], intervals: Intervals) -> Row:
    """Return what systems that know nothing score, as ``flag_everything_iou`` and so on."""
    row: Row = {}
    lengths = gold[0].lengths.tolist()
    for name, floor in FLOORS.items():
        marked = floor(lengths)
        scores = flat(*estimates(scored((marked, marked), gold), intervals))
        row |= {f"{name.replace(' ', '_')}_{key}": value for key, value in scores.items()}
    return row


def _voted(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if len(record.annotations) > 1]


def _agreement(records: Sequence[Record], intervals: Intervals) -> Row:
    sizes = [len(record.model_output_text) for record in records]
    annotators = [len(record.annotations) for record in records]
    sides = [
        Spans.of([_of_annotator(record, place) for record in records], sizes)
        for place in range(max(annotators))
    ]
    votes = CharacterVotes.of(sides, annotators)
    return {
        "lang": _languages(records),
        "items": len(records),
        "characters": sum(sizes),
        "annotators": max(annotators),
        **flat(*estimates([votes.by_text(AGREEMENT[name]) for name in _FIGURES], intervals)),
        "labels_as_annotated": _labels_as_annotated(records),
    }


def _of_annotator(record: Record, place: int) -> Sequence[Sequence[float]]:
    """Return the spans of the annotator at a place of a record's; none where there are fewer."""
    return next(islice(record.annotations.values(), place, None), ())


def _labels_as_annotated(records: Sequence[Record]) -> float | None:
    """Return the share of the characters whose soft label is that of the annotators who marked."""
    labelled = [record for record in records if record.is_labelled]
    sizes = [len(record.model_output_text) for record in labelled]
    annotators = np.array([len(record.annotations) for record in labelled], np.int64)
    sides = [
        Spans.of([_of_annotator(record, place) for record in labelled], sizes).within()
        for place in range(max(annotators, default=0))
    ]
    labels = marks(labelled, sizes)[1].within()
    cells = Cells(labels, everything(sizes), *sides)
    marked = sum(cells.marked(side).astype(np.float64) for side in sides)
    near = np.abs(cells.painted(labels) - marked / annotators[cells.text]) <= _ROUNDED
    total = sum(sizes)
    return float(cells.sums(near).sum()) / total if total else None
