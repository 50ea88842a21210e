"""The rows of a data frame in JSON by its columns or its index, as ``DataFrame.to_json()`` writes.

A list of objects is what the readers take; pandas writes that only with ``orient="records"``.
"""

from __future__ import annotations

import json
import re
from typing import Any

#: How messages name such a document.
FRAME = (
    'a data frame by columns or index, as DataFrame.to_json() writes it without orient="records"'
)
_HEAD = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{|\s*\{\s*"columns"\s*:\s*\[')


def is_frame(text: str, *, cut: bool = False) -> bool:
    """Return whether a document is such a data frame.

    Parameters
    ----------
    text : str
        The document, or its beginning.
    cut : bool
        Whether it goes on: then only its beginning decides.

    Examples
    --------
    >>> is_frame('{"label": {"0": "Hallucination"}, "p": {"0": 0.7}}'), is_frame('{"label": "x"}')
    (True, False)
    """
    if not _HEAD.match(text):
        return False
    return cut or rows_of(text) is not None


def rows_of(text: str, id_key: str = "id") -> list[dict[str, Any]] | None:
    """Return the rows of such a data frame; ``None`` if the document is something else.

    Parameters
    ----------
    text : str
        The document.
    id_key : str
        The key of an id. If no column has this name, and the index does not number the rows from
        0, the ids are the index.

    Examples
    --------
    >>> rows_of('{"label": {"0": "x", "1": "y"}, "p": {"0": 0.5, "1": 0.7}}')
    [{'label': 'x', 'p': 0.5}, {'label': 'y', 'p': 0.7}]
    >>> rows_of('{"7": {"p": 0.5}, "9": {"p": 0.7}}')
    [{'id': '7', 'p': 0.5}, {'id': '9', 'p': 0.7}]
    >>> rows_of('{"columns": ["id", "p"], "index": [0], "data": [[7, 0.5]]}')
    [{'id': 7, 'p': 0.5}]
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not value:
        return None
    columns, data = value.get("columns"), value.get("data")
    rows: list[tuple[str, dict[str, Any]]]
    if "schema" in value and isinstance(data, list) and _are(dict, data):
        return data
    if isinstance(columns, list) and isinstance(data, list) and _are(list, data):
        labels = [*value["index"]] if isinstance(value.get("index"), list) else []
        labels += range(len(labels), len(data))
        rows = [(str(label), dict(zip(columns, row))) for label, row in zip(labels, data)]
    elif not _are(dict, list(value.values())):
        return None
    elif _is_by_index(value):
        rows = list(value.items())
    else:
        rows = [
            (label, {name: column[label] for name, column in value.items() if label in column})
            for label in dict.fromkeys(label for column in value.values() for label in column)
        ]
    numbered = [label for label, _ in rows] == list(map(str, range(len(rows))))
    if numbered or any(id_key in row for _, row in rows):
        return [row for _, row in rows]
    return [{id_key: label, **row} for label, row in rows]


def _are(kind: type, values: list[Any]) -> bool:
    return all(isinstance(value, kind) for value in values)


def _is_by_index(value: dict[str, dict[str, Any]]) -> bool:
    """Return whether the outer keys are rows: by numbers, else by the names of common columns."""
    if all(map(str.isdecimal, value)):
        return True
    inner = list(next(iter(value.values())))
    named = {"id", "label"}
    return not all(map(str.isdecimal, inner)) and not named & {*map(str.lower, value)}
