"""Aligning predictions with the gold, by id or by order, and the problems that only this shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.printing import counted
from shroom.core.problems import Problems
from shroom.scoring.column_checks import check_doubled, check_has_ids
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_names import Name
from shroom.scoring.item_values import normalised
from shroom.scoring.kinds.base import Columns
from shroom.scoring.kinds.registry import kind_of
from shroom.scoring.table import TEXTS, Table


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
    is_order_shown : bool
        Whether ids or texts show of every row whose it is; otherwise the order is trusted.
    """

    gold: Table
    rows: NDArray[np.intp]
    is_order_shown: bool = True

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
    is_shown = True
    if gold.ids is None:
        is_shown = _check_order(predictions, gold, problems)
        rows = np.arange(gold.n) if predictions.n == gold.n else None
    elif gold.has_id is not None:  # the gold's own error
        rows = None
    else:
        rows = _rows_by_id(predictions, gold.ids, gold.file, problems)
    if rows is None:
        return Track(name, predictions, gold, in_sample=0, edition=edition)
    return AlignedTrack(name, predictions, gold, 0, edition, rows, is_order_shown=is_shown)


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
    if not any(map(any, gold.texts or ())):
        expected = "predictions, for gold that has texts"
        description = f"texts here, and none in {gold.file}"
        problems.add("swapped", predictions.file, expected, description)


def _check_order(predictions: Table, gold: Table, problems: Problems) -> bool:
    """Report rows out of the order of gold without ids, and return whether all texts show it.

    Ids that number the rows otherwise are worth a look, and other ids show nothing, since the data
    of a task need not have them in order.
    """
    own, target = _texts(predictions, gold)
    differing = [
        row
        for row, texts in enumerate(zip(own, target))
        if any(text not in (None, other) for text, other in zip(*texts))
    ]
    code, found, ids = "order", "texts that no row of it has,", predictions.ids
    if moved := _of_other_rows(own, target, differing):
        differing, found = moved, "the texts of other rows"
        code = "order-texts" if predictions.n == gold.n else code
    elif ids is not None and predictions.numbered and not any(map(any, own)):
        differing = np.flatnonzero(ids != ids.min() + np.arange(predictions.n)).tolist()
        found = "ids that number the rows otherwise,"
    if differing:
        place = {"index": differing[0], "id": predictions.id_at(differing[0])}
        expected = f"the order of {gold.file}, which has no ids"
        found += f" on {counted(len(differing), 'item')}, first here"
        problems.add(code, predictions.file, expected, found, **place)
    return bool(own) and all(map(any, own))


def _texts(predictions: Table, gold: Table) -> tuple[list[Any], list[Any]]:
    """Return the texts that both have, row by row: ``None`` where the predictions lack one.

    Those of a key are as they are if the gold has each of them, else in their normal form. The
    targets may be a system's own, so they count only beside other texts, and if the gold has them.
    """
    columns: list[tuple[list[str | None], list[str | None]]] = []
    for key, texts in zip(TEXTS, zip(zip(*predictions.texts or ()), zip(*gold.texts or ()))):
        own, target = list(texts[0]), [text or "" for text in texts[1]]
        if any(own) and any(target):
            if _has_others(own, target):
                own, target = ([text and normalised(text) for text in it] for it in (own, target))
            if key != "tgt" or (columns and not _has_others(own, target)):
                columns.append((own, target))
    return list(zip(*(own for own, _ in columns))), list(zip(*(target for _, target in columns)))


def _has_others(own: Sequence[str | None], target: Sequence[str | None]) -> bool:
    return bool(set(Counter(own) - Counter(target)) - {None})


def _of_other_rows(own: list[Any], target: list[Any], rows: list[int]) -> list[int]:
    """Return those of ``rows`` whose texts are, all of them, those of another row of the gold."""
    known: dict[tuple[int, ...], set[Any]] = {}
    moved = []
    for row in rows:
        keys = tuple(k for k, text in enumerate(own[row]) if text is not None)
        if keys not in known:
            known[keys] = {tuple(texts[k] for k in keys) for texts in target}
        if tuple(own[row][k] for k in keys) in known[keys]:
            moved.append(row)
    return moved


@dataclass(frozen=True)
class RestoredOrder:
    """The order of the gold or the data, for rows of predictions that are in another one.

    Attributes
    ----------
    rows : list of int
        The place of each row now.
    source : str
        What shows the order.
    doubt : str
        Why the order is not known; empty if it is.
    """

    rows: list[int]
    source: str
    doubt: str = ""

    @classmethod
    def of(cls, predictions: Table, gold: Table, rows: Sequence[Any]) -> RestoredOrder:
        """Return the order by ids or, for gold without ids, by texts or ids that number the rows.

        Rows with the same texts may be exchanged only if they are the same in all: ``rows`` are
        those of the predictions.
        """
        own, target, source = _keys(predictions, gold)
        if own == target:
            return cls(
                list(range(len(own))), source, "" if own else "not all rows have their texts"
            )
        places, wanted = _places(own), _places(target)
        other = sum(len(it) for key, it in places.items() if len(wanted.get(key, ())) != len(it))
        if other:
            return cls([], source, f"{counted(other, 'row')} cannot be placed by the texts")
        if any(rows[place] != rows[it[0]] for it in places.values() for place in it):
            return cls([], source, "rows with the same texts do not show which is which")
        return cls([places[key].pop(0) for key in target], source)


def _keys(predictions: Table, gold: Table) -> tuple[list[Any], list[Any], str]:
    """Return the keys of the rows, as they are and as they should be, and where that is from."""
    ids = [] if predictions.ids is None else predictions.ids.tolist()
    if gold.ids is not None:
        return ids, gold.ids.tolist(), gold.file
    own, target = _texts(predictions, gold)
    if not own:
        return ids, sorted(ids) if predictions.numbered else ids, "their ids"
    keys = [k for k in range(len(own[0])) if all(texts[k] is not None for texts in own)]
    if not keys:
        return [], [], gold.file
    own, target = ([tuple(texts[k] for k in keys) for texts in it] for it in (own, target))
    return own, target, gold.file


def _places(keys: Sequence[Any]) -> dict[Any, list[int]]:
    places: dict[Any, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return places
