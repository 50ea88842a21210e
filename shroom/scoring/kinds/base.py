"""A kind of annotation as data: its fields, checks, metrics and floors; and all kinds by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shroom.core.problems import (
    EachRow,
    Problem,
    ShroomError,
    UnknownName,
    nearest,
    printable,
    show,
)
from shroom.core.registry import Entry, Registry
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
    """Return ``floor`` for a trivial system and ``reference`` for any other row to compare with."""
    return "reference" if name in REFERENCES else "floor"


def named(metrics: Mapping[str, Metric], name: str, edition: Edition) -> Metric:
    """Return a metric of an edition by its name."""
    if name in metrics:
        return metrics[name]
    raise UnknownName(
        f"no metric '{printable(name)}' in {edition.name};{nearest(name.lower(), metrics)} "
        f"the metrics are {', '.join(metrics)}"
    )


KINDS = Registry(
    "kind of annotation",
    {
        "binary": Entry("shroom.scoring.kinds.binary:BINARY"),
        "aspects": Entry("shroom.scoring.kinds.aspects:ASPECTS"),
        "spans": Entry("shroom.scoring.kinds.spans:SPANS"),
        "labelled-spans": Entry("shroom.scoring.kinds.labelled_spans:LABELLED_SPANS"),
    },
)


def kind_of(edition: Edition) -> Kind:
    """Return the kind of annotation of an edition."""
    kind: Kind = KINDS.load(edition.annotation.kind)
    return kind


def ranking_metrics(edition: Edition) -> tuple[Metric, ...]:
    """Return the ranking metrics of an edition; the first ranks, the others break ties."""
    kind = kind_of(edition)
    names = edition.metrics or kind.defaults(edition)
    # These are not looked up among those of other packages, which takes a while.
    usual = {metric.name: metric for metric in kind.floor_metrics}
    return tuple(usual.get(name) or kind.metric(name, edition) for name in names)


def with_ranking_metrics(
    edition: Edition, metrics: str | Iterable[Metric | str] = ()
) -> tuple[Metric, ...]:
    """Return the metrics of an edition and of its columns, and additional ``metrics``."""
    kind = kind_of(edition)
    ranking = ranking_metrics(edition)
    known = {metric.name for metric in ranking}
    names: list[Metric | str] = [c.metric for c in edition.columns if c.metric not in known]
    for metric in [metrics] if isinstance(metrics, str) else metrics:
        names += kind.metric_names(edition) if metric == "all" else [metric]
    further = (kind.metric(m, edition) if isinstance(m, str) else m for m in names)
    every = tuple(dict.fromkeys((*ranking, *further)))
    for name, count in Counter(metric.name for metric in every).items():
        if count > 1:
            raise ShroomError(f"two metrics have the name '{name}'; give your metric another name")
    return every
