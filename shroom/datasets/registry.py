"""The data sets by name, each imported when it is asked for, and where their files are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.paths import data_folder_problem, in_data_folder, shown_path
from shroom.core.problems import Problems, ShroomError, printable
from shroom.core.registry import Entry, Registry
from shroom.scoring import data_set_forms
from shroom.scoring.data_set_forms import form_of, row_at
from shroom.scoring.input_files import CSV, JSON, documents_among_others, is_pipe

if TYPE_CHECKING:
    from shroom.core.paths import Source
    from shroom.datasets.base import DataSet
    from shroom.datasets.collection import Collection
    from shroom.scoring.input_files import Document

#: The data sets, in the order in which their forms are looked for.
DATA_SETS = Registry(
    "data set",
    {name: Entry(f"shroom.datasets.{name}.reader:DATA_SET") for name in data_set_forms.DATA_SETS},
)
#: The folders in ``SHROOM_DATA`` that do not have the data set's name.
_FOLDERS = {"queries": "verifiability/queries"}


def data_set(name: str) -> DataSet:
    """Return the data set of a name.

    Raises
    ------
    ShroomError
        If there is no data set of that name.

    Examples
    --------
    >>> data_set("felm").licence
    'CC BY-NC-SA 4.0'
    """
    found: DataSet = DATA_SETS.load(name)
    return found


def guess(source: Source) -> str | None:
    """Return the name of the data set that a file, a folder or a zip is of, by its first row.

    Of several files, the first with a known form decides. A pipe is not read, since that is
    possible only once.

    Examples
    --------
    >>> guess("shroom/sample")
    'semeval2024'
    """
    if is_pipe(source):
        return None
    for document in documents_among_others(source, Problems(), endings=JSON + CSV):
        name = _form_of(document)
        if name is not None:
            return name
    return None


def refuse_another(name: str, source: Source) -> None:
    """Raise an error for a path with files of another data set and none of the named one.

    Raises
    ------
    ShroomError
        With the name of the other one.
    """
    other = guess(source)
    if other in (name, None):
        return
    found = documents_among_others(source, Problems(), endings=JSON + CSV)
    if all(_form_of(document) != name for document in found):
        where = printable(os.fspath(source))
        raise ShroomError(
            f"{where}: this has the form of {other}, not of {name}; "
            f"see 'shroom datasets describe {other} {where}'"
        )


def _form_of(document: Document) -> str | None:
    data = document.read(Problems())
    return None if data is None else form_of(row_at(document, data, 0))


def place_of(name: str) -> Path | None:
    """Return the folder that has a data set here, or ``None``.

    It is the data set's folder in the folder of real data, which the environment variable
    ``SHROOM_DATA`` names; else what was fetched before.
    """
    from shroom.datasets.download.sources import cached

    for folder in (name, _FOLDERS.get(name, name)):
        place = in_data_folder(folder)
        if place is not None and place.is_dir():
            return Path(shown_path(place))
    return cached(name)


def read_here(name: str, problems: Problems) -> Collection[Any]:
    """Return a data set on this machine: from :func:`place_of`, or from the hub's cache.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors.
    ShroomError
        If there is no data set of that name, or it is not on this machine.
    """
    from shroom.datasets.conversion.huggingface import read_cached

    described = data_set(name)
    place = place_of(name)
    if place is not None:
        return described.read(place, problems=problems)
    collection = read_cached(name, problems=problems)
    if collection is None:
        problem = data_folder_problem()
        raise ShroomError(
            f"{name} is not here{problem and f' ({problem})'}: name its files, or run "
            f"'shroom datasets fetch {name}'"
        )
    return collection
