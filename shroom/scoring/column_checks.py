"""Checks of whole columns of predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Label
from shroom.core.printing import counted
from shroom.core.problems import EachRow, Problem
from shroom.metrics.base import Array
from shroom.metrics.correlation import rho
from shroom.scoring.kinds.base import Found
from shroom.scoring.rows import P, Rows

#: The distance of p from the share of the votes up to which it counts as rounded.
_ROUNDED = 0.01
#: A correlation this many standard errors from 0 is clear, unless it is below ``_WEAK``, as for a
#: weak system. It is clipped to ``_SURE``, because 1 would be infinitely clear.
_CLEAR, _WEAK, _SURE = 3, 0.1, 0.999
#: The minimum number of items to see a direction, and the number that is enough.
_FEWEST, _ENOUGH = 10, 20_000
_EXPECTED = {
    "label-against-p": "p that agrees with the labels",
    "label-inverted": "labels that agree with the gold",
    "p-inverted": "p that rises with the gold's p",
    "p-reversed": "p that rises with the gold's p",
    "p-confidence": "the probability of Hallucination, whichever label the item has",
    "label-votes": 'the majority of "labels"',
    "p-votes": 'the share of Hallucination in "labels"',
}


def check_columns(table: Rows) -> Found:
    """Yield problems of whole columns of predictions."""
    p, label = table.p, table.label
    has_label = (label >= 0) & ~np.isnan(p)

    def contradiction(row: int) -> Problem:
        expected = f'p {">=" if label[row] else "<="} 0.5 for "{_word(table, row)}"'
        return table.problem("label-p", expected, repr(float(p[row])), row, P)

    yield EachRow(np.flatnonzero(has_label & _clash(label, p)), contradiction)
    if table.n < 2 or not has_label.all():
        return
    if np.all(label == label[0]):
        yield table.problem("label-constant", "both labels", f'"{_word(table, 0)}" in every item')
    if np.all(p == p[0]):
        found = f"{float(p[0])!r} in every item"
        yield table.problem("p-constant", "different values", found, key=P)


def _word(table: Rows, row: int) -> str:
    words = table.labels or tuple(label.value for label in Label)
    return words[1 - int(table.label[row])]


def _clash(label: Array, p: Array) -> NDArray[np.bool_]:
    return np.asarray(((label == 1) & (p < 0.5)) | ((label == 0) & (p > 0.5)))


def check_pair_direction(track: Any) -> Iterator[Problem]:
    """Yield swapped labels, inverted p, and p that is the confidence in the item's own label."""
    # With gold if the gold is consistent, else by labels and p of the predictions alone.
    of_gold = [] if track.gold is None else [*_check_direction(track.gold)]
    yield from of_gold
    is_consistent = "label-against-p" not in {problem.code for problem in of_gold}
    columns = track.columns if is_consistent and hasattr(track, "rows") else None
    yield from _check_direction(track.predictions, columns)


def _check_direction(table: Rows, columns: Sequence[Array] | None = None) -> Iterator[Problem]:
    # After the changes that the warnings advise, none of them is reported again.
    unknown = np.full(table.n, -1, np.int8), np.full(table.n, np.nan)
    columns = columns or (table.label, table.p, *unknown)
    rows = np.flatnonzero((columns[0] >= 0) & ~np.isnan(columns[1]))
    if len(rows) < _FEWEST:
        return
    step = 1 + len(rows) // _ENOUGH
    label, p, gold_label, gold_p = (column[rows[::step]] for column in columns)
    of_items = f"of {len(rows)} items"
    against = f"p that contradicts the label in {np.sum(_clash(label, p)) * step} {of_items}"
    correlation = rho(p[~np.isnan(gold_p)], gold_p[~np.isnan(gold_p)])
    inverted = against if np.isnan(correlation) else f"a correlation of {correlation:.2f}"
    side = "at most" if p.max() <= 0.5 else "at least"
    is_two_sided = p.min() < 0.5 < p.max()
    found = {
        "label-against-p": against,
        "label-inverted": f"other labels in {np.sum(label == 1 - gold_label) * step} {of_items}",
        "p-confidence": inverted if is_two_sided else f"p of {side} 0.5 in all items",
    }
    for code in _directions(label, p, gold_label, gold_p):
        yield table.problem(code, _EXPECTED[code], found.get(code, inverted))


