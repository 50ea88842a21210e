"""The detectors that are evaluated, from their names on a command line or in a call."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Union
from uuid import uuid4

from shroom.core.datapoint import Datapoint
from shroom.core.problems import ShroomError
from shroom.core.version import __version__
from shroom.detectors.base import Detector
from shroom.detectors.registry import REGISTRY, Recipe


@dataclass(frozen=True, eq=False)
class Contender:
    """A detector with its settings."""

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
    """Return detectors from ``NAME``, ``NAME=MODEL``, recipe files or detector objects.

    The keys of a mapping are used as names.

    Examples
    --------
    >>> [one.name for one in contenders(["lexical", "baselines/cross-encoder.toml"])]
    ['lexical', 'cross-encoder']
    """
    if isinstance(detectors, Mapping):
        chosen = [replace(_contender(it), name=name) for name, it in detectors.items()]
    else:
        if isinstance(detectors, (str, Detector)) or not isinstance(detectors, Iterable):
            detectors = [detectors]
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
    has_model = bool(equals) and head in REGISTRY
    if has_model and not model:
        raise ShroomError(f"{text} has no model; write {head}=MODEL")
    recipe = Recipe(head, head, {"model": model}) if has_model else Recipe.of(text)
    if text in REGISTRY and REGISTRY[text].also.startswith("--model"):
        raise ShroomError(
            f"{text} needs a model; write {text}=MODEL (a folder, a file or a name on the hub), or "
            "use a recipe file"
        )
    settings = dict(recipe.settings)
    return Contender(recipe.name, text, recipe.make(), settings, recipe.precision)


def _content(value: Any) -> Any:
    """Return a setting with the digest of each file in it."""
    if isinstance(value, dict):
        return {key: _content(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_content(item) for item in value]
    if isinstance(value, str) and Path(value).is_file():
        return [value, hashlib.sha256(Path(value).read_bytes()).hexdigest()]
    return value
