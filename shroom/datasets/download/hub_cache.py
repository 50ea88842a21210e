"""Data sets in the caches of Hugging Face on this machine, read without the network."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.json_writing import json_lines
from shroom.core.problems import Problems
from shroom.datasets.conversion.huggingface import rows_of, table
from shroom.datasets.registry import data_set
from shroom.scoring.data_set_forms import DATA_SETS
from shroom.scoring.input_files import CSV, JSON

if TYPE_CHECKING:
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


def files(name: str) -> list[Path]:
    """Return the data files of a data set in a cache, or an empty list.

    The cache of the hub comes first, with the files as they are there; then that of the library
    datasets, with the tables that it has made of them.

    Parameters
    ----------
    name : str
        The kit's name of a data set, or its name on the hub, ``owner/name``.

    Examples
    --------
    >>> files("nobody/no-such-data")
    []
    """
    names = NAMES.get(name, ()) if name in DATA_SETS else (name,)
    for each in names:
        found = _snapshot(each) or _prepared(each)
        if found:
            return found
    return []


def read(
    name: str, hub_name: str | None = None, problems: Problems | None = None
) -> Collection[Any] | None:
    """Return a data set from a cache, or ``None`` if it is in none.

    Parameters
    ----------
    name : str
        The kit's name of the data set.
    hub_name : str, optional
        Its name on the hub, if it is not one that the kit knows.
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
    found = files(hub_name or name)
    problems = Problems() if problems is None else problems
    if not found:
        return None
    with tempfile.TemporaryDirectory() as folder:
        return source.read(*(_as_text(path, Path(folder)) for path in found), problems=problems)


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
    for made in sorted(
        folder.glob("*/*/*/dataset_info.json"), key=lambda path: path.stat().st_mtime
    ):
        if made.parent.suffix != ".incomplete":
            newest[made.parts[-4]] = made.parent
    return [path for each in newest.values() for path in _data_files(each)]


def _data_files(folder: Path) -> list[Path]:
    """Return the data files in a folder: texts, or tables if there are no texts."""
    paths = sorted(path for path in folder.rglob("*") if not path.name.startswith(_ABOUT))
    for endings in ((*JSON, *CSV), _TABLES):
        found = [path for path in paths if path.name.lower().endswith(endings) and path.is_file()]
        if found:
            return found
    return []
