"""The detectors that are evaluated, with their p, which are stored, and their thresholds."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Union
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Datapoint
from shroom.core.problems import ShroomError
from shroom.core.version import __version__
from shroom.detectors.base import Detector
from shroom.detectors.registry import REGISTRY, Recipe
from shroom.evaluation.matrix.datasets import Subject, digest_of
from shroom.inference import store as inference
from shroom.inference.run_settings import RUN, Run
from shroom.metrics.accuracy_by_threshold import balanced_accuracy_by_threshold
from shroom.scoring.result import Plain

#: The file in the folder of stored p.
FILE = "p.sqlite"
_SCOPE = "evaluate"


@dataclass(frozen=True, eq=False)
class Contender:
    name: str
    argument: str
    detector: Detector
    settings: dict[str, Any]
    precision: str | None = None

    @property
    def fingerprint(self) -> str:
        """Digest of everything that p depends on: version, weights, settings, files."""
        settings = {k: _content(v) for k, v in self.settings.items() if k != "threshold"}
        items = self.detector.training_items
        digest = items.digest if items.answers else ""
        parts = [__version__, self.detector.name, self.detector.identity, settings, digest]
        text = json.dumps(parts, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def in_sample(self, datapoints: Sequence[Datapoint]) -> int:
        return int(self.detector.in_sample(datapoints).sum())


#: Detectors as names, recipe files or objects; the keys of a mapping are used as names.
Detectors = Union[
    str,
    Detector,
    Iterable[Union[str, Detector, Contender]],
    Mapping[str, Union[str, Detector]],
]


def contenders(detectors: Detectors) -> list[Contender]:
    """Return detectors from ``NAME``, ``NAME=MODEL``, recipe files or detector objects."""
    if isinstance(detectors, Mapping):
        chosen = [replace(_contender(it), name=name) for name, it in detectors.items()]
    elif isinstance(detectors, (str, Detector)) or not isinstance(detectors, Iterable):
        chosen = [_contender(detectors)]
    else:
        chosen = [_contender(it) for it in detectors]
    counts = Counter(contender.name for contender in chosen)
    for place, contender in enumerate(chosen):
        # The model becomes part of the name if two detectors have the same name.
        if counts[contender.name] > 1 and contender.settings.keys() == {"model"}:
            model = Path(contender.settings["model"]).name
            chosen[place] = replace(contender, name=f"{contender.name}={model}")
    for name, count in Counter(contender.name for contender in chosen).items():
        if count > 1:
            raise ShroomError(
                f"two detectors have the name {name}; remove one of them, or give recipe files "
                "different names"
            )
    return chosen


def _contender(text: str | Detector | Contender) -> Contender:
    if isinstance(text, Contender):
        return text
    if isinstance(text, Detector):
        # The object may have been fitted, so stored p are never reused.
        return Contender(text.name, type(text).__name__, text, {"object": uuid4().hex})
    text = REGISTRY.checked_name(text)
    head, equals, model = text.partition("=")
    is_named = head in REGISTRY
    if is_named and not model and (equals or REGISTRY[head].also.startswith("--model")):
        raise ShroomError(
            f"{text} has no model; write {head}=MODEL (a folder, a file or a name on the hub), or "
            "use a recipe file"
        )
    recipe = Recipe(head, head, {"model": model}) if is_named and model else Recipe.of(text)
    settings = dict(recipe.settings)
    return Contender(recipe.name, text, recipe.make(), settings, recipe.precision)


def _content(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _content(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_content(item) for item in value]
    if isinstance(value, str) and Path(value).is_file():
        return [value, hashlib.sha256(Path(value).read_bytes()).hexdigest()]
    return value


@dataclass(frozen=True, eq=False)
class Cell:
    """The p of a detector with six digits; ``seconds`` is ``None`` if the run was interrupted."""

    p: NDArray[np.float64]
    seconds: float | None
    notes: tuple[str, ...] = ()


class Store:
    """A folder with the p of each detector on datapoints."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reused = 0  #: number of stored results that were used

    def p(self, contender: Contender, datapoints: Sequence[Datapoint], run: Run = RUN) -> Cell:
        """Return the p of datapoints: stored ones, otherwise computed by the detector."""
        run = replace(run, precision=run.precision or contender.precision)
        parts = contender.fingerprint[:16], digest_of(datapoints)[:16], run.precision
        key = "-".join(filter(None, parts))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ShroomError(f"{self.folder}: cannot be created: {error.strerror}") from error
        with closing(inference.Store(self.folder / FILE, math.inf, run.note)) as cells:
            if known := cells.get(_SCOPE, [key]):
                self.reused += 1
                content = json.loads(known[key])
                return Cell(np.array(content["p"]), content["seconds"], tuple(content["notes"]))
            partial = self.folder / f"{key}{inference.PARTIAL}"
            with inference.kept(partial, run.note, resume=True) as store:
                cell = _computed(contender.detector, datapoints, run, store)
            content = {"p": cell.p.tolist(), "seconds": cell.seconds, "notes": cell.notes}
            cells.put(_SCOPE, {key: json.dumps(content).encode()})
        return cell


