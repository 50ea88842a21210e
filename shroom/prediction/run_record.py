"""The record of a run, ``run.json``, which also marks in-sample predictions."""

from __future__ import annotations

import json
import platform
from collections.abc import Collection, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from shroom.core.atomic_writing import names_a_file, names_a_zip, write_atomically
from shroom.core.paths import RUN_RECORD
from shroom.core.printing import counted
from shroom.core.problems import InvalidInput, ShroomError
from shroom.core.version import __version__
from shroom.detectors.base import Detector
from shroom.detectors.registry import Recipe
from shroom.metrics.intervals import Intervals
from shroom.scoring.editions.edition import Edition
from shroom.scoring.scores import score

#: Packages whose versions may change p.
PACKAGES = (
    *("numpy", "onnxruntime", "sacrebleu", "scikit-learn", "scipy", "tokenizers", "torch"),
    "transformers",
)


def run_record(
    recipe: Recipe,
    detector: Detector,
    about: Mapping[str, Any],
    scores: list[dict[str, Any]],
    seconds: float,
    precisions: Collection[str] = (),
) -> dict[str, Any]:
    """Return the record of a run; ``seconds`` go from loading to the last prediction."""
    return {
        "recipe": recipe.name,
        "detector": recipe.detector,
        "settings": dict(recipe.settings),
        "weights": detector.identity,
        "precision": "+".join(sorted(precisions)) or None,
        "seconds": round(seconds, 1),
        **about,
        "scores": scores,
        "versions": {"shroom-kit": __version__, "python": platform.python_version(), **_versions()},
    }


def record_path(output: str) -> Path | None:
    """Return the path of the record of a run, if its output is a folder."""
    if output == "-" or names_a_file(output) or names_a_zip(output):
        return None
    path = Path(output, RUN_RECORD)
    if path.exists():
        try:
            record = json.loads(path.read_bytes())
        except (OSError, ValueError):
            record = None
        if not isinstance(record, dict) or not {"recipe", "detector", "versions"} <= record.keys():
            raise ShroomError(
                f"{path} would be overwritten, but is not a run record; move it, or choose "
                "another folder"
            )
    return path


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    write_atomically(path, json.dumps(record, indent=2, default=str) + "\n")


def mark_in_sample(output: str, command: str, in_sample: Mapping[str, int]) -> str | None:
    """Mark a folder's predictions as in-sample; return a note if the output is not a folder."""
    path, counts = record_path(output), {name: n for name, n in in_sample.items() if n}
    if path:
        path.unlink(missing_ok=True)
    if not counts:
        return None
    if path is None:
        return (
            f"{output} contains {counted(sum(counts.values()), 'in-sample prediction')}, so scores "
            "will be too optimistic; to mark the predictions in run.json, write to a folder"
        )
    versions = {"shroom-kit": __version__}
    record = {"recipe": command, "detector": None, "in_sample": counts, "versions": versions}
    write_record(path, record)
    return None


def scores_of(
    output: str, data: str, names: Collection[str], edition: Edition
) -> list[dict[str, Any]]:
    """Return the scores of a submission with their signatures, if the data have labels."""
    try:
        scored = score(output, data, intervals=Intervals(resamples=0), edition=edition)
    except InvalidInput:  # without labels there is nothing to score
        return []
    return [
        {
            **{key: getattr(result, key) for key in ("split", "track", "n")},
            **result.scores,
            **{key: getattr(result, key) for key in ("slices", "signature")},
        }
        for result in scored.results
        if edition.name_of(result.split, result.track).base in names
    ]


def _versions() -> dict[str, str]:
    versions = {}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return versions
