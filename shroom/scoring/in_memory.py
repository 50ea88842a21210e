"""Predictions and gold in memory: rows and data frames, or several by name."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from shroom.core.datapoint import Datapoint
from shroom.core.paths import Source
from shroom.core.problems import ShroomError
from shroom.scoring.rows import P

if TYPE_CHECKING:
    from typing_extensions import TypeGuard, TypeIs

#: The types of a submission, gold or data in function arguments.
Data = Union[Source, Iterable[Mapping[str, Any]], Mapping[str, Any], Any]
#: Several submissions: each a path, rows or a data frame, in order or by their systems' names.
Submissions = Union[Sequence[Data], Mapping[str, Data]]


class InMemory(os.PathLike):  # type: ignore[type-arg]
    """Rows in memory, used instead of a path."""

    def __init__(
        self, name: str, files: dict[str, bytes], *, is_folder: bool, in_sample: Any = ()
    ) -> None:
        self.name, self.files, self.is_folder = name, files, is_folder
        self.in_sample: dict[str, int] = dict(in_sample or ())

    def __fspath__(self) -> str:
        return f"<{self.name}>"  # so that it is never taken for a file of this name

    def __str__(self) -> str:
        return self.name


def is_path(data: object) -> TypeIs[Source]:
    """Return whether data are a path, not data in memory."""
    return isinstance(data, (str, os.PathLike)) and not isinstance(data, InMemory)


def is_frame(data: object) -> bool:
    """Return whether data have columns, like the data frames of all libraries."""
    return hasattr(type(data), "columns")


def are_several(data: object) -> TypeGuard[Sequence[Any]]:
    """Return whether data are a list of paths or frames, not a list of rows or a single one."""
    return isinstance(data, (list, tuple)) and not any(
        isinstance(it, (Mapping, Datapoint)) for it in data
    )


def as_source(data: Data, name: str, p: str = P) -> Source:
    """Return a path unchanged; store rows, a frame, or several of them by file name, in memory.

    Missing values of a frame are omitted, except in the column ``p``, where they are errors.
    """
    if isinstance(data, InMemory) or is_path(data):
        return data
    if isinstance(data, Mapping):
        cells = [data[key] for key in ("label", "hyp") if key in data]
        if cells:
            one = isinstance(cells[0], (str, int))
            got = "one row; put it in a list" if one else "columns; convert them to a data frame"
            raise ShroomError(f"{name}: expected rows, got {got}")
        files = {
            f"{str(file).removesuffix('.json')}.json": _as_json(rows, str(file), p)
            for file, rows in data.items()
        }
        return InMemory(name, files, is_folder=True)
    return InMemory(name, {name: _as_json(data, name, p)}, is_folder=False)


def as_sources(submissions: Submissions, what: str = "system") -> list[Source]:
    """Return several submissions in order, each converted by :func:`as_source`."""
    if isinstance(submissions, Mapping):
        return [as_source(data, str(name)) for name, data in submissions.items()]
    got = ""
    if isinstance(submissions, (str, os.PathLike)) or not isinstance(submissions, Iterable):
        got = f"one submission ({type(submissions).__name__})"
    elif is_frame(submissions):
        got = "one data frame; put it in a list"
    if got:
        raise ShroomError(f"expected a list or a dict of submissions, got {got}")
    return [as_source(data, f"{what} {n}") for n, data in enumerate(submissions, 1)]


def sources_in(data: Data | Sequence[Data]) -> list[Source]:
    """Return the sources in a list of paths or frames; a list of rows is one source."""
    if are_several(data):
        return [as_source(it, f"data {n}") for n, it in enumerate(data, 1)]
    return [as_source(data, "data")]


def _as_json(data: Any, name: str, p: str) -> bytes:
    rows = [{k: v for k, v in row.items() if v is not None} for row in _rows(data, name, p)]
    try:
        text = json.dumps(rows, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise ShroomError(f"{name}: a value cannot be represented in JSON: {error}") from error
    return text.encode("utf-8", "surrogatepass")


def _rows(data: Any, name: str, p: str) -> list[Mapping[str, Any]]:
    if is_frame(data) or hasattr(data, "__arrow_c_stream__"):
        return _rows_of_frame(data, name, p)
    rows = list(data) if isinstance(data, Iterable) else [data]
    if rows and all(isinstance(row, Datapoint) for row in rows):
        return list(map(row_of, rows))
    if all(isinstance(row, Mapping) for row in rows):
        return rows
    raise _not_rows(data, name)


def _rows_of_frame(data: Any, name: str, p: str) -> list[Mapping[str, Any]]:
    try:
        import narwhals
        from narwhals.exceptions import NarwhalsError
    except ImportError as error:
        raise ShroomError(f"{name}: data frames require narwhals: pip install narwhals") from error
    index = getattr(getattr(data, "index", None), "name", None)
    if isinstance(index, str) and index not in data.columns and hasattr(data, "reset_index"):
        data = data.reset_index()  # it may contain the ids
    try:
        if hasattr(data, "__arrow_c_stream__") and not is_frame(data):
            frame = narwhals.from_arrow(data, backend="pyarrow")
        else:
            frame = narwhals.from_native(data, eager_only=True)
    except NarwhalsError as error:
        raise ShroomError(f"{name}: {error}".replace("\n", " ")) from error
    except (AttributeError, TypeError, ValueError, ImportError) as error:
        raise _not_rows(data, name) from error
    return [
        {key: value for key, value in row.items() if key in (P, p) or not _is_missing(value)}
        for row in frame.rows(named=True)
    ]


def row_of(point: Datapoint) -> dict[str, Any]:
    """Return a datapoint as a row of SHROOM's files, without keys for missing values."""
    row = {
        "id": point.id,
        "hyp": point.hyp,
        "ref": point.ref and point.ref.value,
        "src": point.src,
        "tgt": list(point.tgts) if point.other_tgts else point.tgt,
        "task": point.task.name or None,
        "model": point.model or None,
        "labels": [label.value for label in point.labels] or None,
        "label": point.label and point.label.value,
        P: point.p,
    }
    return {key: value for key, value in row.items() if value is not None}


def _not_rows(data: Any, name: str) -> ShroomError:
    got = type(data).__name__
    if isinstance(data, (list, tuple)):
        row = next(row for row in data if not isinstance(row, Mapping))
        got += f" of {type(row).__name__}"
    return ShroomError(f"{name}: expected a path, rows or a data frame, got {got}")


def _is_missing(value: Any) -> bool:
    """Return whether a cell of a frame is missing: NaN, or pandas' NA or NaT."""
    return type(value).__name__ in ("NAType", "NaTType") or (
        isinstance(value, float) and math.isnan(value)
    )


def _plain(value: Any) -> Any:
    """Return a numpy value as a Python value, and a time as a string."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not a JSON value")