def _computed(
    detector: Detector, datapoints: Sequence[Datapoint], run: Run, store: inference.Store
) -> Cell:
    """Return computed p; ``store`` has the results of an interrupted run."""
    notes: dict[str, None] = {}
    resumed, began = store.n > 0, time.perf_counter()
    run = replace(run, stores=(store, *run.stores), note=notes.setdefault)
    if unseen := int(detector.out_of_fold_items(datapoints, run).sum()):
        run.note(
            f"the detector was fitted on {unseen} of the {len(datapoints)} items; for "
            "these items, p is cross-validated"
        )
    p = detector.p(datapoints, run)
    seconds = None if resumed else time.perf_counter() - began
    return Cell(np.round(p, 6), seconds, tuple(notes))


@dataclass(frozen=True)
class Threshold:
    """The threshold above which p is labelled Hallucination, and its origin."""

    value: float
    source: str


@dataclass(frozen=True, eq=False, repr=False)
class Split(Plain):
    """The datapoints that thresholds are tuned on, which are not scored."""

    name: str
    datapoints: list[Datapoint]
    label: NDArray[np.bool_]
    left_out: int
    keys = ("name", "n", "hallucinations", "left_out")

    def __repr__(self) -> str:
        return f"Split({self.name}, n={self.n}, hallucinations={self.hallucinations})"

    def threshold(self, p: NDArray[np.float64], *, seen: bool = False) -> Threshold:
        """Return the best threshold, in a tie the nearest to 0.5; ``seen``: it is in-sample."""
        curve = balanced_accuracy_by_threshold(p, self.label)
        source = f"tuned for balanced accuracy on {self.name} (n = {len(p)})"
        source += ", including items that the detector was fitted on" if seen else ""
        return Threshold(curve.best_threshold, source)

    @property
    def n(self) -> int:
        return len(self.datapoints)

    @property
    def hallucinations(self) -> int:
        return int(self.label.sum())


def split(tuned_on: Sequence[Subject], scored: Sequence[Subject]) -> Split:
    hyps = {point.hyp for subject in scored for point in subject.datapoints}
    every = [it for subject in tuned_on for it in zip(subject.datapoints, subject.label)]
    free = [(point, label) for point, label in every if point.hyp not in hyps]
    label, left_out = np.array([label for _, label in free], bool), len(every) - len(free)
    name = " and ".join(f"{subject.name} ({', '.join(subject.paths)})" for subject in tuned_on)
    if not label.any() or label.all():
        raise ShroomError(
            f"{name}: tuning needs unscored items of both classes, but "
            f"{left_out} of {len(every)} items are also scored; "
            "choose another split to tune on"
        )
    return Split(name, [point for point, _ in free], label, left_out)
