"""Spans of words that annotators tend to mark, by surface features: a weak baseline.

In Mu-SHROOM, names, numbers and words that are not in the question are marked far more often.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from shroom.core.datapoint import Datapoint
from shroom.core.problems import ShroomError
from shroom.core.word_spans import spans as word_spans
from shroom.detectors.arrays import Datapoints, Floats
from shroom.detectors.fitted import Fitted, JSONDetector
from shroom.detectors.out_of_fold import TrainingItems
from shroom.detectors.settings import File, Text
from shroom.detectors.span_detector import SpanDetector, likeliest
from shroom.inference.run_settings import RUN, Run
from shroom.learners.folds import Places, even_splits, out_of_fold
from shroom.learners.logistic import fit_logistic, numbers, sigmoid
from shroom.metrics.span_arrays import Spans as SpanArrays
from shroom.metrics.span_metrics import everything, iou, rho
from shroom.scoring.kinds.span_values import SoftSpan, hard_of

Bounds = list[tuple[int, int]]

MODEL = Path(__file__).parent.parent / "models" / "spans" / "model.json"
#: Inverse strength of the L2 penalty; chosen by cross-validation, as the features were.
_C = 0.1
#: Letters that a word shares with one of the question, where it is another form of it.
_STEM = 4
#: Characters from which on a word counts as long.
_LONG = 12
_ENDS = frozenset(".!?:。！？：।")
FEATURES = (
    *("in question", "digit", "capital", "sign", "length", "repeated"),
    *("after a sentence", "words before", "words", "share in question", "share of digits"),
    *("in question, digit", "in question, capital", "after a sentence, capital"),
    *("next in question", "previous in question", "next sign", "previous sign"),
)


@dataclass(eq=False, repr=False)
class Spans(SpanDetector, JSONDetector):
    """The probability that annotators mark a word of an answer, from surface features.

    Parameters
    ----------
    model : path, optional
        A fitted model; by default, the model that ships with the kit.
    label : str, optional
        The label of all spans, if the spans of the edition have labels.

    Examples
    --------
    >>> from shroom.core.datapoint import pair
    >>> point = pair("When did Ann Lee sail?", "Ann Lee sailed in 1823.")
    >>> start, end = Spans().columns([point])["hard_labels"][0][-1]
    >>> "1823" in point.hyp[start:end]
    True
    """

    name: ClassVar[str] = "spans"
    shipped: ClassVar[Path] = MODEL
    model: File | None = None
    label: Text | None = field(default=None, kw_only=True)

    def mark(self, datapoints: Datapoints, run: Run = RUN) -> list[list[SoftSpan]]:
        """Return the likeliest words of each hypothesis and the space between, with their p."""
        # The others have none: rho counts unmarked characters as tied, and many words of a small p
        # would make the expected union too large.
        del run
        model: _Weights = self._fitted().model
        marked = []
        for point in datapoints:
            bounds, values = features(point.src, point.hyp)
            p = sigmoid(model.intercept + values @ model.weights)
            marked.append(likeliest(_with_blanks(bounds, p.tolist())))
        return marked

    def _fit(self, datapoints: Datapoints, p: Floats, run: Run) -> None:
        """Fit on the share of the annotators who marked each word; p is not used."""
        del p, run
        words = [features(point.src, point.hyp) for point in datapoints]
        targets = [_targets(point, bounds) for point, (bounds, _) in zip(datapoints, words)]
        columns = np.concatenate([values for _, values in words])
        mean, scale = columns.mean(axis=0), columns.std(axis=0)
        scale[scale < 1e-6] = 1.0
        # The score is a mean over answers, and the words of one answer are alike.
        sizes = np.array([len(bounds) for bounds, _ in words])
        importance = np.repeat(1 / np.sqrt(np.maximum(1, sizes)), sizes)
        weights = fit_logistic(
            (columns - mean) / scale, np.concatenate(targets), _C, importance=importance
        )
        slopes = weights[1:] / scale
        self._state = Fitted(_Weights(float(weights[0] - mean @ slopes), slopes))

    def cross_validate(
        self, files: Mapping[str, Datapoints], folds: int
    ) -> tuple[TrainingItems, dict[str, dict[str, float | None]]]:
        """Return the training items, and cross-validated IoU and rho; the spans are not stored."""
        points = [point for file in files.values() for point in file]

        def predict(train: Places, test: Places) -> list[list[SoftSpan]]:
            fitted = Spans().fit([points[i] for i in train], [points[i].p for i in train])
            return fitted.mark([points[i] for i in test])

        marked = iter(out_of_fold(predict, even_splits(points, folds)))
        figures = {
            name: _figures(file, [next(marked) for _ in file]) for name, file in files.items()
        }
        return TrainingItems.of(points), figures

    def _content(self) -> dict[str, Any]:
        model: _Weights = self._fitted().model
        weights = dict(zip(FEATURES, model.weights.tolist()))
        return {"intercept": model.intercept, "weights": weights}

    def _read(self, content: Any) -> _Weights:
        values = [content["intercept"], *(content["weights"][name] for name in FEATURES)]
        intercept, *weights = numbers(values, 1 + len(FEATURES))
        return _Weights(float(intercept), np.array(weights))


class _Weights(NamedTuple):
    """A logistic model of words."""

    intercept: float
    weights: Floats


def features(question: str, answer: str) -> tuple[Bounds, Floats]:
    """Return the positions of an answer's words, and their features in the order of FEATURES."""
    # A word is in the question also if it shares its first four letters with one there. Capitals at
    # the start of a sentence do not count; a length is at most 12, over 12.
    bounds = word_spans(answer)
    words = [answer[start:end] for start, end in bounds]
    folded, n = [word.casefold() for word in words], len(words)
    asked = {question[start:end].casefold() for start, end in word_spans(question)}
    asked_stems = {word[:_STEM] for word in asked if len(word) >= _STEM}
    stems = [word[:_STEM] if len(word) >= _STEM else None for word in folded]
    after_end = [False, *(word[-1] in _ENDS for word in words)][:n]
    first: dict[str, int] = {}

    in_question = _numbers(w in asked or stem in asked_stems for w, stem in zip(folded, stems))
    digit = _numbers(any(map(str.isdigit, word)) for word in words)
    starts = [True, *after_end[1:]]
    capital = _numbers(w[0].isupper() and not start for w, start in zip(words, starts))
    sign = _numbers(not any(map(str.isalnum, word)) for word in words)
    length = _numbers(min(len(word), _LONG) / _LONG for word in words)
    repeated = _numbers(first.setdefault(w, place) < place for place, w in enumerate(folded))
    later = _numbers(accumulate(after_end, max))
    own = (in_question, digit, capital, sign, length, repeated, later, np.log1p(np.arange(n)))
    of_answer = (np.log1p(n), in_question.sum() / max(1, n), digit.sum() / max(1, n))
    crosses = (in_question * digit, in_question * capital, later * capital)
    padded = np.pad(in_question, 1), np.pad(sign, 1)
    neighbours = [part for column in padded for part in (column[2:], column[:-2])]
    return bounds, np.column_stack([*own, np.tile(of_answer, (n, 1)), *crosses, *neighbours])


