"""Finding the gold of predictions by ids, where the names of the files do not have a track."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.problems import Problems
from shroom.scoring.table import Group, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.scoring.align import Track
    from shroom.scoring.editions.edition import Edition
    from shroom.scoring.file_names import Name


def parts(
    predictions: Table, golds: Sequence[Table | None], problems: Problems
) -> dict[int, Table]:
    """Return the rows of predictions that belong to each gold, by the gold's place.

    Parameters
    ----------
    predictions : Table
        The rows of one file.
    golds : sequence of Table or None
        All gold that there is; ``None`` for files that cannot be read.
    problems : Problems
        Gets ``id-unknown`` for rows whose ids no gold has.

    Returns
    -------
    dict of Table
        Without the golds of which there are no ids. Empty where ids are not strings, or two golds
        have the same one, so that ids show nothing.

    Examples
    --------
    >>> def table(file, *ids):
    ...     return Table(file, len(ids), np.ones(len(ids)), np.ones(len(ids)), np.array(ids))
    >>> golds, problems = [table("en", "en-1", "en-2"), table("de", "de-1")], Problems()
    >>> by_gold = parts(table("all", "de-1", "en-2", "xx-1"), golds, problems)
    >>> {place: part.ids.tolist() for place, part in by_gold.items()}
    {0: ['en-2'], 1: ['de-1']}
    >>> print(next(iter(problems)))
    all: item 2 (id xx-1): id: expected an id of en, de, got xx-1 [id-unknown]
    """
    owner: dict[str, int] = {}
    for place, gold in enumerate(golds):
        for row_id in set(_names(gold)):
            if owner.setdefault(row_id, place) != place:
                return {}
    of_row = np.array([owner.get(row_id, -1) for row_id in _names(predictions)], np.intp)
    there = sorted(set(of_row.tolist()) - {-1})
    if there:
        files = ", ".join(gold.file for place in there if (gold := golds[place]) is not None)

        def unknown(row: int) -> dict[str, object]:
            row_id = predictions.id_at(row)
            return {
                "expected": f"an id of {files}",
                "found": f"{row_id}",
                "id": row_id,
                "key": "id",
            }

        has_id = np.ones(len(of_row), bool) if predictions.has_id is None else predictions.has_id
        rows = np.flatnonzero((of_row < 0) & has_id)
        problems.add_rows("id-unknown", predictions.file, rows, unknown)
    return {place: _rows_of(predictions, np.flatnonzero(of_row == place)) for place in there}


def name_by_ids(table: Table, edition: Edition) -> Name | None:
    """Return split and track of rows whose ids have them, such as ``val-en-3``."""
    names = {edition.meant(row_id) for row_id in _names(table)[:: max(1, table.n - 1)]}
    return names.pop() if len(names) == 1 else None


def check_golds_differ(tracks: Sequence[Track], problems: Problems) -> None:
    """Report two files of predictions for one gold, as there may be where ids identify it."""
    first: dict[str, str] = {}
    for track in tracks:
        file = track.predictions.file
        other = file if track.gold is None else first.setdefault(track.gold.file, file)
        if track.gold is not None and other != file:
            expected = f"one file for {track.gold.file}"
            problems.add("file-twice", file, expected, f"another beside {other}")


def _names(table: Table | None) -> list[str]:
    """Return the ids of a table where these are strings."""
    if table is None or table.ids is None or table.ids.dtype.kind != "U":
        return []
    names: list[str] = table.ids.tolist()
    return names


def _rows_of(table: Table, rows: Any) -> Table:
    """Return some of the rows of a table of any kind."""

    def part(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: Group(group.words, group.place[rows]) for name, group in value.items()}
        if isinstance(value, np.ndarray):
            return value[rows]
        return [value[row] for row in rows.tolist()] if isinstance(value, list) else value

    columns = {column.name: part(getattr(table, column.name)) for column in fields(table)}
    return replace(table, **{**columns, "n": len(rows)})


def name_by_rows(table: Table, edition: Edition) -> Name:
    """Return the name of a file whose own name does not have split and track: by its rows."""
    group = table.groups.get("model")
    by_key = edition.track_of({"model": bool(group and all(group.words))})
    return name_by_ids(table, edition) or edition.name_of("", by_key)
