"""``shroom bundle``."""

from __future__ import annotations

import datetime as dt
import importlib.util
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shroom import bundle
from shroom.bundle.checking import COMMIT
from shroom.cli import verb
from shroom.cli.edition_choice import SHROOM, edition_given, named_edition
from shroom.cli.output import note, say
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.core.datapoint import TASKS
from shroom.core.problem_codes import ERROR
from shroom.core.problems import Problems, ShroomError, printable
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.validation import warnings_of

if TYPE_CHECKING:
    from shroom.evaluation.gold_quality.findings import Finding


@verb(
    "shroom bundle --gold gold/ -o competition",
    "shroom bundle --gold gold/ --start 2027-01-15 --no-predictions -o dated",
    "shroom bundle --check competition/codabench.zip",
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    default="bundle",
    help="Write the files of the bundle to this folder.",
)
@click.option("--gold", type=INPUT, help="Labelled data; by default the sample, for trying it out.")
@click.option(
    "--data",
    type=INPUT,
    help="Data without labels, for participants; by default those of the gold.",
)
@named_edition(SHROOM)
@click.option(
    "--start",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Start of the first phase; by default as in the edition, else today.",
)
@click.option(
    "--predictions/--no-predictions",
    default=True,
    help="Put what the kit's own model predicts into the starting kit, where its tasks are the "
    "edition's.",
)
@click.option("--allow", is_flag=True, help="Build the bundle even if gold check finds errors.")
@click.option(
    "--check",
    "checked",
    type=INPUT,
    help="Report what Codabench would refuse of this bundle, a zip or folder; build none.",
)
@click.pass_context
def command(
    context: click.Context,
    *,
    output: str,
    gold: str | None,
    data: str | None,
    edition: str | None,
    start: dt.datetime | None,
    predictions: bool,
    allow: bool,
    checked: str | None,
) -> None:
    """Build the competition bundle for Codabench, and the scoring program.

    Each phase of the edition with labelled gold becomes a phase of the competition.
    """
    if checked is not None:
        context.exit(_check(checked))
    if gold is None:
        gold = str(Path(bundle.__file__).parents[1] / "sample")
        note("without --gold the reference data are the sample, for trying the bundle only")
    chosen = edition_given(edition, gold, by_form=True)
    say(f"warning: the edition: {printable(warning)}" for warning in warnings_of(chosen))
    found = _findings_of(gold, chosen)
    errors = [line for line, finding in found if finding.severity == ERROR]
    if data is None:  # else the units may be in the data
        say(f"warning: {line}" for line, finding in found if finding.code == "unit-missing")
    say(errors)
    if errors and not allow:
        raise ShroomError(
            f"{gold}: gold check finds errors, so no bundle was built; correct them, or add --allow"
        )
    problems = Problems()
    files = bundle.build(
        gold,
        start.date() if start else None,
        problems,
        edition=chosen,
        data=data,
        folder=_folder(edition, gold),
        predict=(lambda files: _predicted(files, chosen)) if predictions else None,
    )
    bundle.write(files, output)
    say(problems)
    for name, content in files.items():
        click.echo(f"{Path(output) / name}  {len(content)} bytes")


def _check(file: str) -> int:
    """Report what the platform would refuse; return the exit code."""
    findings = bundle.check(file)
    say([*(f"warning: {line}" for line in findings.warnings), *findings.refused])
    if findings.refused:
        return 1
    click.echo(f"{file}: Codabench takes it, by its version {COMMIT}")
    return 0


def _findings_of(gold: str, edition: Edition) -> list[tuple[str, Finding]]:
    """Return what ``shroom gold check`` finds, each with a line for it."""
    from shroom.evaluation.gold_quality.quality import gold_quality

    try:
        files = gold_quality(gold, edition=edition).files
    except ShroomError:
        return []  # what cannot be read, the build reports
    return [
        (f"{file.file}: {finding.about} [{finding.code}]", finding)
        for file in files
        for finding in file.findings
    ]


def _folder(edition: str | None, gold: str) -> Path:
    """Return the folder that the names of an edition's pages start from."""
    source = Path(gold if edition is None else edition)
    return source if source.is_dir() else source.parent


def _predicted(files: Mapping[str, bytes], edition: Edition) -> dict[str, bytes]:
    """Return what the kit's own model predicts for files of data; nothing where it does not fit."""
    fits = edition.annotation.kind == "binary" and edition.tasks and set(edition.tasks) <= {*TASKS}
    if not fits:
        return {}
    if not all(map(importlib.util.find_spec, ("onnxruntime", "tokenizers"))):
        note(
            "the starting kit has no predictions, since the packages of the extra onnx are missing"
        )
        return {}
    from shroom.detectors.recipe import Recipe
    from shroom.detectors.registry import DEFAULT
    from shroom.inference.run_settings import Run
    from shroom.prediction.submission_rows import made_by
    from shroom.scoring.datapoint_files import read_files

    detector, predictions = Recipe.of(DEFAULT).make(), {}
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            path = Path(folder) / name
            path.write_bytes(content)
            for file in read_files(path, edition=edition):
                text = made_by(detector, file, Run(), edition)
                name_of_file = edition.guess(name)
                base = name_of_file.base if name_of_file else name
                predictions[base] = text.encode()
    return predictions
