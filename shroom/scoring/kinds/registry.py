"""The kind of annotation of an edition, and its ranking metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.core.registry import Entry, Registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shroom.metrics.base import Metric
    from shroom.scoring.editions.edition import Edition
    from shroom.scoring.kinds.base import Kind

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
    return tuple(dict.fromkeys((*ranking, *further)))
