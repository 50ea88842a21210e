"""The hardest items of several systems, with their texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shroom.core.problems import ShroomError
from shroom.evaluation.gold_texts import datapoints
from shroom.evaluation.item_difficulty import hardest

if TYPE_CHECKING:
    from shroom.core.datapoint import Datapoint
    from shroom.core.paths import Source
    from shroom.evaluation.item_difficulty import Item
    from shroom.evaluation.systems import Contest


@dataclass(frozen=True)
class HardItem:
    """A hard item, with its texts where the gold has them."""

    item: Item
    point: Datapoint | None


def hard_items(contest: Contest, gold: Source, count: int) -> list[HardItem]:
    """Return the items that most systems get wrong, those first whose p are farthest off.

    Parameters
    ----------
    contest : Contest
        One or more systems on one track.
    gold : path
        Where its gold was read, and is read again for the texts.
    count : int
        How many items.
    """
    items = hardest(contest, n=count)
    points = _datapoints(contest, gold) if items else None
    return [HardItem(item, points[item.row] if points else None) for item in items]


def _datapoints(contest: Contest, gold: Source) -> list[Datapoint] | None:
    """Return the gold's datapoints, or ``None`` where its rows have no texts to show."""
    try:
        return datapoints(contest, gold)
    except ShroomError:
        return None
