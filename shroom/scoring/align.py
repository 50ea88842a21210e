"""Aligning predictions with the gold, by id or by order, and the problems that only this shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.problems import Problems
from shroom.scoring.column_checks import check_doubled, check_has_ids
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_names import Name
from shroom.scoring.kinds.base import Columns
from shroom.scoring.kinds.registry import kind_of
from shroom.scoring.table import Table


@dataclass(frozen=True, eq=False)
class Track:
    """The predictions of one file, as they were read.

    Attributes
    ----------
    name : Name
        The split and track.
    predictions : Table
        The rows of the file.
    gold : Table or None
        The gold, or the unlabelled data, that belongs to them; ``None`` where neither was given.
    in_sample : int
        The number of items that the detector was fitted on; see :mod:`shroom.scoring.in_sample`.
    edition : Edition
        The edition that they were read by.
    """

    name: Name
    predictions: Table
    gold: Table | None
    in_sample: int
    edition: Edition


@dataclass(frozen=True, eq=False)
class AlignedTrack(Track):
    """Predictions with exactly one row for each row of the gold.

    Attributes
    ----------
    gold : Table
        The gold, or the unlabelled data.
    rows : array of int, shape [gold.n]
        The row of the predictions for each row of the gold.
    """

    gold: Table
    rows: NDArray[np.intp]

    @property
    def alignment(self) -> str:
        """The way in which the rows were aligned: ``"id"`` or ``"order"``."""
        return "order" if self.gold.ids is None else "id"

    @property
    def columns(self) -> Columns:
        """The inputs of a metric: label, p, gold label and gold p, in the gold's order."""
        return kind_of(self.edition).columns(self.predictions, self.rows, self.gold)


def align(
    name: Name, predictions: Table, gold: Table, problems: Problems, edition: Edition
) -> Track:
    """Return predictions aligned with gold, or as they were read where problems prevent that."""
    check_doubled(gold, problems)
    kind_of(edition).check_gold(gold, problems)
    if predictions.n != gold.n and not problems.count("not-json", predictions.file):
        expected = f"{gold.n} items, as {gold.file} has"
        problems.add("count", predictions.file, expected, f"{predictions.n}")
    _check_roles(predictions, gold, problems)
    if gold.ids is None:
        _check_order(predictions, gold, problems)
        rows = np.arange(gold.n) if predictions.n == gold.n else None
    elif gold.has_id is not None:  # the gold's own error
        rows = None
    else:
        rows = _rows_by_id(predictions, gold.ids, gold.file, problems)
    if rows is None:
        return Track(name, predictions, gold, in_sample=0, edition=edition)
    return AlignedTrack(name, predictions, gold, in_sample=0, edition=edition, rows=rows)


def _rows_by_id(
    predictions: Table, gold_ids: NDArray[Any], gold_file: str, problems: Problems
) -> NDArray[np.intp] | None:
    """Return the row of the predictions that has each id of the gold."""
    file, ids, n = predictions.file, predictions.ids, len(gold_ids)
    check_has_ids(predictions, problems, "integer" if gold_ids.dtype.kind == "i" else "string")
    if ids is None:
        return None
    if np.array_equal(ids, gold_ids) and predictions.has_id is None:
        return np.arange(n)
    has_id = np.ones(predictions.n, bool) if predictions.has_id is None else predictions.has_id
    order = np.flatnonzero(has_id)[np.argsort(ids[has_id], kind="stable")]
    ranked = ids[order]
    place = np.minimum(np.searchsorted(ranked, gold_ids), len(ranked) - 1)
    rows, missing = order[place], gold_ids[ranked[place] != gold_ids]
    if len(missing):
        first = ", ".join(map(str, missing[:5].tolist())) + (", …" if len(missing) > 5 else "")
        expected = f"all {n} ids of {gold_file}"
        problems.add("ids-missing", file, expected, f"{len(missing)} missing: {first}", key="id")
    unknown = np.flatnonzero(has_id & ~np.isin(ids, gold_ids))

    def unknown_id(row: int) -> dict[str, object]:
        expected, id_ = f"an id of {gold_file}", predictions.id_at(row)
        return {"expected": expected, "found": f"{id_}", "id": id_, "key": "id"}

    problems.add_rows("id-unknown", file, unknown, unknown_id)
    if len(missing):
        return None
    moved = np.flatnonzero(rows != np.arange(n))
    if len(moved) and predictions.n == n and ids.dtype.kind == "i":
        row = int(moved[0])
        expected = f"the order of {gold_file} (aligned by id all the same)"
        id_ = predictions.id_at(row)
        description = f"id {id_} for id {gold_ids[row]}"
        problems.add("order", file, expected, description, index=row, id=id_)
    return rows


def _check_roles(predictions: Table, gold: Table, problems: Problems) -> None:
    """Report predictions with texts for gold without texts, which were probably exchanged."""
    if predictions.texts is None or not gold.labelled:
        return
    if not any(hyp or src for hyp, src in gold.texts or []):
        expected = "predictions, for gold that has texts"
        description = f"texts here, and none in {gold.file}"
        problems.add("swapped", predictions.file, expected, description)


def _check_order(predictions: Table, gold: Table, problems: Problems) -> None:
    """Report rows out of the order of gold without ids, by their texts or by ids that number them.

    Other ids show nothing, since the data of a task need not have them in order.
    """
    compared = [
        [a == b for a, b in zip(row_values, gold_values) if a is not None and b is not None]
        for row_values, gold_values in zip(predictions.texts or (), gold.texts or ())
    ]
    differing = np.flatnonzero([not all(equal) for equal in compared])
    description = f"other texts on {len(differing)} items, first here"
    ids = predictions.ids
    if ids is not None and predictions.numbered and not any(compared):
        differing = np.flatnonzero(ids != ids.min() + np.arange(predictions.n))
        description = f"ids that number the rows otherwise, on {len(differing)} items, first here"
    if len(differing):
        row = int(differing[0])
        expected = f"the order of {gold.file}, which has no ids"
        id_ = predictions.id_at(row)
        problems.add("order", predictions.file, expected, description, index=row, id=id_)
