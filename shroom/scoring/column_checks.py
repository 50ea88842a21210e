"""Checks of whole columns of predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Label
from shroom.core.problems import Problems
from shroom.metrics.base import Array
from shroom.metrics.correlation import rho
from shroom.scoring.table import P, Table

#: The distance of p from the share of the votes up to which it counts as rounded.
_ROUNDED = 0.01
#: How many standard deviations from 0 a correlation is no longer chance, and how small it tells
#: of a weak system rather than of a direction; 1 itself would be infinitely clear.
_CLEAR, _WEAK, _SURE = 3, 0.1, 0.999
#: The fewest items that show a direction, and how many are enough.
_FEWEST, _ENOUGH = 10, 20_000
_EXPECTED = {
    "label-against-p": "p that agrees with the labels",
    "label-inverted": "the labels of the gold",
    "p-inverted": "p that rises with the gold's",
    "p-reversed": "p that rises with the gold's",
    "p-confidence": "the probability of Hallucination, also for the other label",
}


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
    return np.flatnonzero(_has_label(table) & _clash(table.label, table.p))


def _clash(label: Array, p: Array) -> NDArray[np.bool_]:
    return np.asarray(((label == 1) & (p < 0.5)) | ((label == 0) & (p > 0.5)))


def check_own_direction(table: Table, problems: Problems) -> None:
    """Report labels and p that contradict each other on most items, without gold."""
    unknown = np.full(table.n, -1, np.int8), np.full(table.n, np.nan)
    check_direction(table, (table.label, table.p, *unknown), problems)


def check_direction(table: Table, columns: Sequence[Array], problems: Problems) -> None:
    """Report exchanged labels, inverted p, and p that is the confidence in the item's own label.

    Predictions that are changed as these warnings say get none of them again.

    Parameters
    ----------
    table : Table
        The predictions, for messages.
    columns : sequence of array, shape [n]
        Label and p, then those of the gold: -1 and ``nan`` where they are unknown.
    problems : Problems
        Gets ``label-inverted``, ``p-inverted`` (or ``p-reversed``, if 1 - p would make different p
        equal) and ``p-confidence``, or ``label-against-p`` if nothing shows which is wrong.
    """
    label, p, _, _ = columns
    rows = np.flatnonzero((label >= 0) & ~np.isnan(p))
    if len(rows) < _FEWEST:
        return
    step = 1 + len(rows) // _ENOUGH
    label, p, gold_label, gold_p = (column[rows[::step]] for column in columns)
    against = f"p against the label in {np.sum(_clash(label, p)) * step} of {len(rows)} items"
    correlation = rho(p[~np.isnan(gold_p)], gold_p[~np.isnan(gold_p)])
    inverted = against if np.isnan(correlation) else f"a correlation of {correlation:.2f}"
    side = "at most" if p.max() <= 0.5 else "at least"
    is_two_sided = p.min() < 0.5 < p.max()
    found = {
        "label-against-p": against,
        "label-inverted": f"other ones on {np.sum(label == 1 - gold_label) * step} of {len(rows)}",
        "p-inverted": inverted,
        "p-reversed": inverted,
        "p-confidence": inverted if is_two_sided else f"p of {side} 0.5 on all items",
    }
    for code in _directions(label, p, gold_label, gold_p):
        problems.add(code, table.file, _EXPECTED[code], found[code])


def _directions(label: Array, p: Array, gold_label: Array, gold_p: Array) -> Iterator[str]:
    """Yield the codes of what has to be turned; labels are exchanged first."""
    by_label = _clearness(label, gold_label, gold_label >= 0)
    low = label == (by_label <= -_CLEAR)  # Not Hallucination, once the labels are right
    is_two_sided, is_doubt = p.min() < 0.5 < p.max(), p.max() <= 0.5
    is_confidence = not is_two_sided and _keeps_values(p) and _is_confidence(p, low, gold_p)
    known, turned = ~np.isnan(gold_p), np.where(low != is_doubt, 1 - p, p)
    by_p, by_turned = (_clearness(values, gold_p, known) for values in (p, turned))
    if is_two_sided:  # a confidence in labels by another threshold than 1/2
        is_against = by_p < _CLEAR and _clash(label, p).sum() > max(10, len(p) // 2)
        is_doubtful = is_against or by_p <= -_CLEAR
        is_confidence = abs(by_turned) - abs(by_p) > (0 if is_doubtful else _CLEAR)
    if is_confidence:
        p, by_p = turned, by_turned
    clashing, alike = int(_clash(label, p).sum()), 0.0
    if is_two_sided or is_confidence:  # else the threshold is unknown
        alike = float(np.sum(p != 0.5) - 2 * clashing) / np.sqrt(len(p))
    label_turn = p_turn = 1
    if min(by_label, by_p) <= -_CLEAR or (is_two_sided and clashing > max(10, len(p) // 2)):
        # The best of four ways, by what agrees: after the change it is still the best.
        ways = ((1, 1), (-1, 1), (1, -1), (-1, -1))
        label_turn, p_turn = max(
            ways, key=lambda way: way[0] * by_label + way[1] * by_p + way[0] * way[1] * alike
        )
    if by_label == by_p and label_turn != p_turn:
        yield "label-against-p"
        return
    if label_turn < 0:
        yield "label-inverted"
    is_inverted = p_turn < 0
    if is_confidence:
        is_inverted ^= is_doubt ^ ((label_turn < 0) != (by_label <= -_CLEAR))
    if is_inverted:
        yield "p-inverted" if _keeps_values(p) else "p-reversed"
    if is_confidence:
        yield "p-confidence"


def _clearness(x: Array, y: Array, known: NDArray[np.bool_]) -> float:
    """Return the rank correlation in standard deviations of chance, as Fisher's z; 0 if weak."""
    n = int(known.sum())
    value = rho(x[known], y[known]) if n >= _FEWEST else np.nan
    if np.isnan(value) or abs(value) < _WEAK:
        return 0.0
    return float(np.arctanh(np.clip(value, -_SURE, _SURE)) * np.sqrt(n - 3))


def _keeps_values(p: Array) -> bool:
    """Return whether 1 - p tells apart what p does; beside 1, tiny numbers are all 0."""
    return len(np.unique(1 - p)) == len(np.unique(p))


def _is_confidence(p: Array, low: NDArray[np.bool_], gold_p: Array) -> bool:
    """Return whether p on one side of 1/2 is the confidence, or the doubt, in the item's label.

    ``low`` are the items labelled Not Hallucination: the surer of it, the lower is the gold's p.
    """
    if low.all() or not low.any() or not np.ptp(p):
        return False
    if p[low].max() <= p[~low].min() or p[~low].max() <= p[low].min():
        return False  # a threshold explains the labels
    is_doubt, known = p.max() <= 0.5, ~np.isnan(gold_p)
    # A low p is common, and a p of at least 1/2 is hardly anything else than a confidence.
    is_usual = is_doubt and _clearness(p, gold_p, known) > -_CLEAR
    return _clearness(p, gold_p, known & (low != is_doubt)) < (-_CLEAR if is_usual else 2)


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
