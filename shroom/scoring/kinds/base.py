"""A kind of annotation as data: its fields, its columns, its checks, its metrics and its floors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shroom.core.problems import EachRow, Problem, UnknownName, nearest, printable, show

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shroom.metrics.base import Metric
    from shroom.scoring.editions.edition import Edition
    from shroom.scoring.rows import Role, Rows

#: What a metric takes: the label and p of a system, then of the gold, item by item.
Columns = tuple[Any, Any, Any, Any]
Found = Iterator["Problem | EachRow"]
#: What scores are compared with that uses the annotations, so that it is not a floor.
REFERENCES = ("gold label as p", "one annotator")


class Fault(NamedTuple):
    """What is wrong with a value, or with the part of it that ``part`` names."""

    code: str
    expected: str
    value: Any
    part: str = ""
    form: Callable[[Any], str] = show


#: A value as it is read, and what is wrong with it.
Read = tuple[Any, Sequence[Fault]]


class Field(NamedTuple):
    """A key that annotators or systems fill, and how its value is read."""

    key: str
    read: Callable[[Any], Read]
    missing: Any = None
    is_needed: bool = True


class Fields(NamedTuple):
    """Fields filled together; of ``either`` ones, predictions need only one."""

    fields: tuple[Field, ...]
    either: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """Their keys."""
        return tuple(field.key for field in self.fields)


@dataclass(frozen=True)
class Kind:
    """A kind of annotation, such as binary labels or spans."""

    #: The conventions of the metrics, as signatures have them.
    signature: str
    #: What rows of gold have, for messages.
    labels: str
    fields: Callable[[Edition, Role], Sequence[Fields]]
    #: The annotation of a :class:`~shroom.scoring.rows.Rows`, given the values of each field.
    arrays: Callable[[dict[str, list[Any]], Edition], dict[str, Any]]
    #: What metrics take: of predictions, the row for each row of the gold, and the gold.
    columns: Callable[[Rows, NDArray[Any], Rows], Columns]
    metric_names: Callable[[Edition], tuple[str, ...]]
    metric: Callable[[str, Edition], Metric]
    #: The metrics that rank if the edition lists none, the first one first.
    defaults: Callable[[Edition], tuple[str, ...]]
    #: What metrics take of trivial systems on the same gold, by their names.
    trivial: Callable[[Rows, Edition], Mapping[str, tuple[Any, Any]]]
    #: ``(key, value, edition)``: what a value can only mean; itself if it has another reading.
    meant: Callable[[str, Any, Edition], Any]
    #: The problems of any file, of predictions, and of predictions with gold.
    check_file: Callable[[Rows, Role], Found] = lambda *_: iter(())
    check_predictions: Callable[[Rows, Edition], Found] = lambda *_: iter(())
    check_pair: Callable[[Any], Found] = lambda *_: iter(())
    #: Whether texts are marked, without which a row of gold is left out.
    marks_texts: bool = False
    #: Keys of the data, which predictions may repeat.
    keys: tuple[str, ...] = ()
    #: The metrics of trivial systems, instead of those that are asked for.
    floor_metrics: tuple[Metric, ...] = ()

    def floors(
        self, gold: Rows, metrics: Iterable[Metric], edition: Edition
    ) -> dict[str, dict[str, float | None]]:
        """Return the scores of trivial systems on the same gold."""
        metrics = self.floor_metrics or tuple(metrics)
        side = self.columns(gold, np.arange(gold.n), gold)[2:]
        return {
            name: {metric.name: metric(metric.statistics(*own, *side)) for metric in metrics}
            for name, own in self.trivial(gold, edition).items()
        }


def floor_or_reference(name: str) -> str:
    """Return the word for a row that is no system: ``floor`` if it ignores the texts.

    Examples
    --------
    >>> floor_or_reference("majority label"), floor_or_reference("gold label as p")
    ('floor', 'reference')
    """
    return "reference" if name in REFERENCES else "floor"


def named(metrics: Mapping[str, Metric], name: str, edition: Edition) -> Metric:
    """Return a metric of an edition by its name."""
    if name in metrics:
        return metrics[name]
    raise UnknownName(
        f"no metric '{printable(name)}' of {edition.name};{nearest(name.lower(), metrics)} "
        f"the metrics are {', '.join(metrics)}"
    )
