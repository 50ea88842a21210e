"""The interface of a kind of annotation, such as binary labels or spans."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from shroom.core.problems import ShroomError, UnknownName, nearest, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from shroom.core.problems import Problems
    from shroom.metrics.base import Metric
    from shroom.scoring.editions.edition import Edition
    from shroom.scoring.table import Role, Table

#: What a metric takes: the label and p of a system, then of the gold, item by item.
Columns = tuple[Any, Any, Any, Any]


def scores_of(
    systems: Mapping[str, Columns], metrics: Iterable[Metric]
) -> dict[str, dict[str, float | None]]:
    """Return the scores of systems by name, such as trivial ones, given what metrics take."""
    metrics = tuple(metrics)
    return {
        name: {metric.name: metric(metric.statistics(*columns)) for metric in metrics}
        for name, columns in systems.items()
    }


class Kind(ABC):
    """A kind of annotation: its rows, its checks, its metrics and its trivial systems.

    The label and the p of a :class:`~shroom.scoring.table.Table` are whatever the metrics of the
    kind take; only its own methods look into them.
    """

    #: The conventions of the metrics, as signatures have them.
    signature: str
    #: What rows of gold have, for messages.
    labels: str

    @abstractmethod
    def tabulate(
        self, items: Iterable[Any], role: Role, file: str, problems: Problems, edition: Edition
    ) -> Table:
        """Return the items of a file as columns, reporting every problem of every item."""

    @abstractmethod
    def metric_names(self, edition: Edition) -> tuple[str, ...]:
        """Return the names of the kit's metrics, without importing them."""

    @abstractmethod
    def metric(self, name: str, edition: Edition) -> Metric:
        """Return a metric by its name."""

    @abstractmethod
    def defaults(self, edition: Edition) -> tuple[str, ...]:
        """Return the metrics that rank where the edition lists none, the first one first."""

    def ranking(self, edition: Edition) -> tuple[Metric, ...]:
        """Return the metrics of an edition: the first one ranks, the next ones break ties."""
        names = edition.metrics or self.defaults(edition)
        return tuple(self.metric(name, edition) for name in names)

    @abstractmethod
    def columns(self, predictions: Table, rows: NDArray[Any], gold: Table) -> Columns:
        """Return what metrics take, given the row of the predictions for each row of the gold."""

    @abstractmethod
    def floors(
        self, gold: Table, metrics: Iterable[Metric], edition: Edition
    ) -> Mapping[str, Mapping[str, float | None]]:
        """Return the scores of trivial systems on the same gold."""

    def meant(self, key: str, value: Any, edition: Edition) -> Any:
        """Return what a value of a row can only mean; the value itself if it has another reading.

        Parameters
        ----------
        key : str
            The key of the value, as the kind has it.
        value : object
            Any value.
        edition : Edition
            The edition of the row.
        """
        del key, edition
        return value

    def unknown_metric(self, name: str, edition: Edition) -> ShroomError:
        """Return the error for a name that is not one of the metrics."""
        names = self.metric_names(edition)
        return UnknownName(
            f"no metric '{printable(name)}' of {edition.name};{nearest(name.lower(), names)} "
            f"the metrics are {', '.join(names)}"
        )

    def check_columns(self, table: Table, problems: Problems) -> None:
        """Report problems of whole columns of predictions."""

    def check_aligned(self, track: Any, problems: Problems) -> None:
        """Report what the comparison of a :class:`Track` with its gold shows, if it has one."""

    def check_gold(self, gold: Table, problems: Problems) -> None:
        """Report problems of whole columns of gold."""

    def check_votes(self, gold: Table, problems: Problems) -> None:
        """Report gold that contradicts the annotators' votes."""
