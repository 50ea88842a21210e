"""``shroom predict``."""

from __future__ import annotations

import json
import math
import time
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shroom.cli.cache import NO_CACHE, opened
from shroom.cli.options import COLUMNS_OPTION, SETTINGS
from shroom.cli.output import say
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.cli.predict_ray import RAY_OPTIONS, Ray
from shroom.cli.progress import shown_progress
from shroom.cli.run_options import run_options
from shroom.core.append_only import Unwritable
from shroom.core.atomic_writing import (
    names_a_file,
    names_a_zip,
    prepare,
    refuse_overwriting,
    write_atomically,
    write_files,
)
from shroom.core.paths import RUN_RECORD
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.core.result_log import computed_anew
from shroom.detectors.recipe import Recipe
from shroom.detectors.registry import DEFAULT, REGISTRY
from shroom.inference.resume_log import PARTIAL, Journal
from shroom.prediction.run_record import is_run_record, run_record
from shroom.prediction.submission_rows import (
    check_data,
    check_made,
    made_by,
    name_for,
    remarks,
    training_counts,
    training_notes,
    wanted,
)
from shroom.scoring.datapoint_files import DataFile, read_files
from shroom.scoring.file_names import Name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shroom.detectors.base import Detector
    from shroom.inference.run_settings import Run

EXAMPLES = """\b
Examples:
  shroom predict val.model-agnostic.json -o predictions.json
  shroom predict lexical data_folder -o submission.zip
  shroom predict nli val.model-aware.json --model FacebookAI/roberta-large-mnli -o nli.json
  shroom predict baselines/lexical.toml data_folder -o submissions/lexical
  shroom predict folder_of_shards --engine ray -o predictions
"""


@click.command(epilog=EXAMPLES, options_metavar="[OPTIONS] [DETECTOR]")
@click.argument("arguments", nargs=-1, required=True, metavar="DATA")
@click.option("-o", "--output", type=OUTPUT, help="Write to this .json file, .zip file or folder.")
@COLUMNS_OPTION
@click.option("--model", help="Fitted model, folder of a transformers model, or name on the hub.")
@SETTINGS
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    help="Label items with a greater p as Hallucination.",
)
@run_options()
@click.option(
    "--in-sample",
    is_flag=True,
    help="Judge training items with the fitted model too, instead of giving their out-of-fold p; "
    "run.json then marks the scores.",
)
@click.option("--resume", is_flag=True, help="Continue an interrupted run.")
@NO_CACHE
@click.option(
    "--max-cost", type=click.FloatRange(0), help="Stop a judge before it exceeds this cost."
)
@click.option("--dry-run", is_flag=True, help="Show what a judge would ask and cost, and stop.")
@RAY_OPTIONS
def command(
    *,
    arguments: tuple[str, ...],
    output: str | None,
    model: str | None,
    settings: dict[str, Any],
    threshold: float | None,
    run: Run,
    in_sample: bool,
    resume: bool,
    no_cache: bool,
    max_cost: float | None,
    dry_run: bool,
    ray: Ray | None,
) -> None:
    """Run DETECTOR on DATA and write its submission.

    DETECTOR is one of those that `shroom detectors` lists, or a recipe's file; by default the
    kit's own model. Of a folder or a zip, the val and test files of both tracks are taken, each in
    its latest version. What is written has passed the check.
    """
    named, data = detector_and_data(arguments, anywhere=ray is not None)
    if threshold is not None and math.isnan(threshold):
        raise click.BadParameter("nan is no threshold", param_hint="--threshold")
    recipe = Recipe.of(named)
    given = {"model": model, "threshold": threshold, "max_cost": max_cost}
    given = {key: value for key, value in given.items() if value is not None}
    recipe = replace(recipe, settings={**recipe.settings, **settings, **given})
    run = replace(run, precision=run.precision or recipe.precision)
    chosen = recipe.make()
    if output is None and not dry_run:
        raise click.UsageError("missing option '-o': name a file or a folder for the predictions")
    if in_sample and not (output and _record_place(output)):
        raise click.UsageError(
            "--in-sample wants a folder for its output, where run.json marks the scores"
        )
    run = replace(run, in_sample=in_sample)
    if ray is not None and output is not None:
        ray.predict(recipe, data, output, run, resume=resume)
        return
    files = _files(data, recipe)
    if output is None or dry_run:
        _rehearse(chosen, files)
        return
    if resume and output == "-":
        raise click.UsageError("nothing is kept of what goes to stdout; to --resume, name a file")
    inputs = [data, model, recipe.path]
    names = [name_for(Name.guess(file.base), output, file.base) for file in files]
    prepare(output, names, inputs)
    kept = output.rstrip("/") + PARTIAL
    # In a folder of inputs it may lie: a journal is none, and nothing else is taken for one.
    refuse_overwriting([kept], [path for path in inputs if path and not Path(path).is_dir()])
    record = _record_in(output)
    cache = None if no_cache else opened(_note)
    began = time.monotonic()
    with nullcontext() if output == "-" else _journal(kept, resume=resume) as journal:
        how = replace(run, note=_note, journal=journal, cache=cache)
        training = training_counts(chosen, files, how)
        for text in training_notes(chosen, training, sum(len(file.datapoints) for file in files)):
            _note(text)
        made = dict(zip(names, _made(chosen, files, how)))
        seconds = time.monotonic() - began
        check_made(made)
        write_files(output, made, inputs)
    if record:
        record.unlink(missing_ok=True)  # that of another run
        where = Path(output)
        about = seconds, made, training, how.precisions
        content = run_record(recipe, chosen, files, data, where, *about)
        write_atomically(record, json.dumps(content, indent=2, default=str) + "\n")
    say([f"wrote {sum(len(file.datapoints) for file in files)} predictions to {output}"])


