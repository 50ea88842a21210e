"""Metrics of labels, also of one of several aspects, from the counts of right and wrong labels."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
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

#: The factors of the counts (TP, FP, FN and TN) in a numerator and in a denominator.
Ratio = tuple[tuple[int, ...], tuple[int, ...]]


def accuracy(label: Array, gold_label: Array, weights: Array | None = None) -> float:
    """Return the share of items whose label equals the gold label.

    p is not used, even if it contradicts the label. Always compare the result with the majority
    label, whose accuracy is the share of the more frequent label. McNemar's test is the exact form
    of the randomisation test of accuracy, so the tests' p-values agree except for random error.

    Parameters
    ----------
    label, gold_label : array, shape [n]
        Labels of any type.
    weights : array, shape [n], optional
        Weight of each item; 1 by default.

    Returns
    -------
    float
        In [0, 1]; ``nan`` if there are no items.

    Examples
    --------
    >>> accuracy(np.array([True, False, True]), np.array([True, True, True]))
    0.6666666666666666
    """
    return ACCURACY.weighted(ACCURACY.statistics(label, label, gold_label, gold_label), weights)


def balanced_accuracy(label: Array, gold_label: Array, weights: Array | None = None) -> float:
    """Return the mean recall of the two gold labels.

    Use balanced accuracy if one label is rare: a system that predicts the same label for every item
    gets 0.5, whatever the share of hallucinations. If there are few hallucinations, intervals are
    wide. Unlike AUROC, the result depends on the threshold for p.

    Parameters
    ----------
    label, gold_label : array, shape [n]
        1 or True for Hallucination.
    weights : array, shape [n], optional
        Weight of each item; 1 by default.

    Returns
    -------
    float
        In [0, 1]; ``nan`` if only one gold label occurs.

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
    """Return the mean of the F1 scores of both labels.

    Both labels count equally, even if one label is rare. In an edition with aspects, the name of
    the metric begins with the name of the aspect, as in ``factual_f1``.

    Parameters
    ----------
    label, gold_label : array, shape [n]
        1 or True for Hallucination or yes.
    weights : array, shape [n], optional
        Weight of each item; 1 by default.

    Returns
    -------
    float
        In [0, 1]; ``nan`` if there are no items. A label that occurs only in the predictions or
        only in the gold gets an F1 of 0. A label that occurs in neither is left out.

    References
    ----------
    Y. Yang and X. Liu (1999), "A re-examination of text categorization methods". The result equals
    scikit-learn's ``f1_score(average="macro")``.

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
    """Return TP, FP, FN and TN of each item: shape [m, 4], with a single 1 in each row."""
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
    """Return a metric that is the mean of ratios of sums of TP, FP, FN and TN."""
    # ``rows`` computes the counts from the columns. The mean is undefined if one of its ratios is,
    # unless undefined ratios are skipped.
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
    own: dict[str, Any] = {"share": share} if is_share else {"classes": classes}
    about = {"columns": LABELS, "influence": influence, **own, **about}
    return of_sums(name, rows, value, **about)


def classes(rows: Array) -> NDArray[Any]:
    """Return the gold class of each item, as a 1 in one of two columns: shape [n, 2]."""
    return np.column_stack((rows[:, 0] + rows[:, 2], rows[:, 1] + rows[:, 3]))


def _kappa(sums: Floats, _total: Any) -> Floats:
    tp, fp, fn, tn = np.moveaxis(sums, -1, 0)
    expected = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    return np.asarray(2 * (tp * tn - fn * fp) / expected)


#: Agreement of two sets of labels, corrected for chance; undefined if both have one and the same
#: label on every item.
COHEN_KAPPA = of_sums(
    "cohen_kappa",
    counts,
    _kappa,
    bounds=(-1.0, 1.0),
    columns=LABELS,
    about="the agreement of two sets of labels, corrected for chance",
    reference="J. Cohen (1960), A coefficient of agreement for nominal scales",
    classes=classes,
)

#: Accuracy: the share of labels that agree with the majority of the annotators.
ACCURACY = mean_of(
    "accuracy",
    _correct,
    columns=LABELS,
    about="the share of labels that agree with the majority of the annotators",
    formula="(1/n) Σ [labelᵢ = gold labelᵢ]",
    reference="Mickus et al. (2024), SemEval-2024 Task 6: SHROOM, section 4",
    function="shroom.metrics.classification:accuracy",
    command=SCORE,
    share=lambda rows: np.column_stack((rows[:, 0], np.ones(len(rows)))),
)

#: Balanced accuracy: the mean recall of the two gold labels.
BALANCED_ACCURACY = of_counts(
    "balanced_accuracy",
    RECALL,
    SPECIFICITY,
    about="the mean recall of the two labels",
    formula="½ TP / (TP + FN) + ½ TN / (TN + FP)",
    undefined=ONE_LABEL,
    reference="K. Brodersen et al. (2010), The balanced accuracy and its posterior distribution",
    function="shroom.metrics.classification:balanced_accuracy",
)

#: Macro-F1: the mean F1 of the two labels.
MACRO_F1 = of_counts(
    "macro_f1",
    F1,
    F1_OF_OTHERS,
    skip_undefined=True,
    about="the mean F1 of the two labels",
    formula="½ · 2 TP / (2 TP + FP + FN) + ½ · 2 TN / (2 TN + FP + FN)",
    undefined=NO_ITEMS,
    reference="Y. Yang and X. Liu (1999), A re-examination of text categorization methods",
    function="shroom.metrics.classification:macro_f1",
    command=f"{SCORE} --edition cap2025",
)

#: The metrics of every aspect, a yes-or-no question about each item, by the ending of their names.
ASPECT_METRICS = {"f1": MACRO_F1, "accuracy": ACCURACY}


@cache
def of_aspect(metric: str, aspect: str, column: int) -> Metric:
    """Return the metric ``ASPECT_METRICS[metric]`` of one column of labels, [n, aspects].

    >>> said, gold = np.array([[1, 0], [1, 1], [0, 1]]), np.array([[1, 1], [0, 1], [0, 1]])
    >>> fluency = of_aspect("f1", "fluency", 1)
    >>> fluency.name, fluency(fluency.statistics(said, said, gold, gold))
    ('fluency_f1', 0.4)
    """
    whole = ASPECT_METRICS[metric]

    def statistics(label: Array, p: Array, gold_label: Array, gold_p: Array) -> Array:
        del p, gold_p
        answers, gold_answers = label[:, column], gold_label[:, column]
        return whole.statistics(answers, answers, gold_answers, gold_answers)

    about = f"{whole.about}, for the aspect {aspect}"
    return replace(whole, name=f"{aspect}_{metric}", statistics=statistics, about=about)
