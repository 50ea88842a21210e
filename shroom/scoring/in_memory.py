"""Predictions and gold that are not in files: rows, data frames, and several of them by name.

They are read by the same code as files, so that they have the same checks and the same problems.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Union

from shroom.core.paths import Source
from shroom.core.problems import ShroomError

#: What functions take as a submission, gold or data.
Data = Union[Source, Iterable[Mapping[str, Any]], Mapping[str, Any], Any]


class InMemory(os.PathLike):  # type: ignore[type-arg]
    """Rows in memory, in the place of a path.

    Attributes
    ----------
    name : str
        Name in messages.
    files : dict of bytes
        The rows as JSON, by the name of the file that they stand for.
    is_folder : bool
        Whether there are several, whose names matter, as in a folder.
    """

    def __init__(self, name: str, files: dict[str, bytes], *, is_folder: bool) -> None:
        self.name, self.files, self.is_folder = name, files, is_folder

    def __fspath__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name


def as_source(data: Data, name: str) -> Source:
    """Return a path as it is, and anything else as rows in memory.

    Parameters
    ----------
    data : path, rows, data frame or mapping
        A path; a list of mappings; a frame of pandas, polars or any other library that narwhals
        knows; a ``datasets.Dataset``; or several of these by the names of the files that they
        stand for, such as ``{"val.model-aware": frame}``.
    name : str
        Name in messages.

    Raises
    ------
    ShroomError
        If it is none of these.

    Examples
    --------
    >>> as_source([{"label": "Hallucination", "p(Hallucination)": 0.7}], "predictions").files
    {'predictions': b'[{"label": "Hallucination", "p(Hallucination)": 0.7}]'}
    >>> as_source("gold.json", "gold")
    'gold.json'
    """
    if isinstance(data, (str, os.PathLike)):
        return data
    if isinstance(data, Mapping):
        if {"label", "hyp"} & data.keys():
            raise ShroomError(f"{name}: expected rows, got one row; put it in a list")
        named = {str(file): rows for file, rows in data.items()}
        files = {
            file if file.endswith(".json") else f"{file}.json": _as_json(rows, file)
            for file, rows in named.items()
        }
        return InMemory(name, files, is_folder=True)
    return InMemory(name, {name: _as_json(data, name)}, is_folder=False)


def _as_json(data: Any, name: str) -> bytes:
    rows = [{k: v for k, v in row.items() if v is not None} for row in _rows(data, name)]
    try:
        text = json.dumps(rows, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise ShroomError(f"{name}: a value that JSON does not have: {error}") from error
    return text.encode("utf-8", "surrogatepass")


def _rows(data: Any, name: str) -> list[Mapping[str, Any]]:
    if not hasattr(data, "columns"):
        rows = list(data) if isinstance(data, Iterable) else [data]
        if all(isinstance(row, Mapping) for row in rows):
            return rows
    try:
        import narwhals
    except ImportError as error:
        raise ShroomError(
            f"{name}: a data frame needs the extra [frames]: pip install narwhals"
        ) from error
    try:
        frame = narwhals.from_native(data, eager_only=True)
    except TypeError as error:
        kind = type(data).__name__
        raise ShroomError(f"{name}: expected a path, rows or a data frame, got {kind}") from error
    rows = frame.rows(named=True)
    return list(rows)


def _plain(value: Any) -> Any:
    """Return a value of numpy as one of Python's own."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a value of JSON")
