"""The data sets by name, each imported on first use."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from shroom.core.paths import Source
from shroom.core.problems import Problems, ShroomError, printable
from shroom.core.registry import Entry, Registry
from shroom.datasets.base import DataSet
from shroom.scoring import data_set_forms
from shroom.scoring.data_set_forms import form_of
from shroom.scoring.input_files import CSV, JSON, documents_among_others, is_pipe

#: The data sets, in the order in which their forms are tried.
DATA_SETS = Registry(
    "data set",
    {name: Entry(f"shroom.datasets.{name}:DATA_SET") for name in data_set_forms.DATA_SETS},
    group="shroom.datasets",
    base="shroom.datasets.base:DataSet",
)


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
    source: DataSet = DATA_SETS.load(name)
    return source


def guess(
    source: Source, forms: Mapping[str, tuple[str, ...]] = data_set_forms.DATA_SETS
) -> str | None:
    """Return the name of the data set of a file, a folder or a zip, recognised by its first row."""
    # A pipe is not read, because it can be read only once.
    return None if is_pipe(source) else next(filter(None, _names_in(source, forms)), None)


def refuse_another(name: str, source: Source) -> None:
    """Raise an error if a path contains only files of another data set."""
    # The kit does not know the form of another package's data set, so it does not look.
    if name not in data_set_forms.DATA_SETS or is_pipe(source):
        return
    other = None
    for found in _names_in(source, data_set_forms.DATA_SETS):
        if found == name:
            return
        other = other or found
    if other is not None:
        path = printable(os.fspath(source))
        raise ShroomError(
            f"{path} is in the format of {other}, not of {name}; "
            f"try 'shroom datasets describe {other} {path}'"
        )


def _names_in(source: Source, forms: Mapping[str, tuple[str, ...]]) -> Iterator[str | None]:
    """Yield the name of the data set of each file, ``None`` for an unknown format."""
    for document in documents_among_others(source, Problems(), endings=JSON + CSV):
        data = document.read(Problems())
        yield None if data is None else form_of(document.row_at(data, 0), forms)
