"""The record of a run: detector, settings, versions, duration and scores."""

from __future__ import annotations

import json
import platform
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from shroom.core.problems import InvalidInput
from shroom.core.version import __version__
from shroom.metrics.intervals import Intervals
from shroom.scoring.scores import score

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from shroom.detectors.base import Detector
    from shroom.detectors.recipe import Recipe
    from shroom.scoring.datapoint_files import DataFile

#: Packages whose versions may change p, and the modules they install.
PACKAGES = {
    "numpy": "numpy",
    "onnxruntime": "onnxruntime",
    "sacrebleu": "sacrebleu",
    "scikit-learn": "sklearn",
    "scipy": "scipy",
    "tokenizers": "tokenizers",
    "torch": "torch",
    "transformers": "transformers",
}


def run_record(
    recipe: Recipe,
    chosen: Detector,
    files: Sequence[DataFile],
    data: str,
    output: Path,
    seconds: float,
    made: Collection[str],
    training: dict[str, dict[str, int]],
    precisions: Collection[str] = (),
) -> dict[str, Any]:
    """Return the record of a run whose submission has been written.

    Parameters
    ----------
    recipe, chosen
        The recipe and its detector.
    files : sequence of DataFile
        The data.
    data : path
        Where the data are.
    output : path
        The folder of the submission.
    seconds : float
        The duration, from loading the model to the last prediction.
    made : collection of str
        The names of the files that were written.
    training : dict of dict
        As :func:`shroom.prediction.submission_rows.training_counts` returns it.
    precisions : collection of str
        The precisions of the models: several if one changed to float32 during the run.
    """
    return {
        "recipe": recipe.name,
        "detector": recipe.detector,
        "settings": dict(recipe.settings),
        "weights": chosen.identity,
        "precision": "+".join(sorted(precisions)) or None,
        "seconds": round(seconds, 1),
        "datapoints": {file.base: len(file.datapoints) for file in files},
        **training,
        "scores": _scores(output, data, made),
        "versions": {
            "shroom-kit": __version__,
            "python": platform.python_version(),
            **_versions(),
        },
    }


def is_run_record(path: Path) -> bool:
    """Return whether a file is a record of :func:`run_record`."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and {"recipe", "detector", "versions"} <= found.keys()


def _scores(output: Path, data: str, made: Collection[str]) -> list[dict[str, Any]]:
    """Return what the submission scores where the data have labels, each with its signature."""
    try:
        found = score(output, data, intervals=Intervals(resamples=0))
    except InvalidInput:  # without labels there is nothing to score
        return []
    kept = ("split", "track", "n", "accuracy", "rho", "slices", "signature")
    return [
        {key: getattr(result, key) for key in kept}
        for result in found.results
        if f"{result.split}.{result.track}.json" in made
    ]


def _versions() -> dict[str, str]:
    installed = {package: find_spec(module) for package, module in PACKAGES.items()}
    return {package: metadata.version(package) for package, found in installed.items() if found}
