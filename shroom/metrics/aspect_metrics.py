"""Metrics of aspects: several yes-or-no questions about each item."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from shroom.metrics.base import Array, Metric
from shroom.metrics.classification import ACCURACY, MACRO_F1

#: The metrics of every aspect, by the ending of their names.
METRICS = {"f1": MACRO_F1, "accuracy": ACCURACY}


@cache
def of_aspect(metric: str, aspect: str, column: int) -> Metric:
    """Return a metric of one aspect, which is one column of the labels.

    Parameters
    ----------
    metric : str
        ``f1`` for macro-F1, or ``accuracy``.
    aspect : str
        Name of the aspect; the name of the metric begins with this name.
    column : int
        Column of the aspect in the labels, which have the shape [n, aspects].

    Returns
    -------
    Metric
        The same object for the same arguments.

    Examples
    --------
    >>> import numpy as np
    >>> said, gold = np.array([[1, 0], [1, 1], [0, 1]]), np.array([[1, 1], [0, 1], [0, 1]])
    >>> fluency = of_aspect("f1", "fluency", 1)
    >>> fluency.name, fluency(fluency.statistics(said, said, gold, gold))
    ('fluency_f1', 0.4)
    """
    whole = METRICS[metric]

    def statistics(label: Array, p: Array, gold_label: Array, gold_p: Array) -> Array:
        del p, gold_p
        answers, gold_answers = label[:, column], gold_label[:, column]
        return whole.statistics(answers, answers, gold_answers, gold_answers)

    return replace(
        whole,
        name=f"{aspect}_{metric}",
        statistics=statistics,
        about=f"{whole.about}, for the aspect {aspect}",
    )
