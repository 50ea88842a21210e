"""``shroom predict``."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from shroom.cli import verb
from shroom.cli.detector_choice import detector_and_data, recipe_of
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import MAX_COST, MODEL, SETTINGS, flag, option
from shroom.cli.output import read_aloud, say
from shroom.cli.parameter_types import OUTPUT, Number
from shroom.cli.predict_ray import RAY_OPTIONS, predict_on_ray
from shroom.cli.running import NO_CACHE, RESUME, resumable, run_options, shown_progress
from shroom.core.atomic_writing import check_targets, prepare
from shroom.core.printing import counted
from shroom.core.problems import ShroomError
from shroom.datasets.registry import guess
from shroom.detectors.registry import check_annotation
from shroom.inference.run_settings import Run
from shroom.inference.store import PARTIAL
from shroom.prediction.input_data import read_data
from shroom.prediction.predictions import predict_files
from shroom.prediction.submission_files import (
    name_for,
    record_path,
    run_record,
    scores_of,
    write_record,
)
from shroom.scoring.datapoint_files import DataFile
from shroom.scoring.editions.edition import Edition


@verb(options_metavar="[OPTIONS] [DETECTOR]")
@click.argument("arguments", nargs=-1, required=True, metavar="DATA")
@option("-o --output", "Write to this .json file, .zip file or folder.", OUTPUT)
@edition_option("arguments", any_kind=True)
@option("--split", "Predict only this split of a folder or zip, such as val.")
@MODEL
@SETTINGS
@option(
    "--threshold",
    "Label an item as Hallucination if its p is greater than this threshold.",
    Number(0, 1),
)
@run_options()
@flag(
    "--in-sample",
    "Predict training items with the fitted model instead of using their out-of-fold p, and "
    "record this in run.json.",
)
@RESUME
@NO_CACHE
@MAX_COST
@flag("--dry-run", "Show which requests a judge would send and how much they would cost, and exit.")
@RAY_OPTIONS
def command(
    arguments: tuple[str, ...], output: str | None, run: Run, edition: Edition, **options: Any
) -> None:
    """Run DETECTOR on DATA and write a submission.

    DETECTOR is a name from 'shroom list detectors', or a recipe file; the default is the kit's own
    model.

    Examples
    --------
    shroom predict data/ -o submission.zip
    shroom predict lexical data/ --split val -o lexical/
    shroom predict nli val.model-aware.json --model ./nli-model -o nli.json
    """
    given = SimpleNamespace(**options)
    ray, kind = given.ray, edition.annotation.kind
    named, data = detector_and_data(arguments, anywhere=ray is not None, kind=kind)
    limits = {"threshold": given.threshold, "max_cost": given.max_cost}
    recipe = recipe_of(named, given.settings, model=given.model, **limits)
    recipe = replace(recipe, data=(given.split,)) if given.split else recipe
    if output is None and not given.dry_run:
        raise click.UsageError(
            "missing option '-o': specify a file or a folder for the predictions"
        )
    if recipe.detector == "judge" and ray is None and guess(data) == "felm":
        from shroom.cli.predict_segments import predict_segments

        if given.split:
            raise ShroomError(f"{data}: FELM data have no splits; omit --split")
        predict_segments(recipe.settings, data, output, dry_run=given.dry_run)
        return
    precision = run.precision or recipe.precision
    run = replace(run, precision=precision, in_sample=given.in_sample)
    detector = recipe.make()
    check_annotation(detector, edition)
    if run.in_sample and not (output and record_path(output)):
        raise click.UsageError(
            "--in-sample needs an output folder, because the scores are marked in run.json"
        )
    if ray is not None and output is not None:
        predict_on_ray(recipe, data, output, run.bare(), edition, resume=given.resume, **ray)
        return
    splits = recipe.data or edition.submitted
    files = read_aloud(read_data, data, splits=splits, edition=edition)
    if given.split:
        _refuse_other_split(data, files, given.split, edition)
    if output is None or given.dry_run:
        for file in files:
            click.echo(f"{file.base}: {detector.dry_run(file.datapoints)}")
        return
    if given.resume and output == "-":
        raise click.UsageError(
            "a run that writes to stdout cannot be resumed; specify an output file"
        )
    inputs = [data, given.model, recipe.path]
    names = [name_for(edition.guess(file.base), output, file.base, edition) for file in files]
    prepare(output, names, inputs)
    record = record_path(output)
    partial = output.rstrip(f"/{os.sep}") + PARTIAL
    # The output, and so its store, may be in the folder that is read: a store is not an input.
    read = [path for path in inputs if path and not Path(path).is_dir()]
    check_targets([partial], read, folders=True)  # without a store, the run goes on all the same
    start = time.monotonic()
    to_stdout = output == "-"
    own = nullcontext() if to_stdout else resumable(partial, "result", resume=given.resume)
    with own as store:
        run = replace(run, stores=(store, *run.stores) if store else run.stores)
        predictions = predict_files(detector, files, names, run, edition, shown_progress)
        seconds = time.monotonic() - start
        predictions.write(output, inputs)
    if record:
        scores = scores_of(output, data, names, edition)
        about = predictions.about, scores, seconds, run.precisions
        write_record(record, run_record(recipe, detector, *about))
    made = counted(sum(len(file.datapoints) for file in files), "prediction")
    say([f"wrote {made} to {output}"])


def _refuse_other_split(data: str, files: list[DataFile], split: str, edition: Edition) -> None:
    """Refuse a file of another split that was specified alone, or is alone in its folder."""
    for file in files:
        name = edition.guess(file.base)
        if name is None or name.split != split:
            raise ShroomError(
                f"{data}: no file for the split {split}, only {file.base}; omit --split"
            )
