"""Datapoints as a ``Dataset`` of Hugging Face and back, without the network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from shroom.core.datapoint import TASKS
from shroom.core.extras import install_hint
from shroom.core.problems import InvalidInput, Problems, ShroomError, show
from shroom.scoring.datapoint_files import DataFile, from_items
from shroom.scoring.in_memory import row_of
from shroom.scoring.table import P

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
    hf = library()
    points = data.datapoints if isinstance(data, DataFile) else data
    rows = [row_of(point) for point in points]
    absent: dict[str, Any] = {"labels": [], "model": ""}
    columns = {key: [row.get(key, absent.get(key)) for row in rows] for key in COLUMNS}
    features = hf.Features(
        {
            key: [hf.Value(kind[0])] if isinstance(kind, list) else hf.Value(kind)
            for key, kind in COLUMNS.items()
        }
    )
    try:
        return hf.Dataset.from_dict(columns, features=features)
    except UnicodeEncodeError as error:
        near = show(error.object[max(0, error.start - 20) : error.end])
        raise ShroomError(
            f"half of a surrogate pair in {near}, which UTF-8, and so a dataset, cannot represent"
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
    points = []
    for part in splits:
        points += from_items(rows_of(part), str(part.split or "dataset"), problems)
    if problems.errors:
        raise InvalidInput(problems)
    return points


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
    if "hyp" in names.values() and "task" not in names.values() and task in TASKS:
        row = {"task": task}
    return [
        row | {names[key]: decoded[key](value) for key, value in item.items() if value is not None}
        for item in data.with_format(None)
    ]


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
        decode = _decoder(inner)
        return lambda values: list(map(decode, values)) if isinstance(values, list) else values
    if hasattr(feature, "int2str"):
        return lambda value: feature.int2str(value) if value >= 0 else None
    return lambda value: value


def library() -> Any:
    """Return the library datasets, or name the extra that has it."""
    try:
        import datasets
    except ImportError as error:
        raise ShroomError(f"this needs the library datasets: {install_hint('hf')}") from error
    return datasets
