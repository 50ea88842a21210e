"""Predictions for Mu-SHROOM, and their alignment with the gold.

JSON Lines of ``{"id": …, "soft_labels": [{"start", "end", "prob"}], "hard_labels": [[start,
end]]}``, with either or both kinds of labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shroom.core import json_reading
from shroom.core.problems import InvalidInput, Problems, show
from shroom.datasets.collection import items_of
from shroom.datasets.mushroom2025.fields import Fields
from shroom.datasets.mushroom2025.records import KEYS, HardSpan, Record, SoftSpan, hard_of, soft_of
from shroom.datasets.rows import report_unknown_keys
from shroom.metrics.span_arrays import Spans
from shroom.metrics.span_metrics import Marks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shroom.core.paths import Source
    from shroom.datasets.collection import Collection


@dataclass(frozen=True)
class Prediction:
    """The spans that a system marks in one answer.

    Attributes
    ----------
    id : str
        The answer's.
    soft, hard : tuple of spans
        Either is made of the other where it was missing.
    soft_given, hard_given : bool
        Whether it was not.
    fields : Fields
        Where it is from, for messages.
    """

    id: str
    soft: tuple[SoftSpan, ...]
    hard: tuple[HardSpan, ...]
    soft_given: bool
    hard_given: bool
    fields: Fields


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


def marks(rows: Sequence[Record] | Sequence[Prediction], lengths: Sequence[int]) -> Marks:
    """Return the spans of records or predictions as arrays."""
    hard = Spans.of([row.hard for row in rows], lengths)
    return Marks(hard, Spans.of([row.soft for row in rows], lengths))


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

    Where no row is for any of the files, all of them count as asked for.
    """
    problems = Problems() if problems is None else problems
    found = read(*paths, problems=problems)
    by_id = {prediction.id: prediction for prediction in found}
    asked = [gold for gold in golds if any(record.id in by_id for record in gold.records)]
    asked = asked or list(golds)
    known = {record.id for gold in asked for record in gold.records}
    for prediction in found:
        if prediction.id not in known:
            expected = f"an id of {_named(asked)}"
            prediction.fields.report("id-unknown", "id", expected, show(prediction.id))
    where = ", ".join(map(str, paths))
    aligned = [_aligned(gold, by_id, where, problems) for gold in asked]
    if problems.errors:
        raise InvalidInput(problems)
    return aligned


def _named(golds: Sequence[Collection[Record]]) -> str:
    return ", ".join(file for gold in golds for file in gold.files)


def _aligned(
    gold: Collection[Record], by_id: Mapping[str, Prediction], where: str, problems: Problems
) -> Aligned:
    """Return both sides, or report what hinders it; then the rows that can be there are."""
    _check_gold(gold, problems)
    records = [record for record in gold.records if record.id is not None]
    missing = [record.id for record in records if record.id not in by_id]
    if missing:
        expected = f"all {len(records)} ids of {_named([gold])}"
        found = f"{len(missing)} missing: {_first(missing)}"
        problems.add("ids-missing", where, expected, found, key="id")
    records = [record for record in records if record.id in by_id]
    sizes = [len(record.model_output_text) for record in records]
    rows = [by_id[record.id] for record in records if record.id is not None]
    for row, size in zip(rows, sizes):
        # Labels that were not given were made of the other kind, which is reported already.
        soft, hard = row.soft if row.soft_given else (), row.hard if row.hard_given else ()
        row.fields.check_ends(soft, hard, size)
    return Aligned(records, marks(records, sizes), marks(rows, sizes))


def read(*paths: Source, problems: Problems) -> list[Prediction]:
    """Return the predictions of files, folders or zips, with all their problems reported."""
    found = []
    seen: dict[str, str] = {}
    for document, items in items_of(paths, problems):
        file = document.file
        for index, item in enumerate(items):
            if isinstance(item, dict):
                fields = Fields.of(item, index, file, problems, strict=True)
                prediction = _prediction(fields, seen)
                if prediction is not None:
                    found.append(prediction)
            elif item is not json_reading.BROKEN:
                problems.add("item-object", file, "an object", show(item), index=index)
        report_unknown_keys(items, set(KEYS), "the known keys", file, problems)
    return found


def _prediction(fields: Fields, seen: dict[str, str]) -> Prediction | None:
    item, answer = fields.item, fields.id
    json_reading.report_doubled(item, fields.file, fields.problems, index=fields.index, id=answer)
    soft = fields.soft(item.get("soft_labels"), "soft_labels")
    hard = fields.hard(item.get("hard_labels"), "hard_labels")
    if item.get("soft_labels") is None and item.get("hard_labels") is None:
        found = f"keys {show(list(item))}"
        fields.report("key-missing", None, "soft_labels, hard_labels or both", found)
    if not isinstance(answer, str):
        found = show(item["id"]) if "id" in item else "none"
        fields.report("id-missing", "id", "the id of an answer, a string", found)
        return None
    if answer in seen:
        fields.report("id-doubled", "id", "each id once", f"{answer}, as in {seen[answer]}")
        return None
    seen[answer] = f"{fields.file}: item {fields.index}"
    return Prediction(
        answer,
        soft_of(hard or ()) if soft is None else soft,
        hard_of(soft or ()) if hard is None else hard,
        soft is not None,
        hard is not None,
        fields,
    )


def _check_gold(gold: Collection[Record], problems: Problems) -> None:
    file = ", ".join(gold.files)
    expected: dict[str, Any] = {
        "id-missing": ("an id in every row", [r for r in gold.records if r.id is None]),
        "gold-unlabelled": ("labels in every row", [r for r in gold.records if not r.is_labelled]),
    }
    for code, (what, rows) in expected.items():
        if rows:
            found = f"{len(rows)} of {len(gold.records)} without"
            ids = [row.id for row in rows if row.id is not None]
            problems.add(code, file, what, found + (f": {_first(ids)}" if ids else ""))


def _first(ids: Sequence[str | None]) -> str:
    return ", ".join(map(str, ids[:5])) + (", …" if len(ids) > 5 else "")
