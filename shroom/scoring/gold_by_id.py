"""Finding the gold of predictions by ids, if the file names contain no track."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shroom.core.problems import Problem
from shroom.scoring.rows import Rows

if TYPE_CHECKING:
    from shroom.scoring.align import Pair
    from shroom.scoring.editions.edition import Edition
    from shroom.scoring.file_names import Name


def parts(
    predictions: Rows, golds: Sequence[Rows | None]
) -> tuple[dict[int, Rows], NDArray[np.bool_]]:
    """Return the predictions for each gold by its index, and which rows have ids of any gold."""
    owner: dict[str, int] = {}
    for place, gold in enumerate(golds):
        for row_id in set(_names(gold)):
            if owner.setdefault(row_id, place) != place:
                return {}, np.zeros(0, bool)
    of_row = np.array([owner.get(row_id, -1) for row_id in _names(predictions)], np.intp)
    there = sorted(set(of_row.tolist()) - {-1})
    found = {place: predictions.part(np.flatnonzero(of_row == place)) for place in there}
    return found, of_row >= 0


def name_by_ids(table: Rows, edition: Edition) -> Name | None:
    """Return split and track from the ids of rows, such as ``val-en-3``."""
    names = {edition.meant(row_id) for row_id in _names(table)[:: max(1, table.n - 1)]}
    return names.pop() if len(names) == 1 else None


def check_golds_differ(tracks: Iterable[Pair]) -> Iterator[Problem]:
    """Yield the problem of two prediction files whose ids belong to the same gold."""
    first: dict[str, str] = {}
    for track in tracks:
        if track.gold is None:
            continue
        predictions = track.predictions
        other = first.setdefault(track.gold.file, predictions.file)
        if other != predictions.file:
            expected = f"only one file for {track.gold.file}"
            yield predictions.problem("file-twice", expected, f"this file and {other}")


def _names(table: Rows | None) -> list[str]:
    """Return the ids of a table if they are strings."""
    if table is None or table.ids is None or table.ids.dtype.kind != "U":
        return []
    names: list[str] = table.ids.tolist()
    return names


def name_by_rows(table: Rows, edition: Edition) -> Name:
    """Return split and track of a file by its rows."""
    group = table.groups.get("model")
    by_key = edition.track_of({"model": bool(group and all(group.words))})
    return name_by_ids(table, edition) or edition.name_of("", by_key)