def _directions(label: Array, p: Array, gold_label: Array, gold_p: Array) -> Iterator[str]:
    """Yield the codes of necessary corrections; labels are swapped first."""
    by_label = _clearness(label, gold_label, gold_label >= 0)
    right = np.where(by_label <= -_CLEAR, 1 - label, label)  # once the labels are swapped back
    low, most = right == 0, max(10, len(p) // 2)
    is_two_sided, is_doubt = p.min() < 0.5 < p.max(), p.max() <= 0.5
    known, turned = ~np.isnan(gold_p), np.where(low != is_doubt, 1 - p, p)
    by_p, by_turned = (_clearness(values, gold_p, known) for values in (p, turned))
    if is_two_sided:  # a confidence in labels by another threshold than 1/2
        is_against = by_p < _CLEAR and _clash(right, p).sum() > most
        is_doubtful = is_against or by_p <= -_CLEAR
        least = max(abs(by_p), _CLEAR) if is_doubtful else abs(by_p) + _CLEAR
        is_confidence = abs(by_turned) > least
    else:
        is_confidence = _keeps_values(p) and _is_confidence(p, low, gold_p)
    if is_confidence:
        p, by_p = turned, by_turned
    clashing, alike = int(_clash(label, p).sum()), 0.0
    if is_two_sided or is_confidence:  # else the threshold is unknown
        alike = float(np.sum(p != 0.5) - 2 * clashing) / np.sqrt(len(p))
    is_contrary = is_two_sided and clashing > most
    if is_contrary and min(by_label, by_p) <= 0 and max(abs(by_label), abs(by_p)) < _CLEAR:
        yield "label-against-p"  # the gold does not show which of them is wrong
        return
    label_turn = p_turn = 1
    if min(by_label, by_p) <= -_CLEAR or is_contrary:
        # The best of four ways, by what agrees: after the change it is still the best. Nothing is
        # turned against the gold.
        of_label = (1, -1) if by_label <= 0 else (1,)
        of_p = (1, -1) if by_p <= -_CLEAR or not known.any() else (1,)
        label_turn, p_turn = max(
            ((turn, other) for other in of_p for turn in of_label),
            key=lambda way: way[0] * by_label + way[1] * by_p + way[0] * way[1] * alike,
        )
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
    """Return the rank correlation as Fisher's z over its standard error; 0 if it is weak."""
    n = int(known.sum())
    value = rho(x[known], y[known]) if n >= _FEWEST else np.nan
    if np.isnan(value) or abs(value) < _WEAK:
        return 0.0
    return float(np.arctanh(np.clip(value, -_SURE, _SURE)) * np.sqrt(n - 3))


def _keeps_values(p: Array) -> bool:
    """Return whether 1 - p has as many different values as p; tiny values vanish next to 1."""
    return len(np.unique(1 - p)) == len(np.unique(p))


def _is_confidence(p: Array, low: NDArray[np.bool_], gold_p: Array) -> bool:
    """Return whether p, all on one side of 1/2, is the confidence or doubt in the item's label."""
    # The surer of Not Hallucination, the lower is the gold's p of these, ``low``.
    if low.all() or not low.any() or not np.ptp(p):
        return False
    if p[low].max() <= p[~low].min() or p[~low].max() <= p[low].min():
        return False  # a threshold explains the labels
    is_doubt, known = p.max() <= 0.5, ~np.isnan(gold_p)
    # A low p is common, and a p of at least 1/2 is hardly anything else than a confidence.
    is_usual = is_doubt and _clearness(p, gold_p, known) > -_CLEAR
    return _clearness(p, gold_p, known & (low != is_doubt)) < (-_CLEAR if is_usual else 2)


def check_doubled(table: Rows) -> Found:
    """Yield each repeated id."""
    places = table.identified
    if table.ids is None or np.all(table.ids[places][1:] > table.ids[places][:-1]):
        return
    ids = table.ids[places]
    order = np.argsort(ids, kind="stable")
    again = order[1:][ids[order][1:] == ids[order][:-1]]

    def doubled(row: int) -> Problem:
        found = f"{table.id_at(row)} again"
        return table.problem("id-doubled", "a unique id", found, row, "id")

    yield EachRow(np.sort(places[again]), doubled)


def against_votes(gold: Rows) -> dict[str, NDArray[np.intp]]:
    """Return the rows of gold whose label or p disagrees with the annotators' labels, by code."""
    if gold.votes is None:
        return {}
    flagged, total = gold.votes.T
    share = flagged / np.maximum(total, 1)
    # An even split allows both labels, and p may be rounded. A p of nan is never odd.
    by_label = np.where(gold.label == 1, share < 0.5, share > 0.5) & (gold.label >= 0)
    odd = {"label-votes": by_label, "p-votes": np.abs(gold.p - share) > _ROUNDED}
    return {code: np.flatnonzero(rows & (total > 0)) for code, rows in odd.items()}


def check_votes(gold: Rows) -> Iterator[Problem]:
    """Yield one problem for labels and one for p if they disagree with the annotators' labels."""
    for code, rows in against_votes(gold).items():
        if len(rows):
            found = f"another value in {counted(len(rows), 'item')}; this is the first"
            key = "label" if code == "label-votes" else P
            yield gold.problem(code, _EXPECTED[code], found, int(rows[0]), key)


def check_has_ids(table: Rows, kind: str, key: str) -> Iterator[Problem]:
    """Yield a problem if no row has an id."""
    if table.ids is None and not table.has_odd_ids:
        expected = f"{'an integer' if kind == 'integer' else 'an id'} in every item"
        found = f"{counted(table.n, 'item')} without an id"
        yield table.problem("id-missing", expected, found, key=key)
