"""Alignment of predictions with the gold, by id or by order, and the problems that it reveals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.printing import counted
from shroom.core.problems import EachRow, Problem
from shroom.scoring.column_checks import check_doubled, check_has_ids
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_names import Name
from shroom.scoring.item_values import normalised
from shroom.scoring.kinds.base import Columns, Found, kind_of
from shroom.scoring.rows import TEXTS, Rows


@dataclass(frozen=True, eq=False)
class Pair:
    """The predictions of one file and their gold, not aligned."""

    name: Name
    predictions: Rows
    #: The gold, or the unlabelled data; ``None`` if neither was given.
    gold: Rows | None
    #: The number of items that the detector was fitted on.
    in_sample: int
    edition: Edition


@dataclass(frozen=True, eq=False)
class AlignedPair(Pair):
    """Predictions with exactly one row for each row of the gold."""

    gold: Rows
    #: The row of the predictions for each row of the gold.
    rows: NDArray[np.intp]

    @property
    def alignment(self) -> str:
        """How the rows were aligned: ``"id"`` or ``"order"``."""
        return "order" if self.gold.ids is None else "id"

    @property
    def is_order_shown(self) -> bool:
        """Whether ids or texts confirm the alignment of every row."""
        own = [] if self.gold.ids is not None else _texts(self.predictions, self.gold)[0]
        return self.gold.ids is not None or (bool(own) and all(map(any, own)))

    @property
    def columns(self) -> Columns:
        """The inputs of a metric: label, p, gold label and gold p, in the gold's order."""
        return kind_of(self.edition).columns(self.predictions, self.rows, self.gold)


def align(name: Name, predictions: Rows, gold: Rows, edition: Edition) -> Pair:
    """Return predictions aligned with gold; not aligned if problems prevent it."""
    rows = np.full(1, -1)
    if gold.ids is None and predictions.n == gold.n:
        rows = np.arange(gold.n)
    elif gold.ids is not None and gold.has_id is None and predictions.ids is not None:
        rows = _rows_by_id(predictions, gold.ids)
    if np.any(rows < 0):
        return Pair(name, predictions, gold, in_sample=0, edition=edition)
    return AlignedPair(name, predictions, gold, 0, edition, rows)


def _rows_by_id(predictions: Rows, ids: NDArray[Any]) -> NDArray[np.intp]:
    """Return the row of the predictions with each id; -1 for a missing id."""
    rows = predictions.identified
    own = predictions.ids[rows]
    if np.array_equal(own, ids):
        return rows
    order = np.argsort(own, kind="stable")
    place = np.minimum(np.searchsorted(own[order], ids), len(order) - 1)
    return np.where(own[order][place] == ids, rows[order][place], -1)


def check_pair(track: Pair) -> Found:
    """Yield the problems that only a comparison with the gold shows."""
    edition, predictions, gold = track.edition, track.predictions, track.gold
    if gold is None and any(it.ids for it in edition.splits if it.name == track.name.split):
        yield from check_has_ids(predictions, edition.item.id, edition.item.id_key)
    if gold is not None:
        yield from check_doubled(gold)
        if predictions.n != gold.n and not predictions.has_broken_lines:
            expected = f"{counted(gold.n, 'item')}, as in {gold.file}"
            yield predictions.problem("count", expected, f"{predictions.n}")
        yield from _check_roles(predictions, gold)
        if gold.ids is None:
            yield from _check_order(predictions, gold)
        elif gold.has_id is None:  # otherwise, this is an error of the gold
            yield from check_has_ids(predictions, edition.item.id, edition.item.id_key)
            yield from _check_ids(predictions, gold)
    yield from kind_of(edition).check_pair(track)


def _check_ids(predictions: Rows, gold: Rows) -> Found:
    n, expected = gold.n, f"predictions for all {counted(gold.n, 'id')} in {gold.file}"
    rows = np.arange(n) if predictions.ids is None else _rows_by_id(predictions, gold.ids)
    moved = np.flatnonzero(rows != np.arange(n))
    if predictions.ids is None or (not len(moved) and predictions.n == n):
        return
    missing = gold.ids[rows < 0]
    if len(missing):
        first = ", ".join(map(str, missing[:5].tolist())) + (", …" if len(missing) > 5 else "")
        found = f"none for {counted(len(missing), 'id')}: {first}"
        yield predictions.problem("ids-missing", expected, found, key="id")
    yield unknown_ids(predictions, np.isin(predictions.ids, gold.ids), gold.file)
    if len(moved) and not len(missing) and predictions.n == n and gold.ids.dtype.kind == "i":
        row, expected = int(moved[0]), f"the order of {gold.file} (rows are aligned by id anyway)"
        found = f"id {predictions.id_at(row)} in place of id {gold.ids[row]}"
        yield predictions.problem("order", expected, found, row)


