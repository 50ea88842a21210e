"""Cohen's kappa of two labellings of the same items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.metrics.base import Metric
from shroom.metrics.confusion import counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def _statistics(
    label: NDArray[Any], p: NDArray[Any], gold_label: NDArray[Any], gold_p: NDArray[Any]
) -> NDArray[np.int64]:
    del p, gold_p
    return counts(label, gold_label)


def _score(rows: NDArray[Any], weights: Floats) -> Floats:
    tp, fp, fn, tn = (weights @ rows).T.astype(np.float64)
    expected = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(2 * (tp * tn - fn * fp) / expected)


#: Agreement of two labellings, corrected for chance; undefined where both are one and the same
#: label throughout.
COHEN_KAPPA = Metric(
    "cohen_kappa",
    _statistics,
    _score,
    (-1.0, 1.0),
    about="how far two labellings agree, corrected for chance",
    formula="(pₒ - pₑ) / (1 - pₑ): the share of equal labels, over what chance would give",
    reference="J. Cohen (1960), A coefficient of agreement for nominal scales",
)
