"""Checks of whole columns of predictions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Label
from shroom.core.problems import Problems
from shroom.scoring.table import P, Table

#: The distance of p from the share of the votes up to which it counts as rounded.
_ROUNDED = 0.01


def check_columns(table: Table, problems: Problems) -> None:
    """Report problems of whole columns of predictions."""
    p, label, file = table.p, table.label, table.file
    has_label, rows = _has_label(table), _against(table)

    def contradiction(row: int) -> dict[str, object]:
        expected = f'p {">=" if label[row] else "<="} 0.5 for "{_word(label[row])}"'
        return {
            "expected": expected,
            "found": repr(float(p[row])),
            "id": table.id_at(row),
            "key": P,
        }

    problems.add_rows("label-p", file, rows, contradiction)
    check_inverted(table, problems)
    if table.n < 2:
        return
    if np.all(has_label) and np.all(label == label[0]):
        problems.add("label-constant", file, "both labels", f'"{_word(label[0])}" on every item')
    if np.all(has_label) and np.all(p == p[0]):
        problems.add("p-constant", file, "p that differs", f"{float(p[0])!r} on every item", key=P)
    check_doubled(table, problems)


def _word(label: np.int8) -> str:
    return str((Label.HALLUCINATION if label else Label.NOT_HALLUCINATION).value)


def _has_label(table: Table) -> NDArray[np.bool_]:
    return (table.label >= 0) & ~np.isnan(table.p)


def _against(table: Table) -> NDArray[np.intp]:
    """Return the rows whose p is against their label."""
    below, above = (table.label == 1) & (table.p < 0.5), (table.label == 0) & (table.p > 0.5)
    return np.flatnonzero(_has_label(table) & (below | above))


def check_inverted(table: Table, problems: Problems) -> None:
    """Report predictions or gold whose p is against their own labels on most items."""
    n, against = int(_has_label(table).sum()), len(_against(table))
    if against > max(10, n // 2):
        description = f"p against the label in {against} of {n} items"
        problems.add("p-inverted", table.file, "p that agrees with the labels", description)


def check_doubled(table: Table, problems: Problems) -> None:
    """Report each id that occurs again."""
    if table.ids is None:
        return
    ids = table.ids if table.has_id is None else table.ids[table.has_id]
    if np.all(ids[1:] > ids[:-1]):
        return
    places = np.arange(table.n) if table.has_id is None else np.flatnonzero(table.has_id)
    order = np.argsort(ids, kind="stable")
    again = order[1:][ids[order][1:] == ids[order][:-1]]
    rows = np.sort(places[again])

    def doubled(row: int) -> dict[str, object]:
        id_ = table.id_at(row)
        return {"expected": "an id of its own", "found": f"{id_} again", "id": id_, "key": "id"}

    problems.add_rows("id-doubled", table.file, rows, doubled)


def against_votes(gold: Table) -> dict[str, NDArray[np.intp]]:
    """Return the rows of gold whose label or p is not what the annotators' labels say, by code."""
    if gold.votes is None:
        return {code: np.zeros(0, np.intp) for code in ("label-votes", "p-votes")}
    flagged, total = gold.votes.T
    share = flagged / np.maximum(total, 1)
    by_label = np.where(gold.label == 1, share < 0.5, share > 0.5) & (gold.label >= 0)
    by_p = np.abs(gold.p - share) > _ROUNDED  # False where p is nan
    return {
        code: np.flatnonzero(odd & (total > 0))
        for code, odd in (("label-votes", by_label), ("p-votes", by_p))
    }


def check_votes(gold: Table, problems: Problems) -> None:
    """Report gold whose label or p is not what the annotators' labels say, each kind in one line.

    Parameters
    ----------
    gold : Table
        Labelled rows. A label may be either where the votes are evenly split, and p may be rounded.
    problems : Problems
        Gets ``label-votes`` and ``p-votes``, with the count and the first place.
    """
    against = against_votes(gold)
    for code, key, expected in (
        ("label-votes", "label", "the majority of its labels"),
        ("p-votes", P, "the share of its labels"),
    ):
        rows = against[code]
        if len(rows):
            first = int(rows[0])
            place = {"index": first, "id": gold.id_at(first), "key": key}
            items = "item" if len(rows) == 1 else "items"
            description = f"another one in {len(rows)} {items}, first here"
            problems.add(code, gold.file, expected, description, **place)


def check_has_ids(predictions: Table, problems: Problems, id_kind: str = "integer") -> bool:
    """Return whether any row has an id, with a problem where none has."""
    file = predictions.file
    if predictions.ids is None and not problems.count("id-integer", file):
        expected = f"{'an integer' if id_kind == 'integer' else 'an id'} on every item"
        description = f"none on {predictions.n} items"
        problems.add("id-missing", file, expected, description, key="id")
    return predictions.ids is not None
