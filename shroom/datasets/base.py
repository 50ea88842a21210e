"""The interface of a data set, through which the kit reads, describes, converts and scores it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint
from shroom.core.json_writing import json_line, json_lines
from shroom.core.problems import ShroomError, UnknownName, nearest, printable
from shroom.datasets.collection import Collection
from shroom.datasets.summary import Summary
from shroom.scoring.in_memory import row_of
from shroom.scoring.input_files import PIPE

R = TypeVar("R")

_ENDING = r"\.(jsonl?|csv)(\.gz)?$"


@dataclass(frozen=True)
class View(Generic[R]):
    """One way to turn the records of a data set into datapoints.

    Attributes
    ----------
    about : str
        What the premise, the hypothesis and p are.
    points : callable
        ``record -> [Datapoint]``. A datapoint without p is left out, and counted. ``None`` stands
        for a datapoint without a premise.
    unit : callable, optional
        ``record -> unit``; by default, each record is a unit. Datapoints of one unit are not
        independent, so the bootstrap draws whole units.
    """

    about: str
    points: Callable[[R], Iterable[Datapoint | None]]
    unit: Callable[[R], Hashable] | None = None

    def _points(self, records: Iterable[R]) -> Iterator[tuple[Hashable, Datapoint | None]]:
        """Yield each datapoint, or ``None`` without a label, with its unit."""
        for place, record in enumerate(records):
            unit = self.unit(record) if self.unit else place
            for point in self.points(record):
                yield unit, None if point is None or point.p is None else point

    def datapoints(self, records: Iterable[R]) -> list[Datapoint]:
        """Return the labelled datapoints of the records."""
        return [point for _, point in self._points(records) if point is not None]

    def units(self, records: Iterable[R]) -> list[Hashable]:
        """Return the unit of each datapoint."""
        return [unit for unit, point in self._points(records) if point is not None]

    def left_out(self, records: Iterable[R]) -> int:
        """Return how many datapoints have no label, or no text to compare with."""
        return sum(point is None for _, point in self._points(records))


@dataclass(frozen=True)
class DataSet:
    """A data set in its native form.

    Attributes
    ----------
    name : str
        The name in the kit.
    licence : str
        The licence that the source states.
    about : str
        The contents in one line.
    source : str
        The publication.
    read : callable
        ``(*paths, problems=None) -> Collection``; see :func:`shroom.datasets.records.read`.
    summary : Summary
        What to count, measure and group by; by default, nothing.
    views : dict of View
        The views by name; the first is the default. Empty if no record is labelled.
    ending : str
        The ending of the file names.
    predictions : callable or None
        ``(records, wrong, p) -> text``: writes a detector's predictions for the datapoints of any
        view in the native form. ``None`` if there is no native form.
    """

    name: str
    licence: str
    about: str
    source: str
    read: Callable[..., Collection[Any]]
    summary: Summary = field(default_factory=Summary)
    views: Mapping[str, View[Any]] = field(default_factory=dict)
    ending: str = ".jsonl"
    predictions: Callable[[Sequence[Any], NDArray[np.bool_], NDArray[np.float64]], str] | None = (
        None
    )

    def view(self, name: str | None = None) -> View[Any]:
        """Return a view; by default, the first one.

        Raises
        ------
        ShroomError
            If there is no view of that name, or no view at all.

        Examples
        --------
        >>> from shroom.datasets.registry import data_set
        >>> data_set("felm").view().about
        'segments of answers compared with the prompt and the references'
        """
        if not self.views:
            raise ShroomError(
                f"{self.name} has no datapoints, because none of its records is labelled"
            )
        if name is None:
            return next(iter(self.views.values()))
        if name not in self.views:
            views = list(self.views)
            raise UnknownName(
                f"{self.name} has no view '{printable(name)}';{nearest(name, views)} its views are "
                f"{', '.join(views)}"
            )
        return self.views[name]


@dataclass(frozen=True)
class Converted:
    """The datapoints of one file of a data set."""

    stem: str  # the file's name without its ending
    rows: list[dict[str, Any]]  # in SHROOM's form
    records: int  # number of records in the file
    left_out: int


def convert(
    source: DataSet, collection: Collection[Any], view: str | None = None
) -> list[Converted]:
    """Return the datapoints of each file as rows in SHROOM's form."""
    chosen, converted = source.view(view), []
    of = {"data_set": source.name, "view": view or next(iter(source.views))}
    for part in collection.by_file:
        file = source.name + source.ending if part.file == PIPE else part.base
        left_out = chosen.left_out(part.records)
        rows = [
            {**row_of(point), "of": {**of, "file": file, "record": index, "part": number}}
            for index, record in enumerate(part.records)
            for number, point in enumerate(chosen.datapoints([record]))
        ]
        if source.name == "semeval2024" and view is None:  # in SHROOM's form, labelled or not
            rows, left_out = [row_of(point) for point in part.records], 0
        stem = re.sub(_ENDING, "", file, flags=re.IGNORECASE) or source.name
        converted.append(Converted(stem, rows, len(part.records), left_out))
    for stem, times in Counter(file.stem for file in converted).items():
        if times > 1:
            raise ShroomError(f"{times} files have the name {stem}; convert them one at a time")
    return converted


def as_json(rows: Sequence[dict[str, Any]], *, lines: bool = False) -> str:
    """Return rows as a JSON list with one row per line, or as JSON Lines."""
    if lines:
        return json_lines(rows)
    return "[\n" + ",\n".join(map(json_line, rows)) + "\n]\n"
