"""Metrics of labelled spans of characters, as in SHROOM-Visions 2026."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.base import LABELS, NO_ITEMS, SCORE, Array, Floats, Metric, mean_of
from shroom.metrics.classification import (
    CORRECT,
    F1,
    PRECISION,
    RECALL,
    counts,
    of_counts,
)
from shroom.metrics.span_arrays import Cells, Ints, Spans
from shroom.metrics.span_metrics import IOU as IOU_OF_SPANS
from shroom.metrics.span_metrics import SPANS, correlations, everything, iou


@dataclass(frozen=True)
class LabelledSpans:
    """The spans of n texts, each with a label.

    Attributes
    ----------
    spans : Spans
        The m spans.
    label : array of int, shape [m]
        The number of each span's label, in [0, labels).
    labels : int
        Number of labels.
    """

    spans: Spans
    label: Ints
    labels: int

    @classmethod
    def of(
        cls,
        texts: Sequence[Sequence[tuple[int, int, float, int]]],
        lengths: Sequence[int],
        labels: int,
    ) -> LabelledSpans:
        """Return the spans of texts as arrays.

        Parameters
        ----------
        texts : sequence of n sequences of (start, end, prob, label)
            The spans of each text.
        lengths : n integers
            Number of characters of each text.
        labels : int
            Number of labels.

        Examples
        --------
        >>> spans = LabelledSpans.of([[(0, 4, 0.5, 1), (2, 9, 1.0, 0)], []], [9, 3], labels=2)
        >>> spans.label.tolist(), spans.by_label().text.tolist()
        ([1, 0], [1, 0])
        """
        label = np.array([span[3] for spans in texts for span in spans], np.int64)
        return cls(Spans.of(texts, lengths), label, labels)

    def by_label(self) -> Spans:
        """Return the spans of n * labels texts: each text occurs once for each label."""
        old = self.spans
        lengths = np.repeat(old.lengths, self.labels)
        return Spans(lengths, old.text * self.labels + self.label, old.start, old.end, old.prob)

    def marks(self) -> NDArray[np.bool_]:
        """Return for each text whether any character is marked."""
        marked = np.zeros(len(self.spans.lengths), bool)
        marked[self.spans.within().text] = True
        return marked


def cor(predicted: Spans, gold: Spans) -> Floats:
    """Return Spearman's correlation of the characters' probabilities in each text.

    A character outside all spans has probability 0. The probabilities of overlapping gold spans are
    added, but a later predicted span overwrites an earlier one. If only one side is constant (to
    eight digits), the result is 0. If both sides are constant, the result is 0 if exactly one of
    them is 0; otherwise, it is 1.

    Parameters
    ----------
    predicted, gold : Spans
        Spans of the same n texts in the same order.

    Returns
    -------
    array, shape [n]
        In [-1, 1]. If the gold is used as predictions, the result is 1 only if no gold spans
        overlap.

    Raises
    ------
    ValueError
        If the texts of the two sides differ in length.

    References
    ----------
    The organisers' program of SHROOM-Visions 2026.

    Examples
    --------
    >>> gold = Spans.of([[(0, 4, 0.5), (2, 4, 0.3)], [], [(0, 3, 1.0)]], lengths=[6, 3, 3])
    >>> cor(gold, gold).round(4).tolist()
    [0.5, 1.0, 1.0]
    >>> cor(everything([6, 3, 3]), gold).tolist()
    [0.0, 0.0, 1.0]
    """
    predicted, gold = predicted.within(), gold.within()
    cells = Cells(predicted, gold, everything(gold.lengths))
    sides = cells.painted(predicted), cells.painted(gold, add=True)
    zero = [cells.is_zero(values) for values in sides]
    values = correlations(cells, *sides)
    return np.where(np.isnan(values), zero[0] == zero[1], values)


def cor_lbl(predicted: LabelledSpans, gold: LabelledSpans) -> Floats:
    """Return the mean of :func:`cor` over the labels of each text's spans.

    The mean is over the labels that occur on either side. If a system marks the right characters
    with a wrong label, the result is therefore 0 for both labels. A text without spans gets 1.

    Parameters
    ----------
    predicted, gold : LabelledSpans
        Spans of the same n texts in the same order, with the same labels.

    Returns
    -------
    array, shape [n]
        In [-1, 1].

    Raises
    ------
    ValueError
        If the texts of the two sides differ in length, or if the sides have different numbers of
        labels.

    References
    ----------
    The organisers' program of SHROOM-Visions 2026.

    Examples
    --------
    >>> gold = LabelledSpans.of([[(0, 4, 1.0, 0)], []], lengths=[6, 3], labels=2)
    >>> other = LabelledSpans.of([[(0, 4, 1.0, 1)], []], lengths=[6, 3], labels=2)
    >>> cor_lbl(gold, gold).tolist(), cor_lbl(other, gold).tolist()
    ([1.0, 1.0], [0.0, 1.0])
    """
    if predicted.labels != gold.labels:
        counts_of_labels = f"{predicted.labels} and {gold.labels}"
        raise ValueError(f"expected the same number of labels, got {counts_of_labels}")
    sides = predicted.by_label(), gold.by_label()
    present = np.zeros(len(sides[0].lengths), bool)
    for side in sides:
        present[side.text] = True
    values = np.where(present, cor(*sides), 0.0)
    total, count = (x.reshape(-1, gold.labels).sum(axis=1) for x in (values, present))
    return np.asarray(np.divide(total, count, out=np.ones(len(total)), where=count > 0))


_MODULE = "shroom.metrics.labelled_spans"
_VISIONS: dict[str, Any] = {
    "reference": "SHROOM-Visions 2026, the organisers' program",
    "command": f"{SCORE} --edition visions2026",
}
_OF_SPANS: dict[str, Any] = {"columns": LABELS, "inputs": SPANS, **_VISIONS}

#: Mean Cor of the texts. Its statistics are computed from labelled spans in place of labels.
COR = mean_of(
    "cor",
    lambda predicted, gold: cor(predicted.spans, gold.spans),
    (-1.0, 1.0),
    about="like character_rho, but the probabilities of overlapping gold spans are summed",
    formula=(
        "(1/n) Σ ρ(pᵢ, Σ gold pᵢ) over characters; 0 if only one side is constant; "
        "1 if both are constant, unless only one of them is zero everywhere (then 0)"
    ),
    function=f"{_MODULE}:cor",
    **_OF_SPANS,
)

#: Mean Cor+Lbl of the texts.
COR_LBL = mean_of(
    "cor_lbl",
    cor_lbl,
    (-1.0, 1.0),
    about="the mean of cor over the labels of a text's spans",
    formula="(1/n) Σ (1/|Lᵢ|) Σ cor(pᵢₗ, gold pᵢₗ) over labels l in Lᵢ; 1 if Lᵢ is empty",
    function=f"{_MODULE}:cor_lbl",
    **_OF_SPANS,
)

#: Mean IoU of the texts.
IOU = mean_of(
    "iou",
    lambda predicted, gold: iou(predicted.spans, gold.spans),
    about=IOU_OF_SPANS.about,
    formula=IOU_OF_SPANS.formula,
    **_OF_SPANS,
)


_RATIOS = {
    "F1": (F1, "2 TP / (2 TP + FP + FN)", "if no text is marked or positive"),
    "accuracy": (CORRECT, "(TP + TN) / n", NO_ITEMS),
    "precision": (PRECISION, "TP / (TP + FP)", "if no text is marked"),
    "recall": (RECALL, "TP / (TP + FN)", "if no text is positive"),
}
#: The metrics of whether a text is marked at all; in the gold, votes replace p.
_DETECTION = tuple(
    of_counts(
        f"detection_{name.lower()}",
        ratio,
        rows=lambda predicted, positive: counts(predicted.marks(), positive),
        columns=("label", "gold_p"),
        inputs=("marked", "positive"),
        about=f"the {name} in detecting texts in which most annotators marked something",
        formula=formula,
        undefined=undefined,
        function=f"{_MODULE}:detection",
        **_VISIONS,
    )
    for name, (ratio, formula, undefined) in _RATIOS.items()
)

#: All metrics of labelled spans, by name.
METRICS: dict[str, Metric] = {metric.name: metric for metric in (COR, COR_LBL, IOU, *_DETECTION)}


def detection(marked: Array, positive: Array) -> dict[str, float | None]:
    """Return how well the system finds the texts in which most annotators marked something.

    A text is *positive* if more than half of its annotators marked something, and *marked* if the
    system marks any character. Positions and labels are ignored. If most texts are positive, a
    system that marks every text is hard to beat.

    Parameters
    ----------
    marked : array of bool, shape [n]
        Whether the system marks any character of each text.
    positive : array of bool, shape [n]
        Whether more than half of the annotators marked something.

    Returns
    -------
    dict of float or None
        ``detection_f1``, ``detection_accuracy``, ``detection_precision`` and ``detection_recall``
        in [0, 1]; ``None`` for an undefined score, for which scikit-learn returns 0.

    Examples
    --------
    >>> scores = detection(np.array([True, True, False]), np.array([True, False, False]))
    >>> scores["detection_precision"], scores["detection_recall"]
    (0.5, 1.0)
    """
    return {metric.name: metric(counts(marked, positive)) for metric in _DETECTION}