def _numbers(values: Iterable[float]) -> Floats:
    return np.array(list(values), np.float64)


def _with_blanks(bounds: Bounds, p: list[float]) -> list[SoftSpan]:
    """Return words with their p, and white space with the lower p of the words beside it."""
    spans: list[SoftSpan] = []
    for (start, end), prob in zip(bounds, p):
        if spans and spans[-1].end < start:
            spans.append(SoftSpan(spans[-1].end, start, min(spans[-1].prob, prob)))
        spans.append(SoftSpan(start, end, prob))
    return spans


def _targets(point: Datapoint, bounds: Bounds) -> Floats:
    """Return the mean share of the annotators who marked the characters of each word."""
    if point.spans is None:
        raise ShroomError(
            f"datapoint {point.name}: no marked spans; read the data with an edition whose "
            "annotation is 'spans' or 'labelled-spans'"
        )
    marked = np.zeros(len(point.hyp))
    for start, end, share in point.spans:
        marked[start:end] = share
    return np.array([marked[start:end].mean() for start, end in bounds])


def _figures(points: Datapoints, soft: Sequence[Sequence[SoftSpan]]) -> dict[str, Any]:
    """Return the scores of spans by Mu-SHROOM's metrics, and the IoU of marking everything."""
    lengths = [len(point.hyp) for point in points]
    gold = [[SoftSpan(*span) for span in point.spans or ()] for point in points]
    gold_hard = SpanArrays.of([hard_of(spans) for spans in gold], lengths)
    hard = [[span[:2] for span in likeliest(spans)] for spans in soft]
    scores = {
        "iou": iou(SpanArrays.of(hard, lengths), gold_hard),
        "rho": rho(SpanArrays.of(soft, lengths), SpanArrays.of(gold, lengths)),
        "flag everything": iou(everything(lengths), gold_hard),
    }
    return {"n": len(points), **{key: round(float(v.mean()), 4) for key, v in scores.items()}}
