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
    if "schema" in value and _are(dict, data):
        return list(data)
    if isinstance(columns, list) and _are(list, data):
        by_label = dict(enumerate(dict(zip(columns, row)) for row in data))
        index = value.get("index")
        if isinstance(index, list) and len(index) == len(data):
            by_label = dict(zip(map(str, index), by_label.values()))
    elif not _are(dict, list(value.values())):
        return None
    elif _is_by_index(value):
        by_label = value
    else:
        labels = dict.fromkeys(label for column in value.values() for label in column)
        by_label = {
            label: {name: column[label] for name, column in value.items() if label in column}
            for label in labels
        }
    return _with_ids(by_label, id_key)


def _are(kind: type, values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


def _is_by_index(value: dict[str, dict[str, Any]]) -> bool:
    """Return whether the outer keys are rows: by numbers, else by the names of common columns."""
    if all(map(str.isdecimal, value)):
        return True
    inner = list(next(iter(value.values())))
    named = {"id", "label"}
    return not all(map(str.isdecimal, inner)) and not named & {*map(str.lower, value)}


def _with_ids(by_label: dict[Any, dict[str, Any]], id_key: str) -> list[dict[str, Any]]:
    numbered = list(map(str, by_label)) == list(map(str, range(len(by_label))))
    if numbered or any(id_key in row for row in by_label.values()):
        return list(by_label.values())
    return [{id_key: label, **row} for label, row in by_label.items()]
