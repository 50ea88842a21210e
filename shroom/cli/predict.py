"""``shroom predict``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shroom.check import check_documents
from shroom.cli.options import INPUT, OUTPUT, say
from shroom.datasets.semeval2024 import DataFile, read_files
from shroom.detectors.base import detector as detector_named
from shroom.documents import Document
from shroom.problems import InvalidInput, Problems, ShroomError
from shroom.submission import Name, latest
from shroom.writing import names_a_file, write_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shroom.detectors.base import Detector

EXAMPLES = """\b
Examples:
  shroom predict lexical val.model-agnostic.json -o predictions.json
  shroom predict lexical data_folder -o submission.zip
"""


@click.command(epilog=EXAMPLES)
@click.argument("detector")
@click.argument("data", type=INPUT)
@click.option(
    "-o", "--output", type=OUTPUT, required=True, help="A .json file, a .zip, or a folder."
)
@click.option("--model", type=click.Path(exists=True), help="A fitted model, as fit writes it.")
@click.option("--threshold", type=click.FloatRange(0, 1), help="Hallucination where p is greater.")
def command(
    *, detector: str, data: str, output: str, model: str | None, threshold: float | None
) -> None:
    """Run DETECTOR on DATA and write its submission.

    Of a folder or a zip, the val and test files of both tracks are taken, each in its latest
    version. What is written has passed the check.
    """
    if threshold is not None and math.isnan(threshold):
        raise click.BadParameter("nan is no threshold", param_hint="--threshold")
    chosen = detector_named(detector, **({"model": model} if model else {}))
    problems = Problems()
    files = read_files(data, problems, choose=_wanted)
    if not files:
        raise ShroomError(f"{data}: has no file named {{val,test}}.model-{{agnostic,aware}}.json")
    say(problems)
    made = {}
    for file in files:
        in_sample = getattr(chosen, "was_fitted_on", lambda _: False)
        if in_sample(file.datapoints):
            say([f"note: {detector} was fitted on {file.base}: its scores there are in-sample"])
        _check_premises(file)
        rows = _predictions(chosen, file, threshold)
        text = "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n"
        made[_output_name(file, output)] = text
    _check(made)
    write_files(output, made, [data, model])
    say([f"wrote {sum(len(file.datapoints) for file in files)} predictions to {output}"])


def _wanted(found: list[Document]) -> list[Document]:
    """Return a file that was named alone, or the latest val and test files of a folder."""
    if len(found) == 1:
        return found
    problems = Problems()
    wanted = sorted(latest(found, problems).items())
    if problems.errors:
        raise InvalidInput(problems)
    return [document for (split, _), document in wanted if split in ("val", "test")]


def _predictions(
    chosen: Detector, file: DataFile, threshold: float | None
) -> Iterable[dict[str, Any]]:
    limit = chosen.threshold if threshold is None else threshold
    p = chosen.predict(file.datapoints)
    for point, value in zip(file.datapoints, p.tolist()):
        rounded = round(value, 6)
        label = "Hallucination" if rounded > limit else "Not Hallucination"
        row = {"label": label, "p(Hallucination)": rounded}
        yield row if point.id is None else {"id": point.id, **row}


def _output_name(file: DataFile, output: str) -> str:
    name = Name.guess(file.base)
    if name is not None:
        return name.base
    if output == "-" or names_a_file(Path(output)):
        return "predictions.json"
    raise ShroomError(
        f"{output}: a zip or a folder wants names like val.model-aware.json, and {file.base} does "
        "not tell split and track; name a .json file"
    )


def _check_premises(file: DataFile) -> None:
    """Report every datapoint that has nothing to hold its hypothesis against."""
    problems = Problems()
    for index, point in enumerate(file.datapoints):
        if not (point.src.strip() or point.tgt.strip()):
            place = {"index": index, "id": point.id}
            problems.add("premise-missing", file.base, "src or tgt", "both empty", **place)
    if problems.errors:
        raise InvalidInput(problems)


def _check(made: dict[str, str]) -> None:
    """Hold what is to be written against the same rules as any submission."""
    problems = Problems()
    documents = [Document(name, name, text.encode()) for name, text in made.items()]
    checked = check_documents(documents, problems=problems)
    if not checked.ok:
        raise InvalidInput(problems)
