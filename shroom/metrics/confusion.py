"""Metrics that are computed from the numbers of true and false positives and negatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.metrics.base import Exchange, Metric, refuse_other_shapes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    #: Numerator and denominator as sums of TP, FP, FN and TN.
    Ratio = tuple[tuple[int, int, int, int], tuple[int, int, int, int]]

PRECISION: Ratio = (1, 0, 0, 0), (1, 1, 0, 0)
RECALL: Ratio = (1, 0, 0, 0), (1, 0, 1, 0)
SPECIFICITY: Ratio = (0, 0, 0, 1), (0, 1, 0, 1)
F1: Ratio = (2, 0, 0, 0), (2, 1, 1, 0)


def counts(flagged: NDArray[Any], wrong: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each item whether it is a true or false positive, a false or true negative.

    Parameters
    ----------
    flagged : array, shape [m]
        True, or 1, for what the system calls wrong.
    wrong : array, shape [m]
        Likewise for what is wrong.

    Returns
    -------
    array of int, shape [m, 4]
        TP, FP, FN and TN, a single 1 in each row.

    Examples
    --------
    >>> counts(np.array([1, 1, 0]), np.array([1, 0, 0])).tolist()
    [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    """
    refuse_other_shapes(flagged, wrong)
    flagged, wrong = np.equal(flagged, 1), np.equal(wrong, 1)
    cells = (flagged & wrong, flagged & ~wrong, ~flagged & wrong, ~flagged & ~wrong)
    return np.column_stack(cells).astype(np.int64)


def _statistics(
    label: NDArray[Any], p: NDArray[Any], gold_label: NDArray[Any], gold_p: NDArray[Any]
) -> NDArray[np.int64]:
    del p, gold_p
    return counts(label, gold_label)


def of_counts(name: str, *ratios: Ratio, **about: Any) -> Metric:
    """Return the metric that is the mean of ratios of sums of TP, FP, FN and TN.

    Examples
    --------
    >>> found = of_counts("recall", RECALL)
    >>> found(counts(np.array([1, 0, 1]), np.array([1, 1, 0])))
    0.5
    """
    above, below = (np.array(side, np.float64).T for side in zip(*ratios))

    def of_sums(sums: Floats, n: int) -> Floats:
        del n
        with np.errstate(invalid="ignore"):
            return np.asarray(np.mean((sums @ above) / (sums @ below), axis=-1))

    def score(rows: NDArray[Any], weights: Floats) -> Floats:
        return of_sums(weights @ rows, len(rows))

    def influence(rows: NDArray[Any]) -> Floats:
        sums = rows.sum(axis=0)
        with np.errstate(invalid="ignore"):
            value = (sums @ above) / (sums @ below)
            deviation = (rows @ above - value * (rows @ below)) / (sums @ below)
        return np.asarray(deviation.mean(axis=1))

    exchange = Exchange(lambda rows: np.asarray(rows, np.float64), of_sums)
    return Metric(name, _statistics, score, (0.0, 1.0), influence, exchange, **about)


def _kappa(rows: NDArray[Any], weights: Floats) -> Floats:
    tp, fp, fn, tn = (weights @ rows).T.astype(np.float64)
    expected = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(2 * (tp * tn - fn * fp) / expected)


#: Agreement of two labellings, corrected for chance; undefined where both are one and the same
#: label throughout.
COHEN_KAPPA = Metric(
    "cohen_kappa",
    _statistics,
    _kappa,
    (-1.0, 1.0),
    about="how far two labellings agree, corrected for chance",
    formula="(pₒ - pₑ) / (1 - pₑ): the share of equal labels, over what chance would give",
    reference="J. Cohen (1960), A coefficient of agreement for nominal scales",
)
