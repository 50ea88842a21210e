"""Datapoints as a ``Dataset`` of Hugging Face, and back, without the network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from shroom.core.datapoint import Task
from shroom.core.extras import install_hint
from shroom.core.problems import InvalidInput, Problems, ShroomError, show
from shroom.scoring.datapoint_files import DataFile, from_items, row_of
from shroom.scoring.table import P

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import datasets

    from shroom.core.datapoint import Datapoint

#: The columns of a dataset, with their types.
COLUMNS = {
    "id": "int64",
    "hyp": "string",
    "ref": "string",
    "src": "string",
    "tgt": "string",
    "task": "string",
    "model": "string",
    "labels": ["string"],
    "label": "string",
    P: "float64",
}


def to_hf(data: Sequence[Datapoint] | DataFile) -> datasets.Dataset:
    """Return datapoints as a dataset with SHROOM's columns; missing values are ``None``.

    Parameters
    ----------
    data : sequence of Datapoint, or DataFile
        n of them.

    Returns
    -------
    datasets.Dataset
        With n rows; :func:`from_hf` gives the datapoints again, every field the same.

    Raises
    ------
    ShroomError
        If the library is not installed, or a text cannot be encoded in UTF-8.

    Examples
    --------
    >>> from shroom.scoring.datapoint_files import read
    >>> found = to_hf(read("shroom/sample/val.model-aware.json"))
    >>> found.num_rows, found[0]["task"], found[0]["p(Hallucination)"]
    (60, 'PG', 1.0)
    """
    library = _library()
    points = data.datapoints if isinstance(data, DataFile) else data
    rows = [row_of(point) for point in points]
    absent: dict[str, Any] = {"labels": [], "model": ""}
    columns = {key: [row.get(key, absent.get(key)) for row in rows] for key in COLUMNS}
    features = library.Features(
        {
            key: [library.Value(kind[0])] if isinstance(kind, list) else library.Value(kind)
            for key, kind in COLUMNS.items()
        }
    )
    try:
        return library.Dataset.from_dict(columns, features=features)
    except UnicodeEncodeError as error:
        near = show(error.object[max(0, error.start - 20) : error.end])
        raise ShroomError(
            f"half of a surrogate pair in {near}: no UTF-8, and so no dataset, can hold it"
        ) from error


def from_hf(
    data: datasets.Dataset | Mapping[str, datasets.Dataset], problems: Problems | None = None
) -> list[Datapoint]:
    """Return the datapoints of a dataset, or of all splits of one.

    The copies on the hub are understood: labels as classes, ids as strings, another spelling of
    ``p(Hallucination)``, splits that stand for the task.

    Parameters
    ----------
    data : Dataset or DatasetDict
        With the columns ``hyp`` and ``task``, the latter unless the split is called so.
    problems : Problems, optional
        Gets the warnings, each with its place.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors.
    """
    problems = Problems() if problems is None else problems
    splits: Any = data.values() if isinstance(data, dict) else [data]
    found = []
    for each in splits:
        found += from_items(rows_of(each), str(each.split or "dataset"), problems)
    if problems.errors:
        raise InvalidInput(problems)
    return found


def rows_of(data: datasets.Dataset, split: str | None = None) -> list[dict[str, Any]]:
    """Return the rows of a dataset in the form of a file, without keys whose value is ``None``.

    Parameters
    ----------
    data : Dataset
        Of any form; of SHROOM's, columns that are spelled otherwise are renamed.
    split : str, optional
        The split's name, where the dataset does not know it.
    """
    names = {column: _name(column) for column in data.column_names}
    decoded = {column: _decoder(feature) for column, feature in data.features.items()}
    task = split or str(data.split)
    row: dict[str, Any] = {}
    if "hyp" in names.values() and "task" not in names.values() and task in set(Task):
        row = {"task": task}
    return [
        row | {names[key]: decoded[key](value) for key, value in each.items() if value is not None}
        for each in data.with_format(None)
    ]


def table(path: Path) -> datasets.Dataset:
    """Return a Parquet or Arrow file as a dataset, without a copy of it in any cache.

    Raises
    ------
    ShroomError
        If it is not a table, or the library is not installed.
    """
    library = _library()
    import pyarrow.parquet

    try:
        if path.suffix == ".arrow":
            return library.Dataset.from_file(str(path))
        return library.Dataset(library.table.InMemoryTable(pyarrow.parquet.read_table(path)))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ShroomError(
            f"{path}: cannot be read as a table ({reason}); have it fetched to the cache again"
        ) from error


def _name(column: str) -> str:
    """Return SHROOM's name of a column, whatever its case and the marks in it."""
    bare = re.sub(r"[\W_]", "", column).lower()
    return next((key for key in COLUMNS if re.sub(r"\W", "", key).lower() == bare), column)


def _decoder(feature: Any) -> Callable[[Any], Any]:
    """Return what turns a value of a column into what a file has: of classes, their names."""
    inner = getattr(feature, "feature", None)
    if isinstance(feature, list):
        inner = feature[0]
    if inner is not None:
        each = _decoder(inner)
        return lambda values: list(map(each, values)) if isinstance(values, list) else values
    if hasattr(feature, "int2str"):
        return lambda value: feature.int2str(value) if value >= 0 else None
    return lambda value: value


def _library() -> Any:
    try:
        import datasets
    except ImportError as error:
        raise ShroomError(f"this needs the library datasets: {install_hint('hf')}") from error
    return datasets
