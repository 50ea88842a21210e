"""The interface of a data set, through which the kit reads, describes, converts and scores it."""

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
    """One way to turn the records of a data set into datapoints.

    Attributes
    ----------
    about : str
        What the premise, the hypothesis and p are.
    points : callable
        ``record -> [Datapoint]``, with ``None`` for each datapoint that has no label or no premise.
    unit : callable, optional
        ``record -> unit``; by default, each record is a unit. Datapoints of one unit are not
        independent, so the bootstrap draws whole units.
    """

    about: str
    points: Callable[[R], Iterable[Datapoint | None]]
    unit: Callable[[R], Hashable] | None = None

    def datapoints(self, records: Iterable[R]) -> list[Datapoint]:
        """Return the labelled datapoints of the records."""
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
        """Return how many datapoints have no label, or no text to compare with."""
        return sum(point is None for record in records for point in self.points(record))


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
    summary : Summary, optional
        What to count, measure and group by; by default, the labels and text lengths of each view.
    views : dict of View
        The views by name; the first is the default. Empty if no record is labelled.
    ending : str
        The ending of the file names.
    is_linked : bool
        Whether records refer to records in another file, so that all files are read together.
    predictions : callable or None
        ``(records, wrong, p) -> text``: writes a detector's predictions for the datapoints of any
        view in the native form. ``None`` if there is no native form.
    no_predictions : str
        The reason why there is no native form, for messages.
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
    no_predictions: str = "the data set has no prediction format of its own"

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
