"""Cross-validation: its folds, and the strength of a penalty that it chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError
from shroom.metrics.calibration import log_loss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shroom.core.datapoint import Datapoint

    Values = NDArray[np.float64]
    Words = NDArray[np.str_]
    Split = tuple[NDArray[np.intp], NDArray[np.intp]]


def splits(datapoints: Sequence[Datapoint], folds: int) -> list[Split]:
    """Return the places to fit on and the places to predict, for each fold.

    Datapoints with the same hypothesis are in one fold.

    Raises
    ------
    ShroomError
        If there are not two different hypotheses, or scikit-learn is missing.
    """
    try:
        from sklearn.model_selection import GroupKFold
    except ImportError as error:
        raise ShroomError(f"fitting needs scikit-learn: {install_hint('fit')}") from error
    number = {hyp: place for place, hyp in enumerate(dict.fromkeys(d.hyp for d in datapoints))}
    if len(number) < 2:
        raise ShroomError("fitting needs datapoints of at least two different hypotheses")
    groups = np.array([number[point.hyp] for point in datapoints])
    return list(GroupKFold(min(folds, len(number))).split(groups, groups, groups))


def best_strength(
    fit: Callable[[Values, Words, Values, float], Any],
    strengths: Sequence[float],
    values: Values,
    tasks: Words,
    p: Values,
    folds: Sequence[Split],
) -> tuple[float, Values]:
    """Return the inverse strength of a penalty with the least loss, and p out of fold with it.

    Parameters
    ----------
    fit : callable
        ``(values, tasks, p, c)`` to a model that has a method ``p(values, tasks)``.
    strengths : sequence of float
        The values of c that are compared.
    values : array, shape [n, k]
        The columns.
    tasks : array of str, shape [n]
        The task of each row.
    p : array, shape [n]
        The annotators' proportions.
    folds : sequence of (array, array)
        The places to fit on and the places to predict.
    """
    unseen = {c: np.empty(len(p)) for c in strengths}
    for c, found in unseen.items():
        for train, test in folds:
            model = fit(values[train], tasks[train], p[train], c)
            found[test] = model.p(values[test], tasks[test])
    best = min(unseen, key=lambda c: log_loss(unseen[c], p))
    return best, unseen[best]
