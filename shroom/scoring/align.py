"""Aligning predictions with the gold, by id or by order, and what shows only then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.scoring.column_checks import check_doubled, check_has_ids, check_inverted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shroom.core.problems import Problems
    from shroom.scoring.file_names import Name
    from shroom.scoring.table import Table


@dataclass(eq=False)
class Track:
    """The predictions of one file, and the gold that they are held against.

    Attributes
    ----------
    name : Name
        The split and track.
    predictions : Table
        What the file says.
    gold : Table or None
        What people said, or the unlabelled data; ``None`` where neither was given.
    align : str
        ``"id"`` or ``"order"``.
    rows : array of int, shape [gold.n], or None
        The row of the predictions for each row of the gold, where they can be aligned.
    in_sample : int
        How many items the detector was fitted on; see :mod:`shroom.scoring.in_sample`.
    """

    name: Name
    predictions: Table
    gold: Table | None = None
    align: str = "order"
    rows: NDArray[np.intp] | None = None
    in_sample: int = 0

    @property
    def columns(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """What a metric is computed from: label, p, gold label and gold p, in the gold's order."""
        assert self.gold is not None  # noqa: S101 - for mypy; what is aligned has gold
        predictions, gold = self.predictions, self.gold
        return predictions.label[self.rows], predictions.p[self.rows], gold.label, gold.p


def align(track: Track, problems: Problems) -> None:
    """Find the predictions' row for each row of the gold, reporting what hinders it."""
    predictions, gold = track.predictions, track.gold
    assert gold is not None  # noqa: S101 - for mypy
    check_doubled(gold, problems)
    check_inverted(gold, problems)
    if predictions.n != gold.n and not problems.count("not-json", predictions.file):
        expected = f"{gold.n} items, as {gold.file} has"
        problems.add("count", predictions.file, expected, f"{predictions.n}")
    _check_roles(track, problems)
    if gold.ids is None:
        _check_order(track, problems)
        if predictions.n == gold.n:
            track.rows = np.arange(gold.n)
        return
    track.align = "id"
    if gold.has_id is not None:
        return  # the gold's own error
    if check_has_ids(predictions, problems):
        _align_ids(track, problems)


def _align_ids(track: Track, problems: Problems) -> None:
    predictions, gold = track.predictions, track.gold
    assert gold is not None  # noqa: S101 - for mypy
    assert gold.ids is not None  # noqa: S101
    assert predictions.ids is not None  # noqa: S101
    if np.array_equal(predictions.ids, gold.ids) and predictions.has_id is gold.has_id is None:
        track.rows = np.arange(gold.n)
        return
    known = np.ones(predictions.n, bool) if predictions.has_id is None else predictions.has_id
    order = np.flatnonzero(known)[np.argsort(predictions.ids[known], kind="stable")]
    ranked = predictions.ids[order]
    place = np.minimum(np.searchsorted(ranked, gold.ids), len(ranked) - 1)
    missing = gold.ids[ranked[place] != gold.ids]
    if len(missing):
        first = ", ".join(map(str, missing[:5].tolist())) + (", …" if len(missing) > 5 else "")
        expected = f"all {gold.n} ids of {gold.file}"
        found = f"{len(missing)} missing: {first}"
        problems.add("ids-missing", predictions.file, expected, found, key="id")
    else:
        track.rows = order[place]
    unknown = np.flatnonzero(known & ~np.isin(predictions.ids, gold.ids))

    def stranger(row: int) -> dict[str, object]:
        said = predictions.id_at(row)
        expected = f"an id of {gold.file}"
        return {"expected": expected, "found": f"{said}", "id": said, "key": "id"}

    problems.add_rows("id-unknown", predictions.file, unknown, stranger)
    if track.rows is not None and predictions.n == gold.n:
        moved = np.flatnonzero(track.rows != np.arange(gold.n))
        if len(moved):
            row = int(moved[0])
            expected = f"the order of {gold.file} (aligned by id all the same)"
            said = predictions.id_at(row)
            found = f"id {said} for id {gold.ids[row]}"
            problems.add("order", predictions.file, expected, found, index=row, id=said)


def _check_roles(track: Track, problems: Problems) -> None:
    """Report predictions with texts for gold without: most likely each stands for the other."""
    predictions, gold = track.predictions, track.gold
    assert gold is not None  # noqa: S101 - for mypy
    if predictions.texts is None or not gold.labelled:
        return
    if not any(hyp or src for hyp, src in gold.texts or []):
        expected = "predictions, for gold that has texts"
        found = f"texts here, and none in {gold.file}"
        problems.add("swapped", predictions.file, expected, found)


def _check_order(track: Track, problems: Problems) -> None:
    """Report rows out of the order of gold without ids, as texts tell it, or ids that number them.

    Other ids tell nothing, since the data of a task need not have them in order.
    """
    predictions, gold = track.predictions, track.gold
    assert gold is not None  # noqa: S101 - for mypy
    compared = [
        [a == b for a, b in zip(said, meant) if a is not None and b is not None]
        for said, meant in zip(predictions.texts or (), gold.texts or ())
    ]
    differing = np.flatnonzero([not all(alike) for alike in compared])
    found = f"other texts on {len(differing)} items, first here"
    if not any(compared) and predictions.numbered:
        ids = predictions.ids
        assert ids is not None  # noqa: S101 - for mypy
        differing = np.flatnonzero(ids != ids.min() + np.arange(predictions.n))
        found = f"ids that number the rows otherwise, on {len(differing)} items, first here"
    if len(differing):
        row = int(differing[0])
        expected = f"the order of {gold.file}, which has no ids"
        said = predictions.id_at(row)
        problems.add("order", predictions.file, expected, found, index=row, id=said)


def check_direction(track: Track, problems: Problems) -> None:
    """Report p that runs against the gold by far more than chance."""
    gold, rows = track.gold, track.rows
    if gold is None or rows is None or len(rows) < 10:
        return
    file = track.predictions.file
    if problems.count("p-inverted", file) or problems.count("p-inverted", gold.file):
        return
    p, gold_p = track.predictions.p[rows], gold.p
    if np.isnan(p).any() or np.isnan(gold_p).any() or np.ptp(p) == 0 or np.ptp(gold_p) == 0:
        return
    dp, dg = p - p.mean(), gold_p - gold_p.mean()
    correlation = float(np.sum(dp * dg) / np.sqrt(np.sum(dp * dp) * np.sum(dg * dg)))
    if correlation * np.sqrt(len(rows) - 1) <= -3:
        found = f"a correlation of {correlation:.2f}"
        problems.add("p-inverted", file, "p that rises with the gold's", found)
