"""The items in which two golds differ, and what each of them does to scores and ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Label
from shroom.evaluation.contest import Contest
from shroom.evaluation.two_golds import TwoGolds
from shroom.metrics.base import Metric
from shroom.metrics.rank_intervals import ranks
from shroom.scoring.table import Table

Columns = tuple[Any, Any]
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
        The annotation in each gold, as ``label`` and ``p``.
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
    """The scores and ranks of a contest's systems, whatever the gold says of one of its rows."""

    def __init__(self, contest: Contest, metrics: Sequence[Metric]) -> None:
        self.metrics = metrics
        self.columns = [track.columns for track in contest.tracks.values()]
        self.gold: Columns = self.columns[0][2:]
        self.n = contest.gold.n
        self.usual = [contest.statistics(metric) for metric in metrics]

    def scores(self, row: int | None = None, gold: Columns | None = None) -> NDArray[np.float64]:
        """Return the scores, shape [metrics, systems], with another gold, or without one row."""
        weights = np.ones((1, self.n))
        statistics = self.usual
        if gold is not None:
            statistics = [
                [metric.statistics(label, p, *gold) for label, p, *_ in self.columns]
                for metric in self.metrics
            ]
        elif row is not None:
            weights[0, row] = 0
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
            if all(_same(a[old_row], b[new_row]) for a, b in zip(old.gold, new.gold)):
                continue
            gold = tuple(_replaced(a, old_row, b[new_row]) for a, b in zip(old.gold, new.gold))
            kind, pair = "changed", (before, old.scores(gold=gold))
        elif old_row >= 0:
            kind, pair = "removed", (before, old.scores(row=old_row))
        else:
            kind, pair = "added", (new.scores(row=new_row), after)
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
        _annotation(golds.old, old_row) if old_row >= 0 else None,
        _annotation(golds.new, new_row) if new_row >= 0 else None,
        int(np.sum(ranks_by(ranking, before) != ranks_by(ranking, after))),
        {metric.name: float(change) for metric, change in zip(metrics, changes)},
        _texts(table, row),
    )


def _annotation(contest: Contest, row: int) -> dict[str, Any]:
    """Return what the gold says of an item, as plain values."""
    _, _, label, p = next(iter(contest.tracks.values())).columns
    value = _plain(label[row])
    return {"label": _WORDS.get(value) if isinstance(value, int) else value, "p": _plain(p[row])}


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _texts(table: Table, row: int) -> dict[str, str] | None:
    if table.texts is None:
        return None
    texts = {key: text for key, text in zip(("hyp", "src"), table.texts[row]) if text}
    return texts or None


def _same(a: Any, b: Any) -> bool:
    """Return whether two annotations are equal; an undefined p equals another one."""
    first, second = _plain(a), _plain(b)
    return bool(first == second or (first != first and second != second))


def _replaced(column: Any, row: int, value: Any) -> Any:
    """Return a copy of a column with another value in one row."""
    copied = column.copy()
    copied[row] = value
    return copied
