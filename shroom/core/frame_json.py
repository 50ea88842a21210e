"""Data frames in JSON by columns or by index, as ``DataFrame.to_json()`` writes them."""

from __future__ import annotations

import json
import re
from typing import Any

#: The name of such a document in messages.
FRAME = 'a data frame written by DataFrame.to_json() without orient="records"'
_HEAD = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{')


def is_frame(text: str, *, cut: bool = False) -> bool:
    """Return whether a document (or its beginning, if ``cut``) is such a data frame."""
    return bool(_HEAD.match(text)) and (cut or rows_of(text) is not None)


def rows_of(text: str, id_key: str = "id") -> list[dict[str, Any]] | None:
    """Return the rows of such a data frame; ``None`` if the document is something else."""
    # Without a column of ids, an index from 0 is the order, and any other index has the ids.
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not (isinstance(rows, dict) and rows and all(isinstance(v, dict) for v in rows.values())):
        return None
    if not _is_by_index(rows):
        labels = dict.fromkeys(label for column in rows.values() for label in column)
        rows = {
            label: {name: column[label] for name, column in rows.items() if label in column}
            for label in labels
        }
    if any(id_key in row for row in rows.values()):
        return list(rows.values())
    numbers = list(map(str, range(len(rows))))
    if rows.keys() == set(numbers):
        return [rows[number] for number in numbers]
    return [{id_key: label, **row} for label, row in rows.items()]


def _is_by_index(value: dict[str, dict[str, Any]]) -> bool:
    """Return whether the outer keys are rows, not columns."""
    if all(map(str.isdecimal, value)):
        return True
    inner = list(next(iter(value.values())))
    return not all(map(str.isdecimal, inner)) and not {"id", "label"} & {*map(str.lower, value)}
