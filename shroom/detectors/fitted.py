"""The base classes of detectors that are fitted on labelled datapoints."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from shroom.core.atomic_writing import write_atomically
from shroom.core.datapoint import Label
from shroom.detectors.arrays import Datapoints, Floats, datapoints_of, proportions
from shroom.detectors.base import Detector, Items
from shroom.detectors.out_of_fold import TrainingItems, reading
from shroom.detectors.settings import Share, converted
from shroom.inference.run_settings import RUN, Run
from shroom.learners.folds import Places, even_splits, out_of_fold
from shroom.metrics.classification import accuracy
from shroom.metrics.correlation import rho


@dataclass(frozen=True)
class Fitted:
    """The result of fitting: a model, its threshold and training items, and a digest."""

    model: Any = None
    threshold: float = 0.5
    items: TrainingItems = field(default_factory=TrainingItems)
    digest: str = "as fitted"


class FittedDetector(Detector):
    """A detector that is fitted on labelled datapoints.

    A subclass defines

    - ``_fit(datapoints, p, run)``, which fits it on p, the share of annotators who said
      Hallucination: shape [n];
    - ``_p(datapoints, run)``, which returns the p of the fitted model: shape [n], in [0, 1];
    - for ``shroom fit``, ``save(path, **about)`` and a setting ``model``, the path of a saved
      model. ``save`` should also write the training items, so that scores on them are marked as
      in-sample. Their ``answers`` are plain values for JSON, and ``from_dict`` reads them.

    Cross-validation fits shallow copies, so a copy must keep the settings and be independent of the
    original.

    Examples
    --------
    >>> import shroom
    >>> class Rate(FittedDetector):
    ...     name = "rate"
    ...
    ...     def _fit(self, datapoints, p, run):
    ...         self.rate = float(np.mean(p))
    ...
    ...     def _p(self, datapoints, run):
    ...         return np.full(len(datapoints), self.rate)
    >>> points = shroom.read("shroom/sample/val.model-aware.json")
    >>> rate = Rate().fit(points[:30], [point.p for point in points[:30]])
    >>> rate.predict_proba(points[30:])[0].round(3), int(rate.in_sample(points).sum())
    (array([0.567, 0.433]), 30)
    """

    threshold: float | None = None
    _state: Fitted | None = None

    def fit(self, X: Items, y: Any = None, run: Run = RUN) -> Self:
        """Fit the detector and return it.

        The detector stores the datapoints as training items, so that scores on them are marked as
        in-sample.

        Raises
        ------
        ShroomError
            If y is not one number from 0 to 1 for each datapoint.
        """
        datapoints = datapoints_of(X)
        self._fit(datapoints, proportions(y, len(datapoints)), run)
        self.remember(TrainingItems.of(datapoints))
        return self

    def _fit(self, datapoints: Datapoints, p: Floats, run: Run) -> None:
        """Fit the detector on the annotators' proportions p: shape [n], in [0, 1]."""
        raise NotImplementedError

    def save(self, path: str, **about: Any) -> None:
        """Write the fitted state to a file or a folder; ``about`` describes its origin."""
        raise NotImplementedError

    @property
    def training_items(self) -> TrainingItems:
        """The items on which the detector was fitted."""
        return self._fitted().items

    @property
    def threshold_(self) -> float:
        return self._fitted().threshold if self.threshold is None else self.threshold

    def remember(self, items: TrainingItems) -> None:
        """Store the items on which the detector was fitted, with their out-of-fold p."""
        self._state = replace(self._fitted(), items=items)

    def _fitted(self) -> Fitted:
        if self._state is None:
            self._state = self._load()
        return self._state

    def _load(self) -> Fitted:
        """Return the state that the settings specify; by default, an empty one."""
        return Fitted()

    def _p(self, datapoints: Datapoints, run: Run) -> Floats:
        """Return the fitted model's p of one datapoint or more: shape [n], in [0, 1]."""
        raise NotImplementedError

    def p(self, datapoints: Datapoints, run: Run = RUN) -> Floats:
        """Return p(Hallucination) of each datapoint: shape [n], in [0, 1].

        Training items get their stored out-of-fold p, unless ``run.in_sample`` is set.
        """
        stored = self._out_of_fold(datapoints, run)
        if not np.isnan(stored).any():
            return stored
        return np.where(np.isnan(stored), self._p(datapoints, run), stored)

    def out_of_fold(self, datapoints: Datapoints, p: Floats, folds: int) -> Floats:
        """Return cross-validated p, from copies fitted on the other folds.

        Datapoints with the same hypothesis or target are in one fold.

        Parameters
        ----------
        datapoints : sequence of Datapoint, length n
            The labelled datapoints.
        p : array, shape [n]
            The annotators' proportions.
        folds : int
            The number of folds; reduced if there are fewer groups of datapoints that share
            a hypothesis or target.

        Returns
        -------
        array, shape [n]
        """

        def predict(train: Places, test: Places) -> Floats:
            fitted = copy.copy(self).fit([datapoints[i] for i in train], p[train])
            return fitted.p([datapoints[i] for i in test])

        return np.array(out_of_fold(predict, even_splits(datapoints, folds)))

    def cross_validate(
        self, files: Mapping[str, Datapoints], folds: int
    ) -> tuple[TrainingItems, dict[str, dict[str, float | None]]]:
        """Return the training items to remember, and their cross-validated figures.

        Parameters
        ----------
        files : mapping of sequence of Datapoint
            The labelled datapoints of each file.
        folds : int
            As for :meth:`out_of_fold`.

        Returns
        -------
        TrainingItems, dict of dict
            The figures for each file, by name; the first figure is ``n``.
        """
        points = [point for file in files.values() for point in file]
        p = np.array([point.p for point in points], np.float64)
        items = TrainingItems.of(points, self.out_of_fold(points, p, folds))
        threshold = 0.5 if self.threshold is None else self.threshold
        figures: dict[str, dict[str, float | None]] = {}
        for name, file in files.items():
            part = items.out_of_fold(file)
            labels = np.array([point.label is Label.HALLUCINATION for point in file])
            gold = np.array([point.p for point in file], np.float64)
            right = accuracy(part > threshold, labels)
            figures[name] = {
                "n": len(part),
                "accuracy": round(right, 4),
                "rho": None if math.isnan(value := rho(part, gold)) else round(value, 4),
            }
        return items, figures


