"""Stacking: a weighted combination of several detectors for each task.

The weights must reflect how good a detector is on new data. So the stack is fitted on the
*out-of-fold p* of its detectors; a detector that was fitted on the data and is not fitted again is
refused.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from shroom.core.datapoint import premises
from shroom.core.problems import ShroomError
from shroom.detectors import settings
from shroom.detectors.fitted import JSONDetector
from shroom.detectors.lexical import features as lexical_features
from shroom.detectors.out_of_fold import TrainingItems, best_strength, splits
from shroom.detectors.stack_file import Input, State, inputs_of
from shroom.inference.run_settings import RUN
from shroom.learners.curves import clipped_log_odds
from shroom.learners.logistic import Logistic
from shroom.metrics.accuracy_by_threshold import thresholds_by_task

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from shroom.core.datapoint import Datapoint
    from shroom.detectors.base import Detector
    from shroom.inference.run_settings import Run

    Values = NDArray[np.float64]
    Words = NDArray[np.str_]

#: Inverse strengths of the L2 penalty to try if none is given.
STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0)
#: p is clipped to this distance from 0 and 1, so that its log odds are finite.
_CLIP = 1e-3


class Stack(JSONDetector):
    """Detectors' log odds and lexical features, combined by a model fitted out of fold.

    Parameters
    ----------
    model : path, optional
        The file that ``shroom fit stack`` has written; it names the detectors.
    detectors : str or list, optional
        The detectors to combine: names, or tables with ``name``, settings, and perhaps
        ``frozen = true`` for a trainable detector that is not to be fitted again.
    features : bool
        Whether the lexical features are columns as well.
    c : float, optional
        Inverse strength of the penalty; by default the one with the least loss out of fold.
    folds : int
        Number of folds of the inner cross-validation.
    threshold : float, optional
        Threshold of the labels, instead of the fitted ones.

    Examples
    --------
    >>> from shroom.scoring.datapoint_files import read
    >>> points = read("shroom/sample/val.model-aware.json")
    >>> p = np.array([point.p for point in points])
    >>> stack = Stack(detectors="lexical", features=False).fit(points, p)
    >>> stack.p(points[:2]).shape
    (2,)
    """

    name = "stack"

    def __init__(
        self,
        model: str | Path | None = None,
        detectors: str | list[Any] | None = None,
        features: bool = True,  # noqa: FBT001, FBT002 - settings are given by name
        c: float | None = None,
        folds: int = 5,
        threshold: float | None = None,
    ) -> None:
        self.features = settings.flag("features", features)
        self.c = None if c is None else settings.number("c", c, 1e-6, 1e6)
        self.folds = settings.integer("folds", folds, 2, 100)
        self._inputs = None if detectors is None else inputs_of(detectors)
        self._threshold = None if threshold is None else settings.share("threshold", threshold)
        self._path = None if model is None else settings.path("model", model)
        # Both are shared by the copies that cross-validation fits.
        self._stored: dict[int, tuple[Detector, _Stored]] = {}
        self._measures = _Stored(lambda points, _: lexical_features(points))

    @property
    def thresholds(self) -> dict[str, float]:
        """The thresholds of tasks that have their own."""
        return self._fitted().thresholds if self._threshold is None else {}

    def _p(self, datapoints: Sequence[Datapoint], run: Run) -> Values:
        state = self._fitted()
        columns = [
            clipped_log_odds(self._column(number, detector, datapoints, run), _CLIP)
            for number, detector in enumerate(state.detectors)
        ]
        if state.features:
            columns.append(self._measures.of(datapoints, run))
        return np.asarray(state.combined.p(np.column_stack(columns), _tasks(datapoints)))

    def _fit(self, datapoints: Sequence[Datapoint], p: Values, run: Run) -> None:
        """Fit detectors, weights and thresholds.

        The columns of trainable detectors are out of fold; then these are fitted on all datapoints.

        Raises
        ------
        ShroomError
            If no detectors are named, or a detector that is not fitted again was fitted on some of
            the datapoints and has no out-of-fold p for them.
        """
        inputs = self._wanted()
        self._check_unseen(datapoints)
        detectors: list[Detector] = []
        columns = []
        for number, entry in enumerate(inputs):
            if entry.trainable:
                detector = entry.make()
                column, _ = detector.out_of_fold(datapoints, p, self.folds)
                detector = detector.fit(datapoints, p)
                threshold = np.full(len(p), detector.threshold)
                detector.remember(TrainingItems.of(datapoints, column, threshold))
            else:
                detector, stored = self._fixed(number, entry)
                column = stored.of(datapoints, run)[:, 0]
            columns.append(column)
            detectors.append(detector)
        values = [clipped_log_odds(column, _CLIP) for column in columns]
        if self.features:
            values.append(self._measures.of(datapoints, run))
        matrix, tasks = np.column_stack(values), _tasks(datapoints)
        strengths = STRENGTHS if self.c is None else (self.c,)
        c, unseen = best_strength(
            Logistic.fit, strengths, matrix, tasks, p, splits(datapoints, self.folds)
        )
        self._state = State(
            inputs,
            detectors,
            Logistic.fit(matrix, tasks, p, c),
            self.features,
            *thresholds_by_task(unseen, p > 0.5, tasks),
        )

    def out_of_fold(
        self, datapoints: Sequence[Datapoint], p: Values, folds: int
    ) -> tuple[Values, Values]:
        """Return p and thresholds of datapoints from stacks that were fitted on the other folds.

        Columns that do not depend on labels are computed once for all datapoints.

        Raises
        ------
        ShroomError
            As :meth:`fit` does.
        """
        self._check_unseen(datapoints)
        for number, entry in enumerate(self._wanted()):
            if not entry.trainable:
                self._fixed(number, entry)[1].of(datapoints, RUN)
        if self.features:
            self._measures.of(datapoints, RUN)
        return super().out_of_fold(datapoints, p, folds)

    def save(self, path: str | Path, **about: Any) -> None:
        """Write the stack as json, and beside it a folder with the detectors that were fitted.

        A threshold that was given is written in place of the fitted ones.
        """
        state = replace(self._fitted(), threshold=self.threshold, thresholds=self.thresholds)
        state.save(path, **about)

    def in_sample(self, datapoints: Sequence[Datapoint], run: Run = RUN) -> NDArray[np.bool_]:
        """Return which datapoints get an in-sample p, of the stack or one of its detectors."""
        inner = [detector.in_sample(datapoints, run) for detector in self._fitted().detectors]
        out_of_fold = self.out_of_fold_items(datapoints, run)
        of_stack = super().in_sample(datapoints, run)
        return np.asarray(np.any([of_stack, *inner], axis=0) & ~out_of_fold)

    @property
    def identity(self) -> str:
        """The name, and a digest of its file and its detectors' identities."""
        state = self._fitted()
        if state.digest is None:
            return f"{self.name} as fitted"
        parts = [state.digest, *(detector.identity for detector in state.detectors)]
        return f"{self.name} {hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]}"

    def premises(self, datapoint: Datapoint) -> tuple[str, ...]:
        """Return the distinct texts with which its detectors compare the hypothesis."""
        state = self._fitted()
        texts = [text for detector in state.detectors for text in detector.premises(datapoint)]
        if state.features:
            texts += premises(datapoint)
        return tuple(dict.fromkeys(texts))

    def _wanted(self) -> tuple[Input, ...]:
        if self._inputs is not None:
            return self._inputs
        if self._path:
            state: State = self._fitted()
            return state.inputs
        raise ShroomError(
            "a stack needs the detectors that it is made of: in a recipe, for instance, "
            'detectors = ["lexical", {name = "nli", model = "FOLDER"}]'
        )

    def _check_unseen(self, datapoints: Sequence[Datapoint]) -> None:
        """Raise :class:`ShroomError` if a detector that is not fitted anew answers in-sample."""
        fixed = [(n, entry) for n, entry in enumerate(self._wanted()) if not entry.trainable]
        for number, entry in fixed:
            seen = int(self._fixed(number, entry)[0].in_sample(datapoints).sum())
            if seen:
                fix = (
                    "leave out frozen = true, so that it is fitted out of fold"
                    if entry.frozen
                    else "leave it out, or fit the stack on other data"
                )
                raise ShroomError(
                    f"detectors: {entry.name} was fitted on {seen} of these {len(datapoints)} "
                    "datapoints and has no out-of-fold p of them, so the stack would trust it "
                    f"more than it deserves; fit it with --folds, or {fix}"
                )

    def _column(
        self, number: int, detector: Detector, datapoints: Sequence[Datapoint], run: Run
    ) -> Values:
        """Return p of a detector; the stored p of one that is not fitted here."""
        if number in self._stored and not run.in_sample:
            return self._stored[number][1].of(datapoints, run)[:, 0]
        return detector.p(datapoints, run)

    def _fixed(self, number: int, entry: Input) -> tuple[Detector, _Stored]:
        """Return a detector that is not fitted here, and its stored p."""
        if number not in self._stored:
            detector = entry.make()
            self._stored[number] = detector, _Stored(detector.p)
        return self._stored[number]

    def _load(self) -> State:
        if not self._path:
            raise ShroomError(
                "the stack has not been fitted; give --model FILE, which shroom fit stack writes"
            )
        return State.load(self._path)


class _Stored:
    """Values of datapoints, p or features, that are computed once for each."""

    def __init__(self, compute: Callable[[Sequence[Datapoint], Run], NDArray[np.float64]]) -> None:
        self._compute = compute
        self._rows: dict[Datapoint, NDArray[np.float64]] = {}

    def of(self, datapoints: Sequence[Datapoint], run: Run) -> NDArray[np.float64]:
        """Return the values of datapoints: shape [n, k]."""
        # The first time, all of them as they come: samples without ids go by the order.
        new = [d for d in dict.fromkeys(datapoints) if d not in self._rows]
        if len(new) == len(set(datapoints)):
            new = list(datapoints)
        if new:
            self._rows.update(zip(new, self._compute(new, run).reshape(len(new), -1)))
        return np.array([self._rows[point] for point in datapoints])


def _tasks(datapoints: Sequence[Datapoint]) -> Words:
    return np.array([point.task.like for point in datapoints])
