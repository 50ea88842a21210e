"""The items in which two golds differ, and what each of them does to scores and ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Label
from shroom.evaluation.contest import Contest
from shroom.evaluation.two_golds import TwoGolds
from shroom.metrics.base import Metric
from shroom.metrics.rank_intervals import ranks
from shroom.scoring.table import Table

Floats = NDArray[np.float64]
#: The columns of a gold that are no annotation.
_BESIDE = {"ids", "has_id", "texts", "votes", "lengths", "places"}
_WORDS = {1: Label.HALLUCINATION.value, 0: Label.NOT_HALLUCINATION.value}


@dataclass(frozen=True)
class ChangedItem:
    """An item in which the golds differ.

    Its effects are those of this difference alone: of the old gold with the new annotation of this
    item, or without the item; for an item that was added, of the new gold with and without it.

    Attributes
    ----------
    kind : str
        ``changed``, ``removed`` or ``added``.
    id : int, str or None
        The id, where the golds have ids.
    old_row, new_row : int or None
        The place in each gold, from 0; ``None`` where it is not in it.
    old, new : dict or None
        The annotation in each gold: ``label`` and ``p``, or what else there is for other kinds.
    ranks_changed : int
        How many systems get another rank.
    score_changes : dict of float
        The greatest change of a system's score, by metric.
    texts : dict of str or None
        ``hyp`` and ``src``, where the gold has texts.
    """

    kind: str
    id: int | str | None
    old_row: int | None
    new_row: int | None
    old: dict[str, Any] | None
    new: dict[str, Any] | None
    ranks_changed: int
    score_changes: dict[str, float]
    texts: dict[str, str] | None


class _Scorer:
    """The scores of a contest's systems, whatever the gold says of one of its rows."""

    def __init__(self, contest: Contest, metrics: Sequence[Metric]) -> None:
        self.metrics = metrics
        self.tracks = list(contest.tracks.values())
        self.usual = [contest.statistics(metric) for metric in metrics]

    def scores(self, gold: Table | None = None, without: int | None = None) -> Floats:
        """Return the scores, shape [metrics, systems], by another gold, or without one row."""
        statistics = self.usual
        if gold is not None:
            columns = [replace(track, gold=gold).columns for track in self.tracks]
            statistics = [[metric.statistics(*own) for own in columns] for metric in self.metrics]
        weights = np.ones((1, self.tracks[0].gold.n))
        if without is not None:
            weights[0, without] = 0
        return np.array(
            [metric.scores(rows, weights)[:, 0] for metric, rows in zip(self.metrics, statistics)]
        )


def changed_items(
    golds: TwoGolds, metrics: Sequence[Metric], ranking: Sequence[Metric]
) -> list[ChangedItem]:
    """Return the items in which two golds differ, those with the greatest effects first.

    Parameters
    ----------
    golds : TwoGolds
        The systems by both golds.
    metrics : sequence of Metric
        Those on which the effect is reported; the first ones are the ranking metrics.
    ranking : sequence of Metric
        The one that ranks, and the one that breaks ties, if there is one.
    """
    old, new = (_Scorer(contest, metrics) for contest in (golds.old, golds.new))
    old_rows, new_rows = golds.rows(golds.old_items), golds.rows(golds.new_items)
    before, after = old.scores(), new.scores()
    items = []
    for old_row, new_row in zip(old_rows.tolist(), new_rows.tolist()):
        if old_row >= 0 and new_row >= 0:
            gold, other = golds.old.gold, golds.new.gold
            if _annotation(gold, old_row) == _annotation(other, new_row):
                continue
            kind, pair = "changed", (before, old.scores(_mixed(gold, old_row, other, new_row)))
        elif old_row >= 0:
            kind, pair = "removed", (before, old.scores(without=old_row))
        else:
            kind, pair = "added", (new.scores(without=new_row), after)
        items.append(_item(kind, golds, old_row, new_row, *pair, metrics, ranking))
    # Sorted by what people can see; sums in another order differ by less.
    return sorted(
        items,
        key=lambda item: (
            -item.ranks_changed,
            *(-round(change, 9) for change in item.score_changes.values()),
        ),
    )


def ranks_by(
    metrics: Sequence[Metric], scores: Sequence[NDArray[np.float64]] | NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the systems' ranks by the first metric, ties by the second, if there is one.

    Parameters
    ----------
    metrics : sequence of Metric
        The metrics.
    scores : array, shape [metrics, ..., systems]
        Their scores.
    """
    ranking = 0, min(1, len(metrics) - 1)
    signs = [1 if metrics[place].higher_is_better else -1 for place in ranking]
    first, second = (sign * scores[place] for sign, place in zip(signs, ranking))
    return ranks(first, second)


def _item(
    kind: str,
    golds: TwoGolds,
    old_row: int,
    new_row: int,
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    metrics: Sequence[Metric],
    ranking: Sequence[Metric],
) -> ChangedItem:
    old, new = golds.old.gold, golds.new.gold
    table, row = (old, old_row) if new_row < 0 else (new, new_row)
    changes = np.nan_to_num(np.abs(after - before)).max(axis=1)
    return ChangedItem(
        kind,
        table.id_at(row),
        old_row if old_row >= 0 else None,
        new_row if new_row >= 0 else None,
        _annotation(old, old_row) if old_row >= 0 else None,
        _annotation(new, new_row) if new_row >= 0 else None,
        int(np.sum(ranks_by(ranking, before) != ranks_by(ranking, after))),
        {metric.name: float(change) for metric, change in zip(metrics, changes)},
        _texts(table, row),
    )


def _annotated(gold: Table) -> dict[str, Any]:
    """Return the columns of what a gold says of its items, by the names of its attributes."""
    columns = ((key.name, getattr(gold, key.name)) for key in fields(gold))
    return {
        name: column
        for name, column in columns
        if name not in _BESIDE and isinstance(column, (list, np.ndarray)) and len(column) == gold.n
    }


def _annotation(gold: Table, row: int) -> dict[str, Any]:
    """Return what the gold says of an item as plain values, without what it does not say."""
    values = {name: _plain(column[row]) for name, column in _annotated(gold).items()}
    if isinstance(values.get("label"), int):
        values["label"] = _WORDS.get(values["label"])
    return {name: value for name, value in values.items() if value is not None}


def _mixed(gold: Table, row: int, other: Table, other_row: int) -> Table:
    """Return a gold that says of one item what another gold says."""
    columns = {name: column.copy() for name, column in _annotated(gold).items()}
    theirs = _annotated(other)
    for name, column in columns.items():
        if name in theirs:
            column[row] = theirs[name][other_row]
    return replace(gold, **columns)


def _plain(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value
    return None if isinstance(value, float) and math.isnan(value) else value


def _texts(table: Table, row: int) -> dict[str, str] | None:
    if table.texts is None:
        return None
    texts = {key: text for key, text in zip(("hyp", "src"), table.texts[row]) if text}
    return texts or None