class JSONDetector(FittedDetector):
    """Base class of detectors whose fitted model is a JSON file: ``model``, else ``shipped``.

    The method ``_fit`` sets ``_state``.
    """

    shipped: ClassVar[Path]
    model: str | None

    @property
    def identity(self) -> str:
        return f"{self.name} {self._fitted().digest}"

    def save(self, path: str | Path, **about: Any) -> None:
        """Write the fitted model as JSON; a threshold that was set replaces the fitted one."""
        content = {"detector": self.name, **self._content(), **about}
        content["training_items"] = self._fitted().items.answers
        write_atomically(path, json.dumps(content, indent=2) + "\n")

    def _read(self, content: Any) -> Any:
        raise NotImplementedError

    def _content(self) -> dict[str, Any]:
        raise NotImplementedError

    def _load(self) -> Fitted:
        return self._loaded(Path(self.model or self.shipped))

    def _loaded(self, path: Path) -> Fitted:
        fit = f"shroom fit {self.name} DATA -o MODEL"
        with reading(path, f"a model of the detector {self.name}", f"to fit a model, use: {fit}"):
            data = path.read_bytes()
            content = json.loads(data)
            model, threshold = self._read(content), 0.5
            if "binary" in self.annotations:
                threshold = converted("threshold", content["threshold"], Share)
            items = TrainingItems.from_dict(content["training_items"])
            return Fitted(model, threshold, items, hashlib.sha256(data).hexdigest()[:16])
