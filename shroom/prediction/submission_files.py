"""The files of a submission: their names and rows, and run.json, the record of the run."""

from __future__ import annotations

import json
import platform
from collections.abc import Collection, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from shroom.core.atomic_writing import names_a_file, names_a_zip, write_atomically
from shroom.core.paths import RUN_RECORD, Source
from shroom.core.problems import InvalidInput, ShroomError
from shroom.core.version import __version__
from shroom.detectors.base import Detector
from shroom.detectors.registry import Recipe
from shroom.metrics.intervals import Intervals
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_names import Name
from shroom.scoring.scores import score


def json_list(columns: Mapping[str, list[Any]], ids: Any, edition: Edition) -> str:
    """Return columns and ids as the JSON list of a submission, in the words of the edition."""
    known = {} if ids is None else {edition.item.id_key: np.asarray(ids, object).tolist()}
    values = {**known, **columns}
    rows = edition.with_file_keys(dict(zip(values, row)) for row in zip(*values.values()))
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n"


def name_for(name: Name | None, out: Source, data_name: str, edition: Edition) -> str:
    """Return the name of a file of predictions; a zip or a folder needs split and track."""
    if name is not None and name.split in edition.submitted:
        return edition.name_of(*name.key).base
    if str(out) == "-" or names_a_file(out):
        return "predictions.json"
    raise ShroomError(
        f"{out}: a zip or a folder needs names like {edition.expected_name(edition.submitted)}, "
        f"but no such name can be formed from {data_name}; write a .json file, or "
        "rename the data file"
    )


#: Packages whose versions may change p.
PACKAGES = (
    *("numpy", "onnxruntime", "sacrebleu", "scikit-learn", "scipy", "tokenizers", "torch"),
    "transformers",
)


def run_record(recipe: Recipe, detector: Detector, **about: Any) -> dict[str, Any]:
    """Return the record of a run: the detector, what is known about the run, and versions."""
    versions = {"shroom-kit": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "recipe": recipe.name,
        "detector": recipe.detector,
        "settings": dict(recipe.settings),
        "weights": detector.identity,
        **about,
        "versions": versions,
    }


def record_path(output: str) -> Path | None:
    """Return the path of the record of a run, if its output is a folder."""
    if output == "-" or names_a_file(output) or names_a_zip(output):
        return None
    path, record = Path(output, RUN_RECORD), None
    with suppress(OSError, ValueError):
        record = json.loads(path.read_bytes())
    is_record = isinstance(record, dict) and {"recipe", "detector", "versions"} <= record.keys()
    if path.exists() and not is_record:
        raise ShroomError(
            f"{path} already exists and is not a run record, so it is not overwritten; move it, or "
            "choose another folder"
        )
    return path


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    write_atomically(path, json.dumps(record, indent=2, default=str) + "\n")


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
