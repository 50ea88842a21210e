"""Data frames in JSON by columns or by index, as ``DataFrame.to_json()`` writes them."""

from __future__ import annotations

import json
import re
from typing import Any

#: The name of such a document in messages.
FRAME = 'a data frame written by DataFrame.to_json() without orient="records"'
_HEAD = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*(?:\{|\[\s*[^\s{\]])')


def is_frame(text: str, *, cut: bool = False) -> bool:
    """Return whether a document (or its beginning, if ``cut``) is such a data frame."""
    if not _HEAD.match(text):
        return False
    return cut or rows_of(text) is not None


def rows_of(text: str, id_key: str = "id") -> list[dict[str, Any]] | None:
    """Return the rows of such a data frame; ``None`` if the document is something else."""
    # Without a column of ids, an index from 0 is the order, and any other index has the ids.
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not value:
        return None
    rows: dict[str, dict[str, Any]]
    if _are_columns(list(value.values())):
        rows = {str(n): dict(zip(value, row)) for n, row in enumerate(zip(*value.values()))}
    elif not _are(dict, list(value.values())):
        return None
    elif _is_by_index(value):
        rows = value
    else:
        rows = {
            label: {name: column[label] for name, column in value.items() if label in column}
            for label in dict.fromkeys(label for column in value.values() for label in column)
        }
    if any(id_key in row for row in rows.values()):
        return list(rows.values())
    numbers = list(map(str, range(len(rows))))
    if rows.keys() == set(numbers):
        return [rows[number] for number in numbers]
    return [{id_key: label, **row} for label, row in rows.items()]


def _are(kind: type, values: list[Any]) -> bool:
    return all(isinstance(value, kind) for value in values)


def _are_columns(values: list[Any]) -> bool:
    """Return whether values are lists of the same length."""
    return (
        _are(list, values)
        and len(values) > 1
        and {len(values[0])} == {*map(len, values)} != {0}
        and not any(isinstance(cell, dict) for column in values for cell in column)
    )


def _is_by_index(value: dict[str, dict[str, Any]]) -> bool:
    """Return whether the outer keys are rows, not columns."""
    if all(map(str.isdecimal, value)):
        return True
    inner = list(next(iter(value.values())))
    named = {"id", "label"}
    return not all(map(str.isdecimal, inner)) and not named & {*map(str.lower, value)}
