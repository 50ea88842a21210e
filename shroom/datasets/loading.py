"""The kit's data sets as datasets of Hugging Face."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.core.problems import Problems
from shroom.datasets.conversion.huggingface import to_hf
from shroom.datasets.download.sources import read_here
from shroom.datasets.registry import data_set

if TYPE_CHECKING:
    import datasets

    from shroom.core.paths import Source


def load(name: str, *paths: Source, view: str | None = None) -> datasets.Dataset:
    """Return the judged datapoints of one of the kit's data sets as a dataset.

    Parameters
    ----------
    name : str
        The kit's name of the data set.
    *paths : path
        Its files, folders or zips; by default those on this machine.
    view : str, optional
        What premise, hypothesis and p are; the data set's first view by default.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors.
    ShroomError
        If there is no such data set or view, or the data are not on this machine.

    Examples
    --------
    >>> load("semeval2024", "shroom/sample").num_rows
    120
    """
    source = data_set(name)
    chosen = source.view(view)
    read = source.read(*paths) if paths else read_here(name, Problems())
    return to_hf(chosen.datapoints(read.records))
