"""Data sets in the caches of Hugging Face's libraries, read without the network."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.json_writing import json_lines
from shroom.core.problems import Problems, ShroomError
from shroom.datasets.conversion.huggingface import library, rows_of
from shroom.datasets.registry import data_set
from shroom.scoring.data_set_forms import DATA_SETS
from shroom.scoring.input_files import CSV, JSON

if TYPE_CHECKING:
    import datasets

    from shroom.datasets.collection import Collection

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


def table(path: Path) -> datasets.Dataset:
    """Return a Parquet or Arrow file as a dataset, without a copy of it in any cache.

    Raises
    ------
    ShroomError
        If it is not a table, or the library is not installed.
    """
    hf = library()
    import pyarrow.parquet

    try:
        if path.suffix == ".arrow":
            return hf.Dataset.from_file(str(path))
        return hf.Dataset(hf.table.InMemoryTable(pyarrow.parquet.read_table(path)))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ShroomError(
            f"{path}: cannot be read as a table ({reason}); have it fetched to the cache again"
        ) from error


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
