"""``shroom predict``."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import SETTINGS, given
from shroom.cli.output import if_interrupted, note, say
from shroom.cli.parameter_types import INPUT, OUTPUT, Number
from shroom.cli.predict_ray import RAY_OPTIONS, Ray
from shroom.cli.progress import shown_progress
from shroom.cli.run_options import NO_CACHE, opened_cache, run_options
from shroom.core.append_only import Unwritable
from shroom.core.atomic_writing import prepare, refuse_overwriting, write_files
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.core.result_log import computed_anew
from shroom.detectors.recipe import Recipe
from shroom.detectors.registry import DEFAULT, DEFAULTS, REGISTRY, check_annotation
from shroom.inference.resume_log import PARTIAL, Journal
from shroom.inference.run_settings import Run
from shroom.prediction.input_data import read_data
from shroom.prediction.run_record import record_path, run_record, write_record
from shroom.prediction.submission_rows import check_output, name_for, predictions_of
from shroom.scoring.datapoint_files import DataFile
from shroom.scoring.editions.edition import Edition


@verb(
    "shroom predict data/ -o submission.zip",
    "shroom predict lexical data/ --split val -o lexical/",
    "shroom predict nli val.model-aware.json --model ./nli-model -o nli.json",
    options_metavar="[OPTIONS] [DETECTOR]",
)
@click.argument("arguments", nargs=-1, required=True, metavar="DATA")
@click.option("-o", "--output", type=OUTPUT, help="Write to this .json file, .zip file or folder.")
@edition_option("arguments", by_form=True, any_kind=True)
@click.option("--split", help="Predict only this split of a folder or zip, such as val.")
@click.option("--model", help="Fitted model, folder of a transformers model, or name on the hub.")
@SETTINGS
@click.option(
    "--threshold", type=Number(0, 1), help="Label items with a greater p as Hallucination."
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
@click.option("--max-cost", type=Number(0), help="Stop a judge before it exceeds this cost.")
@click.option("--dry-run", is_flag=True, help="Show what a judge would ask and cost, and stop.")
@RAY_OPTIONS
def command(
    *,
    arguments: tuple[str, ...],
    output: str | None,
    split: str | None,
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
    edition: Edition,
) -> None:
    """Run DETECTOR on DATA and write a submission.

    DETECTOR is a name from 'shroom list detectors' or a recipe's file; the default is the kit's
    own model.
    """
    kind = edition.annotation.kind
    named, data = detector_and_data(arguments, anywhere=ray is not None, kind=kind)
    recipe = Recipe.of(named)
    options = given(model=model, threshold=threshold, max_cost=max_cost)
    recipe = replace(recipe, settings={**recipe.settings, **settings, **options})
    recipe = replace(recipe, data=(split,)) if split else recipe
    if output is None and not dry_run:
        raise click.UsageError("missing option '-o': name a file or a folder for the predictions")
    if recipe.detector == "judge" and ray is None and _is_felm(data):
        from shroom.cli.predict_segments import predict_segments

        if split:
            raise ShroomError(f"{data}: FELM has no splits; leave out --split")
        predict_segments(recipe.settings, data, output, dry_run=dry_run)
        return
    run = replace(run, precision=run.precision or recipe.precision, in_sample=in_sample)
    detector = recipe.make()
    check_annotation(detector, edition)
    if in_sample and not (output and record_path(output)):
        raise click.UsageError(
            "--in-sample needs a folder for its output, where run.json marks the scores"
        )
    if ray is not None and output is not None:
        ray.predict(recipe, data, output, run, edition, resume=resume)
        return
    files = _read(data, recipe, edition)
    if split:
        _refuse_other_split(data, files, split, edition)
    if output is None or dry_run:
        for file in files:
            click.echo(f"{file.base}: {detector.dry_run(file.datapoints)}")
        return
    if resume and output == "-":
        raise click.UsageError("nothing is kept of what goes to stdout; to --resume, name a file")
    inputs = [data, model, recipe.path]
    names = [name_for(edition.guess(file.base), output, file.base, edition) for file in files]
    prepare(output, names, inputs)
    record = record_path(output)
    partial = output.rstrip(f"/{os.sep}") + PARTIAL
    # The output, and so its journal, may be in the folder that is read: a journal is not an input.
    refuse_overwriting([partial], [path for path in inputs if path and not Path(path).is_dir()])
    run = replace(run, note=note, cache=None if no_cache else opened_cache(note))
    total = sum(len(file.datapoints) for file in files)
    start = time.monotonic()
    with nullcontext() if output == "-" else _journal(partial, resume=resume) as journal:
        run = replace(run, journal=journal)
        texts, training = predictions_of(detector, files, run, edition, shown_progress)
        contents = dict(zip(names, texts))
        seconds = time.monotonic() - start
        check_output(contents, edition)
        write_files(output, contents, inputs)
    if record:
        record.unlink(missing_ok=True)  # that of an earlier run
        about = seconds, contents, training, run.precisions
        write_record(
            record, run_record(recipe, detector, files, data, edition, Path(output), *about)
        )
    say([f"wrote {total} predictions to {output}"])


@contextmanager
def _journal(path: str, *, resume: bool) -> Iterator[Journal | None]:
    """Store results until the output is written; warn if nothing can be stored."""
    with ExitStack() as stack:
        journal = None
        try:
            journal = stack.enter_context(Journal(path, resume=resume).open())
            if journal.damaged:
                note(computed_anew(journal.path, journal.damaged))
        except Unwritable as error:
            note(f"{error}, so that nothing is kept for --resume")
        again = "to continue, run the same command with --resume"
        with if_interrupted(
            lambda: f"{journal.kept} results are kept; {again}" if journal and journal.kept else ""
        ):
            yield journal
        if journal:
            journal.remove()


def detector_and_data(
    arguments: tuple[str, ...], *, anywhere: bool = False, kind: str = "binary"
) -> tuple[str, str]:
    """Return the detector, by default that of a kind of annotation, and the data.

    The data must be a file or a folder of this machine, unless they may be ``anywhere``.
    """
    if len(arguments) > 2:
        raise click.UsageError(f"expected a detector and data, got {len(arguments)} arguments")
    *named, data = arguments
    if not named and data in REGISTRY:
        raise click.UsageError(f"{data} is a detector: name the DATA that it should judge, too")
    if not anywhere or "://" not in data:
        data = INPUT.convert(data, None, None)
    return (named[0] if named else DEFAULTS.get(kind, DEFAULT)), data


def _read(data: str, recipe: Recipe, edition: Edition) -> list[DataFile]:
    problems = Problems()
    files = read_data(data, problems, recipe.data or edition.submitted, edition)
    if problems.errors:
        raise InvalidInput(problems)
    say(problems)
    return files


def _is_felm(data: str) -> bool:
    from shroom.datasets.registry import guess

    return guess(data) == "felm"


def _refuse_other_split(data: str, files: list[DataFile], split: str, edition: Edition) -> None:
    """Refuse a file that was named alone, or is alone in a folder, and is of another split."""
    for file in files:
        name = edition.guess(file.base)
        if name is None or name.split != split:
            raise ShroomError(
                f"{data}: has no file of the split {split}, only {file.base}; leave out --split"
            )
