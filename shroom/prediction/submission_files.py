"""The files of a submission: their names and rows, and run.json, the record of the run."""

from __future__ import annotations

import json
import platform
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from shroom.core.atomic_writing import encoded, names_a_file, names_a_zip, write_atomically
from shroom.core.paths import RUN_RECORD, Source
from shroom.core.printing import counted
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.core.version import __version__
from shroom.detectors.arrays import label_columns
from shroom.detectors.base import Detector
from shroom.detectors.registry import Recipe
from shroom.metrics.intervals import Intervals
from shroom.scoring.check import check_documents
from shroom.scoring.editions.edition import Edition
from shroom.scoring.file_names import Name
from shroom.scoring.input_files import Document
from shroom.scoring.scores import score


def text_of(
    label: NDArray[Any], p: NDArray[Any], ids: NDArray[Any] | None, edition: Edition
) -> str:
    """Return predictions as the JSON list of a submission, one row per line."""
    columns: dict[str, list[Any]] = {} if ids is None else {edition.item.id_key: ids.tolist()}
    return json_list(columns | label_columns(label, p), edition)


def json_list(columns: Mapping[str, list[Any]], edition: Edition) -> str:
    """Return the rows as a JSON list, under the keys and in the words of the edition."""
    rows = edition.with_file_keys(dict(zip(columns, row)) for row in zip(*columns.values()))
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n"


def list_of(lines: Iterable[bytes]) -> bytes:
    """Return JSON Lines as the JSON list that :func:`text_of` writes."""
    return b"[\n" + b"".join(lines).removesuffix(b"\n").replace(b"\n", b",\n") + b"\n]\n"


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


def check_output(texts: Mapping[str, str], edition: Edition) -> None:
    """Check JSON lists by their names with the rules for submissions, before they are written."""
    problems = Problems()
    documents = [Document(name, name, encoded(name, text)) for name, text in texts.items()]
    if not check_documents(documents, problems=problems, edition=edition).ok:
        raise InvalidInput(problems)


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
                f"{path} already exists and is not a run record, so it is not overwritten; move "
                "it, or choose "
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
            f"{output} contains {counted(sum(counts.values()), 'in-sample prediction')}, so "
            "scores will be too optimistic; write to a folder, so that run.json marks these "
            "predictions"
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
