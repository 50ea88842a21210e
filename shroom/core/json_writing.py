"""Rows as lines of JSON, and digests of JSON values."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any


def without_nan(value: Any) -> Any:
    """Return a JSON value with null for ``NaN`` and infinity, which are not JSON."""
    if isinstance(value, dict):
        return {key: without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as JSON Lines, with unescaped characters if UTF-8 allows, without NaN."""
    return "".join(json_line(row) + "\n" for row in rows)


def json_line(row: Mapping[str, Any]) -> str:
    """Return a row as one line of JSON; see :func:`json_lines`."""
    row = without_nan(row)
    line = json.dumps(row, ensure_ascii=False)
    # Half a surrogate pair, which an escape can contain, cannot be encoded as UTF-8.
    halves = any("\ud800" <= character <= "\udfff" for character in line)
    return json.dumps(row) if halves else line


def json_digest(value: Any) -> str:
    """Return the SHA-256 of a value's JSON text with sorted keys, in hexadecimal digits."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
