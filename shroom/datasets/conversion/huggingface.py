"""Datapoints as a ``Dataset`` of Hugging Face and back, and data sets in its caches.

Nothing uses the network.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.datapoint import TASKS
from shroom.core.extras import install_hint
from shroom.core.json_writing import json_lines
from shroom.core.problems import InvalidInput, Problems, ShroomError, show
from shroom.datasets.registry import data_set
from shroom.scoring.data_set_forms import DATA_SETS
from shroom.scoring.datapoint_files import DataFile, from_items
from shroom.scoring.in_memory import row_of
from shroom.scoring.input_files import CSV, JSON
from shroom.scoring.table import P

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import datasets

    from shroom.core.datapoint import Datapoint
    from shroom.datasets.collection import Collection

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
#: Names of the data sets on the hub, in the order in which they are tried.
NAMES = {
    "semeval2024": ("Helsinki-NLP/shroom", "pminervini/shroom"),
    "mushroom2025": ("Helsinki-NLP/mu-shroom",),
    "felm": ("hkust-nlp/felm",),
    "verifiability": ("osunlp/AttributionBench",),
}
_TABLES = (".parquet", ".arrow")
#: Beginnings of the names of files that describe data, or are by-products of working with them.
_ABOUT = (".", "dataset_info", "state.json", "metadata", "cache-")


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
        decode = _decoder(inner)
        return lambda values: list(map(decode, values)) if isinstance(values, list) else values
    if hasattr(feature, "int2str"):
        return lambda value: feature.int2str(value) if value >= 0 else None
    return lambda value: value


def _library() -> Any:
    try:
        import datasets
    except ImportError as error:
        raise ShroomError(f"this needs the library datasets: {install_hint('hf')}") from error
    return datasets


def cached_files(name: str) -> list[Path]:
    """Return the data files of a data set in a cache, or an empty list.

    The cache of the hub comes first, with the original files; then that of the library
    datasets, with its tables.

    Parameters
    ----------
    name : str
        The kit's name of a data set, or its name on the hub, ``owner/name``.

    Examples
    --------
    >>> cached_files("nobody/no-such-data")
    []
    """
    names = NAMES.get(name, ()) if name in DATA_SETS else (name,)
    return next(
        filter(None, (_snapshot(hub_name) or _prepared(hub_name) for hub_name in names)), []
    )


def read_cached(
    name: str, hub_name: str | None = None, problems: Problems | None = None
) -> Collection[Any] | None:
    """Return a data set from a cache, or ``None`` if it is in none.

    Parameters
    ----------
    name : str
        The kit's name of the data set.
    hub_name : str, optional
        Its name on the hub, if the kit does not know it.
    problems : Problems, optional
        Gets the warnings, each with its place.

    Raises
    ------
    InvalidInput
        If there are errors, with every problem.
    ShroomError
        If there is no data set of that name, or the library for tables is not installed.
    """
    source = data_set(name)
    paths = cached_files(hub_name or name)
    if not paths:
        return None
    problems = Problems() if problems is None else problems
    with tempfile.TemporaryDirectory() as folder:
        return source.read(*(_as_text(path, Path(folder)) for path in paths), problems=problems)


def _as_text(path: Path, folder: Path) -> Path:
    """Return a file in a form that the readers know: itself, or a table's rows as JSON Lines."""
    if path.suffix not in _TABLES:
        return path
    # Tables of several configurations may have one name, so each gets a folder.
    target = Path(tempfile.mkdtemp(dir=folder)) / f"{path.stem}.jsonl"
    split = path.stem.partition("-")[0]
    target.write_text(json_lines(rows_of(table(path), split)), encoding="utf-8")
    return target


def _snapshot(hub_name: str) -> list[Path]:
    """Return the data files of the main revision in the hub's cache."""
    try:
        from huggingface_hub import constants, snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError
    except ImportError:
        return []
    try:
        folder = snapshot_download(
            hub_name,
            repo_type="dataset",
            cache_dir=constants.HF_HUB_CACHE,
            local_files_only=True,
        )
    except LocalEntryNotFoundError:
        return []
    return _data_files(Path(folder))


def _prepared(hub_name: str) -> list[Path]:
    """Return the tables that the library datasets has made, the newest of each configuration."""
    try:
        from datasets import config
    except ImportError:
        return []
    folder = Path(config.HF_DATASETS_CACHE) / hub_name.replace("/", "___")
    newest = {}
    for info in sorted(
        folder.glob("*/*/*/dataset_info.json"), key=lambda path: path.stat().st_mtime
    ):
        if info.parent.suffix != ".incomplete":
            newest[info.parts[-4]] = info.parent
    return [path for folder in newest.values() for path in _data_files(folder)]


def _data_files(folder: Path) -> list[Path]:
    """Return the data files in a folder: texts, or tables if there are no texts."""
    paths = sorted(path for path in folder.rglob("*") if not path.name.startswith(_ABOUT))
    for endings in ((*JSON, *CSV), _TABLES):
        chosen = [path for path in paths if path.name.lower().endswith(endings) and path.is_file()]
        if chosen:
            return chosen
    return []
