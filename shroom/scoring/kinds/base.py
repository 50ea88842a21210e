"""A kind of annotation as data: its fields, columns, checks, metrics and floors."""

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

#: The arguments of a metric: label and p of a system, then of the gold, by item.
Columns = tuple[Any, Any, Any, Any]
Found = Iterator["Problem | EachRow"]
#: The rows to compare scores with that are not floors, because they use the annotations.
REFERENCES = ("gold label as p", "one annotator")


class Fault(NamedTuple):
    """A problem of a value, or of its part ``part``."""

    code: str
    expected: str
    value: Any
    part: str = ""
    form: Callable[[Any], str] = show


#: A value as it is read, and what is wrong with it.
Read = tuple[Any, Sequence[Fault]]


class Field(NamedTuple):
    """A key of annotations or predictions, and the function that reads its value."""

    key: str
    read: Callable[[Any], Read]
    missing: Any = None
    is_needed: bool = True


class Fields(NamedTuple):
    """Fields that belong together; with ``either``, predictions need only one of them."""

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
    #: The annotation in rows of gold, for messages.
    labels: str
    fields: Callable[[Edition, Role], Sequence[Fields]]
    #: The annotation of a :class:`~shroom.scoring.rows.Rows`, given the values of each field.
    arrays: Callable[[dict[str, list[Any]], Edition], dict[str, Any]]
    #: The arguments of metrics, given predictions, their row for each gold row, and the gold.
    columns: Callable[[Rows, NDArray[Any], Rows], Columns]
    metric_names: Callable[[Edition], tuple[str, ...]]
    metric: Callable[[str, Edition], Metric]
    #: The metrics that rank if the edition lists none, the first one first.
    defaults: Callable[[Edition], tuple[str, ...]]
    #: The label and p of floors and references on the same gold, by name.
    trivial: Callable[[Rows, Edition], Mapping[str, tuple[Any, Any]]]
    #: ``(key, value, edition)``: the unambiguous meaning of a value; otherwise the value itself.
    meant: Callable[[str, Any, Edition], Any]
    #: The problems of any file, of predictions, and of predictions with gold.
    check_file: Callable[[Rows, Role], Found] = lambda *_: iter(())
    check_predictions: Callable[[Rows, Edition], Found] = lambda *_: iter(())
    check_pair: Callable[[Any], Found] = lambda *_: iter(())
    #: Whether texts are marked; gold rows without a text are then ignored.
    marks_texts: bool = False
    #: Keys of the data, which predictions may repeat.
    keys: tuple[str, ...] = ()
    #: The metrics of floors and references, instead of all requested metrics.
    floor_metrics: tuple[Metric, ...] = ()

    def floors(
        self, gold: Rows, metrics: Iterable[Metric], edition: Edition
    ) -> dict[str, dict[str, float | None]]:
        """Return the scores of floors and references on the same gold."""
        metrics = self.floor_metrics or tuple(metrics)
        side = self.columns(gold, np.arange(gold.n), gold)[2:]
        return {
            name: {metric.name: metric(metric.statistics(*own, *side)) for metric in metrics}
            for name, own in self.trivial(gold, edition).items()
        }


def floor_or_reference(name: str) -> str:
    """Return ``floor`` for a trivial system and ``reference`` for any other row to compare with.

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
        f"no metric '{printable(name)}' in {edition.name};{nearest(name.lower(), metrics)} "
        f"the metrics are {', '.join(metrics)}"
    )
