"""The interface of a data set, by which the kit reads, describes, converts and scores it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint
from shroom.core.problems import ShroomError, UnknownName, nearest, printable
from shroom.datasets.collection import Collection
from shroom.datasets.summary import Summary

R = TypeVar("R")


@dataclass(frozen=True)
class View(Generic[R]):
    """One way to see the records of a data set as datapoints.

    Attributes
    ----------
    about : str
        What premise, hypothesis and p are.
    points : callable
        ``record -> [Datapoint]``, with ``None`` in the place of each that nobody judged or that has
        no text to compare with.
    unit : callable, optional
        ``record -> unit``: what its datapoints belong to, by default the record. Datapoints of one
        unit are not independent, so they are drawn together.
    """

    about: str
    points: Callable[[R], Iterable[Datapoint | None]]
    unit: Callable[[R], Hashable] | None = None

    def datapoints(self, records: Iterable[R]) -> list[Datapoint]:
        """Return the datapoints of the records, each of which is judged."""
        return [point for record in records for point in self.points(record) if point is not None]

    def units(self, records: Iterable[R]) -> list[Hashable]:
        """Return the unit of each datapoint."""
        return [
            place if self.unit is None else self.unit(record)
            for place, record in enumerate(records)
            for point in self.points(record)
            if point is not None
        ]

    def left_out(self, records: Iterable[R]) -> int:
        """Return how many further datapoints nobody judged, or have no text to compare with."""
        return sum(point is None for record in records for point in self.points(record))


@dataclass(frozen=True)
class DataSet:
    """A data set in its native form.

    Attributes
    ----------
    name : str
        The kit's name of it.
    licence : str
        As its source states it.
    about : str
        What it has, in one line.
    source : str
        Where it is published.
    read : callable
        ``(*paths, problems=None) -> Collection``; see :func:`shroom.datasets.records.read`.
    summary : Summary, optional
        What to count and to group by; by default the labels and lengths of each view.
    views : dict of View
        By name, the default one first. Queries have none: nobody judged them.
    ending : str
        What the names of its files end in.
    is_linked : bool
        Whether a record needs another file, so that files are read together.
    predictions : callable or None
        ``(records, wrong, p) -> text``: a detector's predictions for the datapoints of any view,
        in the native form. ``None`` if there is no such form.
    no_predictions : str
        The reason why there is no such form.
    """

    name: str
    licence: str
    about: str
    source: str
    read: Callable[..., Collection[Any]]
    summary: Summary | None = None
    views: Mapping[str, View[Any]] = field(default_factory=dict)
    ending: str = ".jsonl"
    is_linked: bool = False
    predictions: Callable[[Sequence[Any], NDArray[np.bool_], NDArray[np.float64]], str] | None = (
        None
    )
    no_predictions: str = "predictions for it have no form of their own"

    def view(self, name: str | None = None) -> View[Any]:
        """Return a view, the default one if no name is given.

        Raises
        ------
        ShroomError
            If there is no view of that name, or none at all.

        Examples
        --------
        >>> from shroom.datasets.registry import data_set
        >>> data_set("felm").view().about
        'the segments of answers against the prompt and the references'
        """
        if not self.views:
            raise ShroomError(f"{self.name} has no datapoints: {self.about}")
        if name is None:
            return next(iter(self.views.values()))
        if name not in self.views:
            views = list(self.views)
            raise UnknownName(
                f"no view '{printable(name)}' of {self.name};{nearest(name, views)} its views are "
                f"{', '.join(views)}"
            )
        return self.views[name]
