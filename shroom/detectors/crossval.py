"""Cross-validation: what a trainable detector says of datapoints that it was not fitted on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

import numpy as np

from shroom.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shroom.datapoint import Datapoint
    from shroom.detectors.base import Trainable


def out_of_fold(
    make: Callable[[], Trainable], datapoints: Sequence[Datapoint], folds: int = 10
) -> NDArray[np.float64]:
    """Return p(Hallucination) of each datapoint, from a detector fitted on the other folds.

    Datapoints with the same hypothesis stay in one fold, so that a duplicate never tells.

    Parameters
    ----------
    make : callable
        Makes a detector that has not been fitted.
    datapoints : sequence of Datapoint
        All of them labelled.
    folds : int
        How many parts; fewer where there are fewer distinct hypotheses.

    Returns
    -------
    array, shape [n]
    """
    try:
        from sklearn.model_selection import GroupKFold
    except ImportError as error:
        raise ShroomError("fitting needs scikit-learn: pip install scikit-learn") from error
    number = {hyp: place for place, hyp in enumerate(dict.fromkeys(d.hyp for d in datapoints))}
    if len(number) < 2:
        raise ShroomError("fitting needs datapoints of at least two different hypotheses")
    groups = np.array([number[point.hyp] for point in datapoints])
    p = np.array([point.p for point in datapoints], np.float64)
    found = np.empty(len(p))
    for train, test in GroupKFold(min(folds, len(number))).split(p, p, groups):
        fitted = make().fit([datapoints[i] for i in train], p[train])
        found[test] = fitted.predict([datapoints[i] for i in test])
    return found
