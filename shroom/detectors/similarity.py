"""1 - cosine of sentence embeddings, or after fitting a logistic curve of it for each task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from shroom.core.datapoint import Datapoint, Rule, premises
from shroom.core.problems import ShroomError
from shroom.detectors.arrays import Datapoints, Floats
from shroom.detectors.embeddings import SentenceEncoder
from shroom.detectors.fitted import Fitted, JSONDetector
from shroom.detectors.pairs import Pairs
from shroom.detectors.settings import Name, Share
from shroom.inference import hub
from shroom.inference.run_settings import Run
from shroom.learners.logistic import Logistic

#: Inverse strength of the L2 penalty on the curves; chosen by cross-validation.
_C = 0.3


@dataclass(eq=False, repr=False)
class Similarity(JSONDetector):
    """1 - cosine of sentence embeddings, calibrated for each task if the detector was fitted.

    Parameters
    ----------
    model : str
        A sentence encoder (a folder or a name on the hub), or the JSON file of a fitted detector,
        which contains the encoder's name and the next three settings.
    revision : str, optional
        A commit, tag or branch on the hub.
    reference : str
        Which text the hypothesis is compared with: a value of
        :class:`shroom.core.datapoint.Rule`.
    multilingual : bool
        Whether the encoder reads the source language of a translation.
    threshold : float, optional
        The label is Hallucination if p is greater. The default is the fitted threshold, or 0.5 if
        the detector was not fitted.

    Notes
    -----
    If the detector was not fitted, p is 1 - cosine, but at most 1. If there are two references, the
    hypothesis is compared with the more similar one.
    """

    name: ClassVar[str] = "similarity"
    model: Name
    revision: Name | None = None
    reference: Rule = Rule.GIVEN
    multilingual: bool = False
    threshold: Share | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        # Cross-validation's copies share them, since folds compare the same pairs.
        self._encoder: SentenceEncoder | None = None
        self._known: dict[tuple[str, str], float] = {}

    def _p(self, datapoints: Datapoints, run: Run) -> Floats:
        distances, tasks = self._distances(datapoints, run)
        curves = self._distance.curves
        return curves.p(distances[:, None], tasks) if curves else np.clip(distances, 0, 1)

    def _fit(self, datapoints: Datapoints, p: Floats, run: Run) -> None:
        distances, tasks = self._distances(datapoints, run)
        curves = Logistic.fit(distances[:, None], tasks, p, _C)
        self._state = Fitted(replace(self._distance, curves=curves))

    def _content(self) -> dict[str, Any]:
        distance = self._distance
        if distance.curves is None:
            raise ShroomError("this similarity detector has not been fitted; call fit() first")
        return {
            "model": distance.encoder,
            "revision": distance.revision,
            "reference": distance.rule.value,
            "multilingual": distance.multilingual,
            **distance.curves.to_dict(),
            "threshold": self.threshold_,
        }

    def _read(self, content: Any) -> _Distance:
        revision = content["revision"] and str(content["revision"])
        rule, multilingual = Rule(content["reference"]), content["multilingual"] is True
        curves = Logistic.from_dict(content, 1)
        return _Distance(str(content["model"]), revision, rule, multilingual, curves)

    def premises(self, datapoint: Datapoint) -> tuple[str, ...]:
        state = self._distance
        return premises(datapoint, rule=state.rule, multilingual=state.multilingual)

    @property
    def identity(self) -> str:
        """The identity of the encoder, and a digest of the fitted model."""
        state = self._distance
        encoder = hub.identity(state.encoder, state.revision)
        return f"{encoder}+{self._fitted().digest}" if state.curves else encoder

    @property
    def languages(self) -> tuple[str, ...]:  # type: ignore[override]
        """The languages that the encoder's card declares."""
        return hub.languages([self._distance.encoder], [self._distance.revision])

    @property
    def _distance(self) -> _Distance:
        distance: _Distance = self._fitted().model
        return distance

    def _load(self) -> Fitted:
        """Return the state that the settings specify."""
        if not (self.model.endswith(".json") or Path(self.model).is_file()):
            return Fitted(_Distance(self.model, self.revision, self.reference, self.multilingual))
        if self.revision or self.multilingual or self.reference is not Rule.GIVEN:
            raise ShroomError(
                f"{self.model} contains revision, reference and multilingual; omit these settings, "
                "or fit again with your settings"
            )
        return self._loaded(Path(self.model))

    def _distances(self, datapoints: Datapoints, run: Run) -> tuple[Floats, list[str]]:
        """Return 1 - cosine of each datapoint, and its task."""
        points = Pairs.of(datapoints, self.premises)
        new = [pair for pair in dict.fromkeys(points.texts) if pair not in self._known]
        if new:
            encoder = self._distance.encoder, self._distance.revision
            model = self._encoder = self._encoder or SentenceEncoder(*encoder, run.device)
            read = model.read(new, run)
            vectors = model.embed([text for pair in read.items for text in pair], run)
            distances = 1 - np.einsum("ij,ij->i", vectors[::2], vectors[1::2])
            self._known.update(zip(new, read.lowest(distances).tolist()))
        distances = points.best(np.array([self._known[pair] for pair in points.texts]))
        return distances, [point.task.like for point in datapoints]


@dataclass(frozen=True)
class _Distance:
    """The encoder and the reference rule, and the curves if it was fitted."""

    encoder: str
    revision: str | None
    rule: Rule
    multilingual: bool
    curves: Logistic | None = None
