"""``shroom bundle``."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from shroom import bundle
from shroom.bundle.checking import COMMIT
from shroom.cli import verb
from shroom.cli.edition_choice import SHROOM, edition_given, named_edition
from shroom.cli.options import FILE, INPUT, OUTPUT, flag, option
from shroom.cli.output import note, read_aloud, say
from shroom.core.datapoint import TASKS
from shroom.core.extras import install_hint
from shroom.core.problem_codes import ERROR
from shroom.core.problems import ShroomError, printable
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.validation import warnings_of


@verb()
@option("-o --output", "Write the files of the bundle to this folder.", OUTPUT, "bundle")
@option(
    "--gold", "Labelled data. Default: the kit's sample, which is only suitable for a trial.", INPUT
)
@option("--data", "Data for participants. Default: the gold without labels.", INPUT)
@named_edition(SHROOM)
@option(
    "--start",
    "Start of the first phase. Default: the date in the edition, otherwise today.",
    click.DateTime(["%Y-%m-%d"]),
    metavar="YYYY-MM-DD",
)
@flag("--predictions/--no-predictions", "Add predictions to the starting kit.", default=True)
@flag("--allow", "Build the bundle even if 'shroom gold check' finds errors.")
@option("--check checked", "Only check whether Codabench would accept this zip.", FILE)
def command(
    *, output: str, gold: str | None, data: str | None, edition: str | None, **options: Any
) -> int:
    """Build the competition bundle for Codabench, with the scoring program.

    Phases without gold labels are left out.

    Examples
    --------
    shroom bundle --gold gold/ -o competition
    shroom bundle --gold gold/ --start 2027-01-15 --no-predictions -o dated
    shroom bundle --check competition/codabench.zip
    """
    if options["checked"] is not None:
        return _check(options["checked"])
    if gold is None:
        gold = str(Path(bundle.__file__).parents[1] / "sample")
        note(
            "without --gold, the bundle uses the kit's sample as gold; such a bundle is only "
            "suitable for a trial"
        )
    chosen = edition_given(edition, gold, by_form=True)
    say(f"warning: edition: {printable(warning)}" for warning in warnings_of(chosen))
    errors = [*_errors_of(gold, chosen)]
    say(errors)
    if errors and not options["allow"]:
        raise ShroomError(
            f"no bundle was built, because 'shroom gold check' finds errors in {gold}; correct the "
            "gold, or use --allow"
        )
    source = Path(gold if edition is None else edition)
    folder = source if source.is_dir() else source.parent  # where the edition's pages are
    predict = functools.partial(_predicted, edition=chosen) if options["predictions"] else None
    start = options["start"] and options["start"].date()
    more = {"edition": chosen, "data": data, "folder": folder, "predict": predict}
    files = read_aloud(bundle.build, gold, start, **more)
    bundle.write(files, output)
    built = f"built the competition {chosen.title}; its scoring program has scored the sample"
    click.echo(printable(built))
    for name, content in files.items():
        click.echo(f"{Path(output) / name}  {len(content)} bytes")
    uploaded, kept = (Path(output) / name for name in files)
    missing = [name for name in ("data", "terms") if name not in chosen.pages]
    if missing:
        pages = " and ".join(f"pages.{name}" for name in missing)
        note(f"the bundle contains the kit's notes to organisers; set {pages} in the edition")
    say([f"next: upload {uploaded} to Codabench (Benchmarks, Management, Upload)"])
    if any(phase.blind for phase in chosen.phases):
        say([f"keep {kept}: you need it to reveal the scores of a blind phase"])
    return 0


def _check(file: str) -> int:
    findings = bundle.check(file)
    say([*(f"warning: {line}" for line in findings.warnings), *findings.refused])
    if findings.refused:
        say([f"not valid: Codabench {COMMIT} would reject {file}; correct the problems above"])
        return 1
    click.echo(f"valid: Codabench {COMMIT} accepts {file}")
    return 0


def _errors_of(gold: str, edition: Edition) -> Iterator[str]:
    """Yield the errors that ``shroom gold check`` finds, each as a line."""
    from shroom.evaluation.gold_quality.quality import gold_quality

    with suppress(ShroomError):  # the build reports files that cannot be read
        for file in gold_quality(gold, edition=edition).files:
            for finding in file.findings:
                if finding.severity == ERROR:
                    yield f"{file.file}: {finding.about} [{finding.code}]"


def _predicted(files: Mapping[str, bytes], edition: Edition) -> dict[str, bytes]:
    """Return predictions of the kit's own model; none if it does not fit the edition."""
    if edition.annotation.kind != "binary" or not edition.tasks or {*edition.tasks} - {*TASKS}:
        return {}
    if not all(map(importlib.util.find_spec, ("onnxruntime", "tokenizers"))):
        note(f"the starting kit contains no predictions; to add them, {install_hint('onnx')}")
        return {}
    from shroom.detectors.registry import DEFAULT, Recipe
    from shroom.inference.run_settings import Run
    from shroom.prediction.predictions import predict_files
    from shroom.scoring.datapoint_files import read_files
    from shroom.scoring.in_memory import InMemory

    data = read_files(InMemory("data", dict(files), is_folder=True), edition=edition)
    names = [name.base if (name := edition.guess(it.base)) else it.base for it in data]
    return predict_files(Recipe.of(DEFAULT).make(), data, names, Run(), edition).files
