"""Describing the files of any data set."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from shroom.core.problems import InvalidInput, Problems
from shroom.datasets.description import Contents, Description, FileRecords
from shroom.datasets.local_files import read_here
from shroom.datasets.registry import data_set, refuse_another
from shroom.metrics.intervals import USUAL, Intervals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.core.paths import Source


def describe(name: str, paths: Sequence[Source], how: Intervals = USUAL) -> Description:
    """Return what is in the files of a data set.

    Parameters
    ----------
    name : str
        The data set's.
    paths : sequence of path or "-"
        Files, folders or zips of its native form, or a pipe; without any, as it is here.
    how : Intervals
        How to make intervals.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors, or no row that can be used.
    ShroomError
        Where there is no such data set, or the files are of another.

    Examples
    --------
    >>> found = describe("semeval2024", ["shroom/sample"])
    >>> found.counts
    {'rows': 120, 'records': 120, 'dropped': 0}
    """
    described = data_set(name)
    for path in paths:
        refuse_another(name, path)
    problems = Problems(limit=None)
    collection = described.read(*paths, problems=problems) if paths else read_here(name, problems)
    if not collection.records:
        for file in collection.files:
            problems.add("empty", file, "a row that can be used", "none")
        raise InvalidInput(problems)
    files = [
        # Of a file that was named twice every row was dropped twice.
        FileRecords(file, own, problems.count("row-dropped", file) // collection.files.count(file))
        for file, own in collection.by_file()
    ]
    module = importlib.import_module(f"shroom.datasets.{name}.description")
    if hasattr(module, "check"):
        module.check(files, problems)
    contents: Contents = module.contents(files, how)
    return Description(name, files, contents, problems, how)
