"""The arrays that detectors take and return, with their checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint, Label
from shroom.core.problems import ShroomError, show
from shroom.scoring.datapoint_files import read
from shroom.scoring.rows import P

Datapoints = Sequence[Datapoint]
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


def check_p(p: Any, n: int, name: str) -> Floats:
    """Return a detector's p as an array of n numbers from 0 to 1, or raise a ShroomError."""
    array, got = _shares(p, n)
    if got:
        raise ShroomError(
            f"the detector {name} must return an array of {n} numbers from 0 to 1, got {got}"
        )
    return array


def label_columns(flagged: NDArray[Any], p: NDArray[Any]) -> dict[str, list[Any]]:
    """Return labels with p(Hallucination) as the columns of a submission."""
    words = {True: Label.HALLUCINATION.value, False: Label.NOT_HALLUCINATION.value}
    return {"label": [words[one] for one in flagged.astype(bool).tolist()], P: p.tolist()}


def datapoints_of(X: Any) -> Datapoints:
    """Return the datapoints of scikit-learn's ``X``."""
    if isinstance(X, (list, tuple)) and all(isinstance(point, Datapoint) for point in X):
        return X
    return read(X)


def proportions(y: Any, n: int) -> Floats:
    """Return the annotators' proportions of scikit-learn's ``y``: shape [n]."""
    p, got = _shares(y, n)
    if got:
        raise ShroomError(
            f"y: expected True, False or a number from 0 to 1 for each of {n} datapoints, "
            f"got {got}; if y contains label names, pass y == 'Hallucination'; in "
            "cross_val_predict(method='predict_proba'), pass y > 0.5"
        )
    return p


def _shares(values: Any, n: int) -> tuple[Floats, str]:
    """Return values as an array, and what it is if it is not n numbers from 0 to 1."""
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        return np.empty(0), show(values)
    if array.shape != (n,):
        return array, f"an array of shape {array.shape}"
    wrong = np.flatnonzero(~((array >= 0) & (array <= 1)))
    return array, f"{array[wrong[0]]} for datapoint {wrong[0]}" if len(wrong) else ""
