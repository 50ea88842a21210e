"""Predictions for Mu-SHROOM, their alignment with the gold, and their IoU and rho by language.

JSON Lines of ``{"id": …, "soft_labels": [{"start", "end", "prob"}], "hard_labels": [[start,
end]]}``, with either or both kinds of labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shroom.core import json_reading
from shroom.core.problems import InvalidInput, Problems, show
from shroom.datasets import rows
from shroom.datasets.mushroom2025.reader import NAME, read_files
from shroom.datasets.mushroom2025.records import KEYS, Record
from shroom.datasets.mushroom2025.rows import Fields
from shroom.datasets.mushroom2025.rows import RowReader as GoldReader
from shroom.datasets.native_scores import (
    NativeResult,
    NativeScore,
    point_scores,
    read_gold,
    signature,
)
from shroom.metrics.intervals import DEFAULT_INTERVALS, Intervals, estimates
from shroom.metrics.span_arrays import Spans
from shroom.metrics.span_metrics import FLOORS, Marks, scored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shroom.core.paths import Source
    from shroom.datasets.collection import Collection

    #: A prediction, as a record without texts, and the row that it was read from.
    Prediction = tuple[Record, Fields]

#: The keys that a gold row is scored by.
_SCORED = ("model_output_text", "soft_labels", "hard_labels")


@dataclass(frozen=True)
class Aligned:
    """Both sides of a comparison, about the same answers in the order of the gold.

    Attributes
    ----------
    records : list of Record
        The gold.
    gold, predicted : Marks
        What each side marks, for :func:`shroom.metrics.span_metrics.scored`.
    """

    records: list[Record]
    gold: Marks
    predicted: Marks


def marks(records: Sequence[Record], lengths: Sequence[int]) -> Marks:
    """Return the spans of records or predictions as arrays."""
    hard = Spans.of([record.hard for record in records], lengths)
    return Marks(hard, Spans.of([record.soft for record in records], lengths))


def score(
    predictions: Source, gold: Source, how: Intervals = DEFAULT_INTERVALS, limit: int | None = 20
) -> NativeScore:
    """Return the scores of marked spans for each gold file with predictions.

    See ``native_scores.score``; intervals resample answers.
    """
    problems = Problems(limit)
    golds = read_gold(
        lambda of_gold: read_files(gold, problems=of_gold, strict=True), problems, *_SCORED
    )
    if not any(file.records for file in golds):
        expected = "answers of language models, with labels"
        problems.add("gold-unlabelled", str(gold), expected, "none that can be used")
        raise InvalidInput(problems)
    aligned = align_files(golds, predictions, problems=problems)
    return NativeScore([_result(file, how) for file in aligned], problems, how)


def _result(aligned: Aligned, how: Intervals) -> NativeResult:
    n = len(aligned.records)
    lang = "+".join(sorted({record.lang for record in aligned.records}))
    split = "+".join(sorted({str(record.id).partition("-")[0] for record in aligned.records}))
    scores, intervals = estimates(scored(aligned.predicted, aligned.gold), how)
    lengths = aligned.gold.hard.lengths.tolist()
    labels = ((record.id, record.soft, record.hard) for record in aligned.records)
    parts = (f"lang:{lang}", "align:id", "rho:characters.spearman.avg")
    return NativeResult(
        NAME,
        part={"lang": lang, "split": split},
        counts={"n": n},
        scores=scores,
        intervals=intervals,
        slices={},
        floors={
            name: point_scores(scored(Marks.alike(floor(lengths)), aligned.gold))
            for name, floor in FLOORS.items()
        },
        signature=signature(NAME, n, labels, *parts),
    )


def align(gold: Collection[Record], *paths: Source, problems: Problems | None = None) -> Aligned:
    """Return predictions beside the gold, row by row, whatever their order.

    Parameters
    ----------
    gold : Collection of Record
        As :func:`shroom.datasets.mushroom2025.reader.read` gives it; every record needs an id and
        labels.
    *paths : path or "-"
        The predictions: files, folders or zips.
    problems : Problems, optional
        Gets the warnings.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors: missing, doubled or unknown ids, no labels of
        either kind, malformed spans, probabilities outside [0, 1], soft spans beyond the text.
    """
    return align_files([gold], *paths, problems=problems)[0]


def align_files(
    golds: Sequence[Collection[Record]], *paths: Source, problems: Problems | None = None
) -> list[Aligned]:
    """Return predictions beside each gold file for which there are any; see :func:`align`.

    Where no row is for any of the files, predictions are expected for all of them.
    """
    problems = Problems() if problems is None else problems
    files = rows.read_files(paths, problems, _PredictionReader)
    by_id = {str(pair[0].id): pair for _, pairs in files for pair in pairs if pair is not None}
    predicted = [gold for gold in golds if any(record.id in by_id for record in gold.records)]
    predicted = predicted or list(golds)
    ids = {record.id for gold in predicted for record in gold.records}
    for prediction, row in by_id.values():
        if prediction.id not in ids:
            row.report("id-unknown", "id", f"an id of {_named(predicted)}", show(prediction.id))
    place = ", ".join(map(str, paths))
    aligned = [_aligned(gold, by_id, place, problems) for gold in predicted]
    if problems.errors:
        raise InvalidInput(problems)
    return aligned


def _named(golds: Sequence[Collection[Record]]) -> str:
    return ", ".join(file for gold in golds for file in gold.files)


def _aligned(
    gold: Collection[Record], by_id: Mapping[str, Prediction], place: str, problems: Problems
) -> Aligned:
    """Return both sides, without the rows for which a prediction is missing, which is reported."""
    _check_gold(gold, problems)
    records = [record for record in gold.records if record.id is not None]
    missing = [record.id for record in records if record.id not in by_id]
    if missing:
        expected = f"all {len(records)} ids of {_named([gold])}"
        got = f"{len(missing)} missing: {_first(missing)}"
        problems.add("ids-missing", place, expected, got, key="id")
    records = [record for record in records if record.id in by_id]
    sizes = [len(record.model_output_text) for record in records]
    pairs = [by_id[str(record.id)] for record in records]
    for (prediction, row), size in zip(pairs, sizes):
        row.check_ends(prediction, size)
    return Aligned(
        records, marks(records, sizes), marks([prediction for prediction, _ in pairs], sizes)
    )


class _PredictionReader(rows.RowReader["Prediction"]):
    """Reads the predictions in one file."""

    not_an_object = "item-object"

    def row(self, index: int, item: Any) -> Fields:
        return GoldReader(self.file, self.problems, strict=True).row(index, item)

    def records(self, items: Sequence[Any]) -> list[Prediction | None]:
        records = super().records(items)
        rows.report_unknown_keys(items, set(KEYS), "the known keys", self.file, self.problems)
        return records

    def read(self, row: rows.Row) -> Prediction | None:
        assert isinstance(row, Fields)  # noqa: S101 - for mypy; see row
        item, place = row.item, {"index": row.index, "id": row.id}
        json_reading.report_doubled(item, self.file, self.problems, **place)
        soft = row.spans.soft(item.get("soft_labels"), "soft_labels")
        hard = row.spans.hard(item.get("hard_labels"), "hard_labels")
        if item.get("soft_labels") is None and item.get("hard_labels") is None:
            expected = "soft_labels, hard_labels or both"
            row.report("key-missing", None, expected, f"keys {show(list(item))}")
        if not isinstance(row.id, str):
            got = show(item["id"]) if "id" in item else "none"
            row.report("id-missing", "id", "the id of an answer, a string", got)
            return None
        first = self.earlier(row, row.id)
        if first:
            row.report("id-doubled", "id", "each id once", f"{row.id}, as in {first}")
            return None
        return Record(row.id, "", "", "", soft_labels=soft, hard_labels=hard), row


def _check_gold(gold: Collection[Record], problems: Problems) -> None:
    file = ", ".join(gold.files)
    expected: dict[str, Any] = {
        "id-missing": ("an id in every row", [r for r in gold.records if r.id is None]),
        "gold-unlabelled": ("labels in every row", [r for r in gold.records if not r.is_labelled]),
    }
    for code, (what, without) in expected.items():
        if without:
            got = f"{len(without)} of {len(gold.records)} without"
            ids = [record.id for record in without if record.id is not None]
            problems.add(code, file, what, got + (f": {_first(ids)}" if ids else ""))


def _first(ids: Sequence[str | None]) -> str:
    return ", ".join(map(str, ids[:5])) + (", …" if len(ids) > 5 else "")
