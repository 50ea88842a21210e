"""The metrics by name, for lists and for ``--metrics``."""

from __future__ import annotations

from dataclasses import replace

from shroom.core.problems import ShroomError
from shroom.core.registry import Entry, Registry, unknown_name
from shroom.metrics.base import Metric

#: The metrics of binary labels, in the order of lists. They are imported on first use; installed
#: packages may add their own.
METRICS = Registry(
    "metric",
    {
        "accuracy": Entry("shroom.metrics.classification:ACCURACY"),
        "rho": Entry("shroom.metrics.correlation:RHO"),
        "balanced_accuracy": Entry("shroom.metrics.classification:BALANCED_ACCURACY"),
        "brier": Entry("shroom.metrics.calibration:BRIER"),
        "log_loss": Entry("shroom.metrics.calibration:LOG_LOSS"),
        "ece": Entry("shroom.metrics.reliability:ECE"),
        "mce": Entry("shroom.metrics.reliability:MCE"),
        "auroc": Entry("shroom.metrics.discrimination:AUROC"),
        "average_precision": Entry("shroom.metrics.discrimination:AVERAGE_PRECISION"),
    },
    group="shroom.metrics",
    base="shroom.metrics.base:Metric",
)


def metric(name: str) -> Metric:
    """Return the metric of binary labels with this name.

    Raises
    ------
    ShroomError
        If there is no such metric.

    Examples
    --------
    >>> metric("rho").bounds
    (-1.0, 1.0)
    """
    of_annotators = name not in METRICS and others().get(name)
    if of_annotators and of_annotators.inputs == ("votes",):
        raise ShroomError(
            f"'{name}' measures annotators, not systems; use: {of_annotators.command}"
        )
    loaded: Metric = METRICS.load(name)
    return loaded


def others() -> dict[str, Metric]:
    """Return the metrics of aspects, of spans and of annotators, by their names in lists."""
    from shroom.metrics.agreement import AGREEMENT
    from shroom.metrics.classification import ASPECT_METRICS
    from shroom.metrics.human_ceiling import CEILING
    from shroom.metrics.labelled_spans import METRICS as OF_LABELLED_SPANS
    from shroom.metrics.span_metrics import METRICS as OF_SPANS

    listed: dict[str, Metric] = {}
    for metrics in (ASPECT_METRICS, OF_SPANS, OF_LABELLED_SPANS, AGREEMENT, CEILING):
        for each in metrics.values():
            listed.setdefault(each.listed_as or each.name, each)
    return {name: each for name, each in listed.items() if name not in METRICS}


def describe(name: str) -> Metric:
    """Return any metric (of labels, aspects, spans or annotators) by its name in lists."""
    if name in METRICS:
        found = metric(name)
        return found if found.function else replace(found, function=METRICS[name].where)
    if name not in others():
        raise unknown_name("metric", name, [*METRICS, *others()])
    return others()[name]
