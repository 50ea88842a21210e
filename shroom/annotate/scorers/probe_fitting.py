"""Fit logistic probes at many layers, with unbiased estimates of their quality."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.learners.calibrators import Platt
from shroom.learners.folds import Places, Split, out_of_fold
from shroom.learners.logistic import sigmoid
from shroom.metrics.intervals import NO_INTERVALS, Intervals, Marked, estimates
from shroom.scoring import tables
from shroom.scoring.metric_registry import metric
from shroom.scoring.results import flat

Floats = NDArray[np.float64]
Truth = NDArray[np.bool_]
#: Each of the ``METRICS`` with its interval.
Scores = Mapping[str, tables.Estimate]

#: The metrics of each layer.
METRICS = ("accuracy", "balanced_accuracy", "auroc")
#: The metrics that choose the best layer; the second breaks ties.
CHOICE = ("auroc", "balanced_accuracy")
#: The values of scikit-learn's C to try, from the strongest penalty to the weakest.
GRID = tuple(10.0**power for power in range(-5, 1))
#: Number of folds for the choice of C.
_INNER = 5
#: The figures that are plain values.
_PLAIN = ("right", "wrong", "best", "chosen", "floor", "c", "folds")
#: A column varies only by rounding errors if its relative spread is at most this.
_ALIKE = 1e-5


@dataclass(frozen=True)
class Probe:
    """A logistic model of the standardised states of one layer."""

    mean: Floats
    scale: Floats
    weights: Floats
    intercept: float

    def decide(self, states: NDArray[Any]) -> Floats:
        """Return the decision value of each row, above 0 if the model knows: shape [n]."""
        standard = (np.asarray(states, np.float64) - self.mean) / self.scale
        return np.asarray(standard @ self.weights + self.intercept)


def splits(knows: Truth, folds: int, seed: int) -> list[Split]:
    """Return the rows to fit on and to predict of each fold, stratified by label."""
    from sklearn.model_selection import StratifiedKFold

    least = int(min(knows.sum(), (~knows).sum()))
    parts = StratifiedKFold(min(folds, least), shuffle=True, random_state=seed)
    return list(parts.split(knows, knows))


def fitted(states: Floats, knows: Truth, seed: int) -> tuple[Probe, float, Floats]:
    """Return the probe of the best C, the C, and its decision values out of inner folds."""
    # The best C has the lowest log loss out of fold; ties go to the strongest penalty.
    mean, spread = states.mean(axis=0), states.std(axis=0)
    varies = spread > _ALIKE * np.sqrt((states**2).mean(axis=0))
    scale = np.where(varies, spread, 1.0)
    rows, axes = np.where(varies, states - mean, 0.0) / scale, None
    if rows.shape[0] < rows.shape[1]:
        # The penalty does not change if the axes are rotated. With fewer rows than columns,
        # the columns are rotated onto the rows, which saves most of the time.
        axes, triangle = np.linalg.qr(rows.T)
        rows = np.ascontiguousarray(triangle.T)

    def predict(train: Places, test: Places) -> Floats:
        fits = [_weights(rows[train], knows[train], c) for c in GRID]
        return np.column_stack([rows[test] @ weights + height for weights, height in fits])

    decisions = np.array(out_of_fold(predict, splits(knows, _INNER, seed))).T
    losses = np.logaddexp(0, np.where(knows, -1.0, 1.0) * decisions).mean(axis=1)
    best = int(losses.argmin())
    weights, intercept = _weights(rows, knows, GRID[best])
    weights = np.where(varies, weights if axes is None else axes @ weights, 0.0)
    return Probe(mean, scale, weights, intercept), GRID[best], decisions[best]


def _weights(rows: Floats, knows: Truth, c: float) -> tuple[Floats, float]:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=c, tol=1e-6, max_iter=10_000)
    model.fit(rows, knows)
    return np.asarray(model.coef_[0], np.float64), float(model.intercept_[0])


def scored(decisions: Floats, knows: Truth, how: Intervals) -> Scores:
    """Return how well decision values predict what a model knows: shape [n] each."""
    given = [
        (measure, measure.statistics(decisions > 0, decisions, knows, knows))
        for measure in map(metric, METRICS)
    ]
    return tables.score_cells(*estimates(given, how))


def _flat(scores: Scores) -> dict[str, Any]:
    ends = {name: it.ci for name, it in scores.items() if it.ci is not None}
    return flat({name: it.value for name, it in scores.items()}, ends)


def _from_flat(content: Mapping[str, Any]) -> Scores:
    scores = {}
    for name in METRICS:
        ci, note = content.get(f"{name}_ci"), content.get(f"{name}_ci_note")
        ends = ci and (Marked(ci, note) if note else tuple(ci))
        scores[name] = tables.Estimate(content[name], ends)
    return scores


@dataclass(frozen=True)
class Figures:
    """The figures of a training, all out of fold."""

    right: int
    wrong: int
    best: int
    chosen: Sequence[int]  # the layer that each fold chose
    c: float
    folds: int
    # Of the best layer, which each fold chooses without the questions that it predicts.
    nested: Scores
    layers: Mapping[int, Scores]
    how: Intervals

    @property
    def floor(self) -> dict[str, float]:
        """The figures of the majority label."""
        share = max(self.right, self.wrong) / (self.right + self.wrong)
        return {"accuracy": share, "balanced_accuracy": 0.5, "auroc": 0.5}

    def to_dict(self) -> dict[str, Any]:
        plain = {**{name: getattr(self, name) for name in _PLAIN}, "seed": self.how.seed}
        layers = [{"layer": n, **_flat(scores)} for n, scores in self.layers.items()]
        return {**plain, "nested": _flat(self.nested), **self.how.to_dict(), "layers": layers}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Figures:
        """Return the figures of :meth:`to_dict`; raises KeyError, TypeError, ValueError."""
        settings = content.get("intervals", {"resamples": 0, "seed": content["seed"]})
        return cls(
            **{name: content[name] for name in _PLAIN if name != "floor"},
            nested=_from_flat(content["nested"]),
            layers={int(row["layer"]): _from_flat(row) for row in content["layers"]},
            how=Intervals(**{key: it for key, it in settings.items() if key != "shares"}),
        )


def train(
    layers: Sequence[int],
    states: Callable[[int], Floats],
    knows: Truth,
    *,
    folds: int = 5,
    how: Intervals,
    report: Callable[[int, int], None] = lambda *_: None,
) -> tuple[Figures, Probe, Platt]:
    """Return the figures of all layers, the probe of the best layer, and its calibration."""
    # The calibration curve, from the sigmoid of a decision value to p, is fitted out of fold.
    # Each label needs as many questions as there are folds, and at least 4.
    parts = splits(knows, folds, how.seed)
    outside = np.empty((len(layers), len(knows)))  # the out-of-fold decision values
    inside: list[list[tuple[float, ...]]] = [
        [] for _ in parts
    ]  # the merits on each fold's own questions
    for row, layer in enumerate(layers):
        values = states(layer)
        for merits, (fit, judge) in zip(inside, parts):
            probe, _, decisions = fitted(values[fit], knows[fit], how.seed)
            merits.append(_merit(decisions, knows[fit]))
            outside[row, judge] = probe.decide(values[judge])
        report(row + 1, len(layers))
    best = _best([_merit(decisions, knows) for decisions in outside])
    chosen, nested = [*map(_best, inside)], np.empty(len(knows))
    for row, (_, judge) in zip(chosen, parts):
        nested[judge] = outside[row, judge]
    probe, c, _ = fitted(states(layers[best]), knows, how.seed)
    figures = Figures(
        right=int(knows.sum()),
        wrong=int((~knows).sum()),
        best=layers[best],
        chosen=[layers[row] for row in chosen],
        c=c,
        folds=len(parts),
        nested=scored(nested, knows, how),
        layers={layer: scored(row, knows, how) for layer, row in zip(layers, outside)},
        how=how,
    )
    return figures, probe, Platt.fitted(sigmoid(outside[best]), knows.astype(np.float64))


def _merit(decisions: Floats, knows: Truth) -> tuple[float, ...]:
    scores = scored(decisions, knows, NO_INTERVALS)
    return tuple(scores[name].value or 0.0 for name in CHOICE)


def _best(merits: Sequence[tuple[float, ...]]) -> int:
    """Return the row of the best layer, the first of equal layers."""
    return max(range(len(merits)), key=merits.__getitem__)