def unknown_ids(table: Rows, is_known: NDArray[np.bool_], files: str) -> EachRow:
    """Return the problems of rows whose ids are not in the gold."""
    rows = table.identified[~is_known[table.identified]]

    def unknown(row: int) -> Problem:
        expected = f"an id in {files}"
        return table.problem("id-unknown", expected, f"{table.id_at(row)}", row, "id")

    return EachRow(rows, unknown)


def _check_roles(predictions: Rows, gold: Rows) -> Found:
    """Yield predictions with texts for gold without texts, which are probably swapped."""
    if predictions.texts is not None and gold.labelled and not any(map(any, gold.texts or ())):
        is_gold = predictions.has_votes and (gold.votes is None or not gold.votes.any())
        code, has = ("gold-first", "votes and texts") if is_gold else ("swapped", "texts")
        found = f"{has} here, but none in {gold.file}"
        yield predictions.problem(code, "the submission first and the gold last", found)


def _check_order(predictions: Rows, gold: Rows) -> Found:
    """Yield rows that are not in the order of gold without ids, by texts or by row numbers."""
    # Other ids show nothing, because the data of a task need not be sorted by id.
    own, target = _texts(predictions, gold)
    differing = [
        row
        for row, texts in enumerate(zip(own, target))
        if any(text not in (None, other) for text, other in zip(*texts))
    ]
    code, found, ids = "order", "unknown texts", predictions.ids
    if moved := _of_other_rows(own, target, differing):
        differing, found = moved, "the texts of other rows"
        code = "order-texts" if predictions.n == gold.n else code
    elif ids is not None and predictions.numbered and not any(map(any, own)):
        differing = np.flatnonzero(ids != ids.min() + np.arange(predictions.n)).tolist()
        found = "ids that are row numbers, but not in the order of the rows"
    if differing:
        expected = f"the order of {gold.file}, which has no ids"
        found += f" in {counted(len(differing), 'item')}; this is the first"
        yield predictions.problem(code, expected, found, differing[0])


def _texts(predictions: Rows, gold: Rows) -> tuple[list[Any], list[Any]]:
    """Return the texts that both have, row by row; ``None`` for a text missing in predictions."""
    # A system may write its own targets, so these only count with other texts, and if in the gold.
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
    """Return the ``rows`` with exactly the texts of another row of the gold."""
    known, moved = dict[Any, set[Any]](), []
    for row in rows:
        keys = [k for k, text in enumerate(own[row]) if text is not None]
        if tuple(keys) not in known:
            known[tuple(keys)] = {tuple(texts[k] for k in keys) for texts in target}
        if tuple(own[row][k] for k in keys) in known[tuple(keys)]:
            moved.append(row)
    return moved


def restored_order(
    predictions: Rows, gold: Rows, rows: Sequence[Any]
) -> tuple[list[int], str, str]:
    """Return the current row for each place, the source of the order, or why it is unknown."""
    # Rows with the same texts can be sorted only if they are identical.
    own, target, source = _keys(predictions, gold)
    if own == target:
        return [*range(len(own))], source, "" if own else "not all rows have texts"
    wanted, places = Counter(target), dict[Any, list[int]]()
    for place, key in enumerate(own):
        places.setdefault(key, []).append(place)
    other = sum(len(it) for key, it in places.items() if wanted[key] != len(it))
    if other:
        doubt = f"the position of {counted(other, 'row')} cannot be determined from the texts"
        return [], source, doubt
    if any(rows[place] != rows[it[0]] for it in places.values() for place in it):
        return [], source, "rows with the same texts cannot be told apart"
    return [places[key].pop(0) for key in target], source, ""


def _keys(predictions: Rows, gold: Rows) -> tuple[list[Any], list[Any], str]:
    """Return the current and the correct keys of the rows, and the source of the order."""
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
