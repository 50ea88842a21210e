"""The hardest items of several systems, with their texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shroom.difficulty import hardest
from shroom.problems import InvalidInput

if TYPE_CHECKING:
    from shroom.contest import Contest
    from shroom.datapoint import Datapoint
    from shroom.difficulty import Item
    from shroom.documents import Source

#: What p is rounded to before its distances are compared, so that equal ones tie.
_DIGITS = 9


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
    every = {item.row: item for item in hardest(contest, contest.systems[0])}
    distance = np.zeros(contest.gold.n)
    for track in contest.tracks.values():
        distance += np.abs(track.columns[1] - track.columns[3])
    far = (distance / len(contest.tracks)).round(_DIGITS)
    share = np.array([every[row].difficulty for row in range(contest.gold.n)])
    rows = np.lexsort((np.arange(contest.gold.n), -far, -share))[:count].tolist()
    points = _datapoints(contest, gold) if rows else None
    return [HardItem(every[row], points[row] if points else None) for row in rows]


def _datapoints(contest: Contest, gold: Source) -> list[Datapoint] | None:
    """Return the gold's datapoints, or ``None`` where its rows have no texts to show."""
    from shroom.datasets.semeval2024 import read_files

    file = contest.gold.file
    try:
        files = read_files(gold, choose=lambda found: [each for each in found if each.file == file])
    except InvalidInput:
        return None
    points = [point for each in files for point in each.datapoints]
    ids = contest.gold.ids
    if len(points) != contest.gold.n:
        return None
    if ids is not None and [point.id for point in points] != ids.tolist():
        return None
    return points
