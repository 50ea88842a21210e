"""Train probes on questions whose answers are all right or all wrong, with unbiased figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shroom.annotate.hidden_states import Position, Reader, frame, stored
from shroom.annotate.saved_probe import (
    HEADS,
    Figures,
    Floats,
    Linear,
    SavedProbe,
    Scores,
)
from shroom.core.extras import require
from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher import ALL_RIGHT, ALL_WRONG, Question
from shroom.inference.run_settings import Run
from shroom.inference.store import kept
from shroom.learners.calibrators import Platt
from shroom.learners.folds import Places, Split, out_of_fold
from shroom.learners.logistic import sigmoid
from shroom.metrics.intervals import DEFAULT_INTERVALS, NO_INTERVALS, Intervals, estimates
from shroom.scoring.metric_registry import metric
from shroom.scoring.tables import score_cells

Truth = NDArray[np.bool_]

#: The store of the states, in the folder of the probe.
STATES = "states.sqlite"
_USABLE = ({ALL_RIGHT}, {ALL_WRONG})
#: The minimum number of questions of either label, so that inner folds have both.
LEAST = 4
#: The metrics that choose the best layer; the second breaks ties.
CHOICE = ("auroc", "balanced_accuracy")
#: The values of scikit-learn's C to try, from the strongest penalty to the weakest.
GRID = tuple(10.0**power for power in range(-5, 1))
#: Number of folds for the choice of C.
_INNER = 5
#: A column varies only by rounding errors if its relative spread is at most this.
_ALIKE = 1e-5


def labelled(questions: Sequence[Question], least: int) -> dict[str, bool]:
    """Return whether the model knows each question to train on, at least ``least`` of each kind."""
    categories: dict[str, set[str | None]] = {}
    for question in questions:
        if question.question.strip():
            categories.setdefault(question.question, set()).add(question.category)
    knows = {text: ALL_RIGHT in its for text, its in categories.items() if its in _USABLE}
    right = sum(knows.values())
    if min(right, len(knows) - right) < least:
        raise ShroomError(
            f"a probe needs at least {least} questions with only right answers (got {right}) "
            f"and {least} with only wrong answers (got {len(knows) - right}); to categorise more "
            "questions, use 'shroom annotate run'"
        )
    return knows


def make(
    questions: Sequence[Question],
    folder: Path,
    run: Run,
    *,
    model: str,
    revision: str | None = None,
    layers: Sequence[int] = (),
    position: Position = "last",
    folds: int = 5,
    how: Intervals = DEFAULT_INTERVALS,
    resume: bool = False,
) -> SavedProbe:
    """Train a probe at each layer, by default all; save the best one and all states."""
    require("models", "safetensors", "scikit-learn")
    knows = labelled(questions, max(LEAST, folds))
    reader = Reader(model, revision, run.device)
    layers = sorted({reader.layer(number) for number in layers or range(reader.last + 1)})
    around = frame(reader.tokenizer, model, position)
    items = [reader.ids(around, question) for question in knows]
    with kept(folder / STATES, run.note, resume=resume, refuse=True) as store:
        store.unfinished = True  # other trainings can use the states
        states, labels = stored(reader, items, layers, store, run), np.array([*knows.values()])
        figures, linear, curve = train(
            layers, states, labels, folds=folds, how=how, report=run.report
        )
    place = Path(model).expanduser()  # must be found from any working folder
    saved = SavedProbe(
        model=str(place.resolve()) if place.is_dir() else model,
        revision=revision,
        layer=figures.best,
        frame=around,
        linear=linear,
        curve=curve,
        check=np.asarray(reader.check(around, run), np.float64),
        figures=figures,
        left_out=len(questions) - len(knows),
    )
    saved.save(folder)
    return saved


def splits(knows: Truth, folds: int, seed: int) -> list[Split]:
    """Return the rows to fit on and to predict of each fold, stratified by label."""
    from sklearn.model_selection import StratifiedKFold

    least = int(min(knows.sum(), (~knows).sum()))
    parts = StratifiedKFold(min(folds, least), shuffle=True, random_state=seed)
    return list(parts.split(knows, knows))


def fitted(states: Floats, knows: Truth, seed: int) -> tuple[Linear, float, Floats]:
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
    weights = np.where(varies, weights if axes is None else axes @ weights, 0.0) / scale
    return Linear(weights, intercept - float(mean @ weights)), GRID[best], decisions[best]


def _weights(rows: Floats, knows: Truth, c: float) -> tuple[Floats, float]:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=c, tol=1e-6, max_iter=10_000)
    model.fit(rows, knows)
    return np.asarray(model.coef_[0], np.float64), float(model.intercept_[0])


def scored(decisions: Floats, knows: Truth, how: Intervals) -> Scores:
    """Return how well decision values predict what a model knows: shape [n] each."""
    given = [
        (measure, measure.statistics(decisions > 0, decisions, knows, knows))
        for measure in map(metric, HEADS)
    ]
    return score_cells(*estimates(given, how))


def train(
    layers: Sequence[int],
    states: Callable[[int], Floats],
    knows: Truth,
    *,
    folds: int = 5,
    how: Intervals,
    report: Callable[[int, int], None] = lambda *_: None,
) -> tuple[Figures, Linear, Platt]:
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
