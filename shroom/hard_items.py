"""The hardest items of several systems, with their texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shroom.difficulty import hardest
from shroom.problems import ShroomError
from shroom.texts import datapoints

if TYPE_CHECKING:
    from shroom.contest import Contest
    from shroom.datapoint import Datapoint
    from shroom.difficulty import Item
    from shroom.paths import Source


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