def _record_in(output: str) -> Path | None:
    """Return where the record of a run lies, if its output is a folder; refuse another's file."""
    place = _record_place(output)
    if place and place.exists() and not is_run_record(place):
        raise ShroomError(
            f"{place}: is no record of a run, and would be overwritten; move it away, or name "
            "another folder"
        )
    return place


def _record_place(output: str) -> Path | None:
    """Return where the record of a run lies, if its output is a folder."""
    if names_a_file(output) or names_a_zip(output) or output == "-":
        return None
    return Path(output) / RUN_RECORD


def _note(text: str) -> None:
    say([f"note: {text}"])


@contextmanager
def _journal(path: str, *, resume: bool) -> Iterator[Journal | None]:
    """Keep what is computed until the output is written; where nothing can be kept, say so."""
    with ExitStack() as stack:
        journal = None
        try:
            journal = stack.enter_context(Journal(path, resume=resume).open())
            if journal.damaged:
                _note(computed_anew(journal.path, journal.damaged))
        except Unwritable as error:
            _note(f"{error}, so that nothing is kept for --resume")
        yield journal
        if journal:
            journal.remove()


def _made(chosen: Detector, files: list[DataFile], run: Run) -> list[str]:
    """Return the predictions for each file."""
    made = []
    try:
        for file in files:
            for text in remarks(file):
                _note(text)
            with shown_progress(file.base) as report:
                made.append(made_by(chosen, file, replace(run, report=report)))
    except KeyboardInterrupt:
        if run.journal and run.journal.kept:
            kept = f"{run.journal.kept} results are kept"
            say([f"{kept}; to continue, run the same command with --resume"])
        raise
    return made


def detector_and_data(arguments: tuple[str, ...], *, anywhere: bool = False) -> tuple[str, str]:
    """Return the detector, by default the kit's own, and the data of a command line.

    The data must lie here, unless they may lie ``anywhere``.
    """
    if len(arguments) > 2:
        raise click.UsageError(f"expected a detector and data, got {len(arguments)} arguments")
    *named, data = arguments
    if not named and data in REGISTRY:
        raise click.UsageError(f"{data} is a detector; which DATA shall it judge?")
    if not anywhere or "://" not in data:
        data = INPUT.convert(data, None, None)
    return (named[0] if named else DEFAULT), data


def _files(data: str, recipe: Recipe) -> list[DataFile]:
    problems = Problems()
    files = read_files(data, problems, choose=lambda found: wanted(found, recipe.data))
    if not files:
        splits = ",".join(recipe.data)
        raise ShroomError(f"{data}: has no file named {{{splits}}}.model-{{agnostic,aware}}.json")
    say(problems)
    for file in files:
        check_data(file, problems)
    if problems.errors:
        raise InvalidInput(problems)
    return files


def _rehearse(chosen: Detector, files: list[DataFile]) -> None:
    """Print the requests that a detector would send to a service."""
    for file in files:
        click.echo(f"{file.base}: {chosen.dry_run(file.datapoints)}")
