"""Metrics of labels, and the counts of true and false positives and negatives behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.base import (
    LABELS,
    NO_ITEMS,
    ONE_LABEL,
    SCORE,
    Array,
    Floats,
    Metric,
    mean_of,
    of_sums,
    refuse_other_shapes,
)

#: Numerator and denominator as sums of TP, FP, FN and TN.
Ratio = tuple[tuple[int, int, int, int], tuple[int, int, int, int]]


def accuracy(label: Array, gold_label: Array, weights: Array | None = None) -> float:
    """Return the share of items whose label equals the gold's.

    Parameters
    ----------
    label, gold_label : array, shape [n]
        Labels of any type that can be compared.
    weights : array, shape [n], optional
        Weight of each item; 1 by default.

    Returns
    -------
    float
        In [0, 1]; ``nan`` for no items.

    Examples
    --------
    >>> accuracy(np.array([True, False, True]), np.array([True, True, True]))
    0.6666666666666666
    """
    return ACCURACY.weighted(ACCURACY.statistics(label, label, gold_label, gold_label), weights)


def balanced_accuracy(label: Array, gold_label: Array, weights: Array | None = None) -> float:
    """Return the mean of the shares of both gold labels' items that are labelled correctly.

    Parameters
    ----------
    label, gold_label : array, shape [n]
        1 or True for Hallucination.
    weights : array, shape [n], optional
        Weight of each item; 1 by default.

    Returns
    -------
    float
        In [0, 1], 0.5 for saying one label everywhere; ``nan`` if a gold label is missing.

    References
    ----------
    K. Brodersen et al. (2010), "The balanced accuracy and its posterior distribution".

    Examples
    --------
    >>> balanced_accuracy(np.array([1, 0, 0, 0]), np.array([1, 1, 0, 0]))
    0.75
    """
    return BALANCED_ACCURACY.weighted(counts(label, gold_label), weights)


def macro_f1(label: Array, gold_label: Array, weights: Array | None = None) -> float:
    """Return the mean of the F1 scores of both labels, of those that either side has.

    Parameters
    ----------
    label, gold_label : array, shape [n]
        1 or True for Hallucination, or for yes.
    weights : array, shape [n], optional
        Weight of each item; 1 by default.

    Returns
    -------
    float
        In [0, 1]. A label that one side alone has counts with an F1 of 0; one that neither has
        does not count. ``nan`` for no items.

    References
    ----------
    Y. Yang and X. Liu (1999), "A re-examination of text categorization methods"; scikit-learn's
    ``f1_score(average="macro")``, which it equals.

    Examples
    --------
    >>> macro_f1(np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0]))
    0.7333333333333334
    >>> macro_f1(np.array([1, 1]), np.array([1, 1]))
    1.0
    """
    return MACRO_F1.weighted(counts(label, gold_label), weights)


PRECISION: Ratio = (1, 0, 0, 0), (1, 1, 0, 0)
RECALL: Ratio = (1, 0, 0, 0), (1, 0, 1, 0)
SPECIFICITY: Ratio = (0, 0, 0, 1), (0, 1, 0, 1)
F1: Ratio = (2, 0, 0, 0), (2, 1, 1, 0)
F1_OF_OTHERS: Ratio = (0, 0, 0, 2), (0, 1, 1, 2)
CORRECT: Ratio = (1, 0, 0, 1), (1, 1, 1, 1)


def counts(flagged: Array, wrong: Array) -> NDArray[np.int64]:
    """Return TP, FP, FN and TN of each item, a single 1 in each row: shape [m, 4]."""
    refuse_other_shapes(flagged, wrong)
    flagged, wrong = np.equal(flagged, 1), np.equal(wrong, 1)
    cells = (flagged & wrong, flagged & ~wrong, ~flagged & wrong, ~flagged & ~wrong)
    return np.column_stack(cells).astype(np.int64)


def _correct(label: Array, gold_label: Array) -> Array:
    refuse_other_shapes(label, gold_label)
    return np.asarray(np.asarray(label) == np.asarray(gold_label))


def of_counts(
    name: str,
    *ratios: Ratio,
    rows: Callable[..., Array] = counts,
    skip_undefined: bool = False,
    **about: Any,
) -> Metric:
    """Return the metric that is the mean of ratios of sums of TP, FP, FN and TN."""
    # ``rows`` makes the counts of the columns. An undefined ratio leaves the mean undefined, unless
    # it is skipped.
    above, below = (np.array(side, np.float64).T for side in zip(*ratios))

    def mean(values: Floats, sums: Floats) -> Floats:
        if not skip_undefined:
            return np.asarray(values.mean(axis=-1))
        defined = sums @ below > 0
        return np.asarray(np.where(defined, values, 0.0).sum(axis=-1) / defined.sum(axis=-1))

    def value(sums: Floats, _total: Any) -> Floats:
        return mean((sums @ above) / (sums @ below), sums)

    @np.errstate(invalid="ignore")
    def influence(rows: Array) -> Floats:
        sums = rows.sum(axis=0)
        ratio = (sums @ above) / (sums @ below)
        return mean((rows @ above - ratio * (rows @ below)) / (sums @ below), sums)

    def share(rows: Array) -> Floats:
        return np.asarray(rows @ np.concatenate((above, below), axis=1))

    is_share = below.shape[1] == 1 and below.max() == 1  # in F1 a true positive counts twice
    about |= {"share": share} if is_share else {"classes": classes}
    about = {"columns": LABELS, "influence": influence, **about}
    return of_sums(name, rows, value, **about)


def classes(rows: Array) -> NDArray[Any]:
    """Return whether each item is wrong, or not, by the gold: shape [n, 2]."""
    return np.column_stack((rows[:, 0] + rows[:, 2], rows[:, 1] + rows[:, 3]))


def _kappa(sums: Floats, _total: Any) -> Floats:
    tp, fp, fn, tn = np.moveaxis(sums, -1, 0)
    expected = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    return np.asarray(2 * (tp * tn - fn * fp) / expected)


#: Agreement of two labellings, corrected for chance; undefined where both are one and the same
#: label throughout.
COHEN_KAPPA = of_sums(
    "cohen_kappa",
    counts,
    _kappa,
    bounds=(-1.0, 1.0),
    columns=LABELS,
    about="how far two labellings agree, corrected for chance",
    reference="J. Cohen (1960), A coefficient of agreement for nominal scales",
    classes=classes,
)

#: Accuracy: the share of items whose label equals the majority of the annotators.
ACCURACY = mean_of(
    "accuracy",
    _correct,
    columns=LABELS,
    about="the share of labels that equal the majority of the annotators",
    formula="(1/n) Σ [labelᵢ = gold labelᵢ]",
    reference="Mickus et al. (2024), SemEval-2024 Task 6: SHROOM, section 4",
    function="shroom.metrics.classification:accuracy",
    command=SCORE,
    share=lambda rows: np.column_stack((rows[:, 0], np.ones(len(rows)))),
)

#: Balanced accuracy: the mean of both gold labels' recall.
BALANCED_ACCURACY = of_counts(
    "balanced_accuracy",
    RECALL,
    SPECIFICITY,
    about="the mean of the shares of hallucinations and of other items that are labelled correctly",
    formula="½ TP / (TP + FN) + ½ TN / (TN + FP)",
    undefined=ONE_LABEL,
    reference="K. Brodersen et al. (2010), The balanced accuracy and its posterior distribution",
    function="shroom.metrics.classification:balanced_accuracy",
)

#: Macro-F1: the mean of both labels' F1.
MACRO_F1 = of_counts(
    "macro_f1",
    F1,
    F1_OF_OTHERS,
    skip_undefined=True,
    about="the mean of the F1 scores of both labels, of those that either side has",
    formula="½ · 2 TP / (2 TP + FP + FN) + ½ · 2 TN / (2 TN + FP + FN)",
    undefined=NO_ITEMS,
    reference="Y. Yang and X. Liu (1999), A re-examination of text categorization methods",
    function="shroom.metrics.classification:macro_f1",
    command=f"{SCORE} --edition cap2025",
)


@dataclass(frozen=True)
class Confusion:
    """How many items have which label, by the annotators' majority and by the system."""

    both: int
    only_gold: int
    only_system: int
    neither: int


def confusion(label: Array, gold_label: Array) -> Confusion:
    """Return how many items have which label; 1 is Hallucination."""
    tp, fp, fn, tn = counts(label, gold_label).sum(axis=0).tolist()
    return Confusion(both=tp, only_gold=fn, only_system=fp, neither=tn)
