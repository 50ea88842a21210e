"""The folds of cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shroom.core.datapoint import Datapoint

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
        raise ShroomError(f"fitting needs scikit-learn: {install_hint('stack')}") from error
    number = {hyp: place for place, hyp in enumerate(dict.fromkeys(d.hyp for d in datapoints))}
    if len(number) < 2:
        raise ShroomError("fitting needs datapoints of at least two different hypotheses")
    groups = np.array([number[point.hyp] for point in datapoints])
    return list(GroupKFold(min(folds, len(number))).split(groups, groups, groups))
