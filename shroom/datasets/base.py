"""The interface of a data set, by which the kit reads, describes, converts and scores it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint
from shroom.core.problems import ShroomError, UnknownName, nearest, printable
from shroom.datasets.collection import Collection


@dataclass(frozen=True)
class View:
    """One way to see the records of a data set as datapoints.

    A record gives any number of datapoints, independently of the other records.

    Attributes
    ----------
    about : str
        What premise, hypothesis and p are.
    datapoints : callable
        ``records -> [Datapoint]``; each is judged, so what nobody judged is left out.
    units : callable
        ``records -> [unit]``: for each datapoint what it belongs to, a response or a dialogue.
        Datapoints of one unit are not independent, so they are drawn together.
    left_out : callable
        ``records -> int``: the number of further datapoints that nobody judged, or that have no
        text to compare with; none by default.
    """

    about: str
    datapoints: Callable[[Sequence[Any]], list[Datapoint]]
    units: Callable[[Sequence[Any]], list[Hashable]]
    left_out: Callable[[Sequence[Any]], int] = lambda _: 0

    @classmethod
    def of_records(cls, about: str, datapoints: Callable[[Sequence[Any]], list[Datapoint]]) -> View:
        """Return a view in which each judged record is a datapoint, and a unit of its own."""
        return cls(
            about,
            datapoints,
            lambda records: [*range(len(datapoints(records)))],
            lambda records: len(records) - len(datapoints(records)),
        )


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
        ``(*paths, problems=None) -> Collection``.
    views : dict of View
        By name, the default one first. Queries have none: nobody judged them.
    ending : str
        What the names of its files end in.
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
    views: Mapping[str, View] = field(default_factory=dict)
    ending: str = ".jsonl"
    predictions: Callable[[Sequence[Any], NDArray[np.bool_], NDArray[np.float64]], str] | None = (
        None
    )
    no_predictions: str = "predictions for it have no form of their own"

    def view(self, name: str | None = None) -> View:
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
