"""1 - cosine of sentence embeddings, or after fitting a logistic curve of it for each task."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from shroom.core.datapoint import Datapoint, Rule, premises
from shroom.core.problems import ShroomError
from shroom.detectors.arrays import Datapoints, Floats
from shroom.detectors.embeddings import SentenceEncoder
from shroom.detectors.fitted import Fitted, JSONDetector
from shroom.detectors.pairs import Aggregate, Overlap, Pairs, Windows
from shroom.detectors.settings import File, Name, Share
from shroom.inference import hub
from shroom.inference.run_settings import Run
from shroom.learners.logistic import Logistic

#: Inverse strength of the L2 penalty on the curves; chosen by cross-validation.
_C = 0.3
#: Maximum number of stored distances.
_MOST_DISTANCES = 100_000


@dataclass(eq=False, repr=False)
class Similarity(JSONDetector):
    """1 - cosine of sentence embeddings, calibrated for each task if the detector was fitted.

    Parameters
    ----------
    model : str
        A sentence encoder (a folder or a name on the hub), or the JSON file of a fitted detector.
        The file contains the name of the encoder.
    revision : str, optional
        A commit, tag or branch on the hub.
    reference : str
        Which text the hypothesis is compared with: a value of
        :class:`shroom.core.datapoint.Rule`.
    multilingual : bool
        Whether the encoder reads the source language of a translation.
    calibration : path, optional
        The JSON file of a fitted detector, to use with the encoder ``model``.
    threshold : float, optional
        The label is Hallucination if p is greater. The default is the fitted threshold, or 0.5 if
        the detector was not fitted.
    windows, overlap
        How to read a long reference: see
        :class:`shroom.detectors.pairs.Windows`.

    Notes
    -----
    If the detector was not fitted, p is 1 - cosine, but at most 1. If there are two references, the
    hypothesis is compared with the more similar one.
    """

    name: ClassVar[str] = "similarity"
    options: ClassVar[str] = "--model ENCODER "
    model: Name
    revision: Name | None = None
    reference: Rule = Rule.GIVEN
    multilingual: bool = False
    calibration: File | None = None
    threshold: Share | None = None
    windows: Aggregate = "max"
    overlap: Overlap = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        # By device; cross-validation's copies share them, since folds compare the same pairs.
        self._encoders: dict[str | None, SentenceEncoder] = {}
        self._known: dict[tuple[str | None, str, str], float] = {}

    def _p(self, datapoints: Datapoints, run: Run) -> Floats:
        distances, tasks = self._distances(datapoints, run)
        curves = self._distance.curves
        return curves.p(distances[:, None], tasks) if curves else np.clip(distances, 0, 1)

    def _fit(self, datapoints: Datapoints, p: Floats, run: Run) -> None:
        if not datapoints:
            raise ShroomError("fitting needs labelled datapoints")
        if not 0 < p.sum() < len(p):
            raise ShroomError(
                "fitting needs datapoints for each label; add datapoints for the missing label"
            )
        if self.calibration is not None:
            raise ShroomError("fitting determines the calibration; omit the setting 'calibration'")
        distances, tasks = self._distances(datapoints, run)
        curves = Logistic.fit(distances[:, None], tasks, p, _C)
        self._state = Fitted(replace(self._distance, curves=curves))

    def _content(self) -> dict[str, Any]:
        distance = self._distance
        if distance.curves is None:
            raise ShroomError(
                "this similarity detector has not been fitted; call fit() before save()"
            )
        return {
            "model": distance.encoder,
            "revision": distance.revision,
            "reference": distance.rule.value,
            "multilingual": distance.multilingual,
            **distance.curves.to_dict(),
            "threshold": self.threshold_,
        }

    def _read(self, content: Any, path: Path) -> _Distance:
        encoder, revision = str(content["model"]), content["revision"]
        if (path.parent / encoder).is_dir():
            encoder = str(path.parent / encoder)
        revision = None if revision is None else str(revision)
        rule, multilingual = Rule(content["reference"]), content["multilingual"] is True
        return _Distance(encoder, revision, rule, multilingual, Logistic.from_dict(content, 1))

    def premises(self, datapoint: Datapoint) -> tuple[str, ...]:
        state = self._distance
        return premises(datapoint, rule=state.rule, multilingual=state.multilingual)

    @property
    def languages(self) -> tuple[str, ...]:  # type: ignore[override]
        """The languages that the encoder's card declares."""
        return hub.languages([self._distance.encoder], [self._distance.revision])

    @property
    def identity(self) -> str:
        """The identity of the encoder, and a digest of the curves."""
        state = self._distance
        encoder = hub.identity(state.encoder, state.revision)
        if state.curves is None:
            return encoder
        weights = json.dumps(state.curves.to_dict(), sort_keys=True)
        return f"{encoder}+{hashlib.sha256(weights.encode()).hexdigest()[:16]}"

    @property
    def _distance(self) -> _Distance:
        distance: _Distance = self._fitted().model
        return distance

    def _load(self) -> Fitted:
        """Return the state that the settings specify."""
        is_file = self.model.endswith(".json") or Path(self.model).is_file()
        file = self.model if is_file else self.calibration
        if file is None:
            return Fitted(_Distance(self.model, self.revision, self.reference, self.multilingual))
        if self.calibration not in (None, file):
            raise ShroomError(
                f"{file} already contains a calibration; omit the setting 'calibration', or set "
                "'model' to the encoder alone"
            )
        fitted = self._loaded(Path(file))
        distance: _Distance = fitted.model
        if not is_file:
            distance = replace(distance, encoder=self.model, revision=self.revision)
        revision = distance.revision or "main"
        if (
            self.revision not in (None, distance.revision, revision)
            or self.reference not in (Rule.GIVEN, distance.rule)
            or self.multilingual > distance.multilingual
        ):
            raise ShroomError(
                f"{file}: fitted with revision={revision}, reference={distance.rule.value} and "
                f"multilingual={str(distance.multilingual).lower()}; omit these settings, or fit "
                "again with your settings"
            )
        return replace(fitted, model=distance)

    def _distances(self, datapoints: Datapoints, run: Run) -> tuple[Floats, list[str]]:
        """Return 1 - cosine of each datapoint, and its task."""
        points = Pairs.of(datapoints, self.premises)
        keys = [(run.device, *pair) for pair in points.texts]
        if len(self._known) > _MOST_DISTANCES:
            self._known.clear()
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        if new:
            if run.device not in self._encoders:
                encoder = self._distance.encoder, self._distance.revision
                self._encoders[run.device] = SentenceEncoder(*encoder, run.device)
            model, windows = self._encoders[run.device], Windows(self.windows, self.overlap)
            read = model.read([(premise, hyp) for _, premise, hyp in new], windows, run)
            vectors = model.embed([text for pair in read.items for text in pair], run)
            distances = 1 - np.einsum("ij,ij->i", vectors[::2], vectors[1::2])
            self._known.update(zip(new, windows.folded(distances, read).tolist()))
        distances = points.best(np.array([self._known[key] for key in keys]))
        return distances, [point.task.like for point in datapoints]


@dataclass(frozen=True)
class _Distance:
    """The encoder and the reference rule, and the curves if it was fitted."""

    encoder: str
    revision: str | None
    rule: Rule
    multilingual: bool
    curves: Logistic | None = None
