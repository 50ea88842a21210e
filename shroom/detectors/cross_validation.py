"""Cross-validation: what a trainable detector says of datapoints that it was not fitted on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError
from shroom.detectors.base import limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shroom.core.datapoint import Datapoint
    from shroom.detectors.base import Trainable

    Split = tuple[NDArray[np.intp], NDArray[np.intp]]


def out_of_fold(
    make: Callable[[], Trainable],
    datapoints: Sequence[Datapoint],
    folds: int = 10,
    p: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return p(Hallucination) of each datapoint, from a detector fitted on the other folds.

    Datapoints with the same hypothesis stay in one fold, so that a duplicate never tells.

    Parameters
    ----------
    make : callable
        Makes a detector that has not been fitted.
    datapoints : sequence of Datapoint
        All of them labelled, unless ``p`` is given.
    folds : int
        How many parts; fewer where there are fewer distinct hypotheses.
    p : array, shape [n], optional
        What to fit on, by default the annotators' proportions.

    Returns
    -------
    array, shape [n]
    """
    return judged_out_of_fold(make, datapoints, folds, p)[0]


def judged_out_of_fold(
    make: Callable[[], Trainable],
    datapoints: Sequence[Datapoint],
    folds: int = 10,
    p: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what :func:`out_of_fold` does, and the threshold that each p is to be held against.

    Thresholds that are fitted, too, come from the detector that gave the p, and so have not seen
    the datapoint's label either.

    Returns
    -------
    p, thresholds : array, shape [n]
    """
    gold = np.array([point.p for point in datapoints], np.float64) if p is None else p
    found, held = np.empty(len(gold)), np.empty(len(gold))
    first: Any = None
    for train, test in splits(datapoints, folds):
        made: Any = make()
        if first is None:
            first = made
            if hasattr(made, "prepare"):
                made.prepare(datapoints)
        elif hasattr(made, "share"):  # what does not depend on labels is computed once
            made.share(first)
        fitted = made.fit([datapoints[i] for i in train], gold[train])
        unseen = [datapoints[i] for i in test]
        found[test], held[test] = fitted.predict(unseen), limits(fitted, unseen)
    return found, held


def splits(datapoints: Sequence[Datapoint], folds: int) -> list[Split]:
    """Return the places to fit on and the places to judge, for each fold.

    Raises
    ------
    ShroomError
        Where there are not two different hypotheses, or scikit-learn is missing.
    """
    try:
        from sklearn.model_selection import GroupKFold
    except ImportError as error:
        raise ShroomError(f"fitting needs scikit-learn: {install_hint('stack')}") from error
    number = {hyp: place for place, hyp in enumerate(dict.fromkeys(d.hyp for d in datapoints))}
    if len(number) < 2:
        raise ShroomError("fitting needs datapoints of at least two different hypotheses")
    groups = np.array([number[point.hyp] for point in datapoints])
    return list(GroupKFold(min(folds, len(number))).split(groups, groups, groups))
