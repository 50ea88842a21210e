"""``shroom predict``: in this process, on a Ray cluster, or a judge on FELM's segments."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import OUTPUT, Number, flag, option, together
from shroom.cli.output import deliver, note, read_aloud, say
from shroom.cli.running import (
    MAX_COST,
    MODEL,
    NO_CACHE,
    RESUME,
    SETTINGS,
    detector_and_data,
    if_interrupted,
    recipe_of,
    resumable,
    run_options,
    shown_progress,
    watched,
)
from shroom.core.atomic_writing import check_targets, prepare
from shroom.core.json_writing import json_lines
from shroom.core.printing import counted
from shroom.core.problems import ShroomError
from shroom.core.registry import check_settings, settings_of
from shroom.datasets.registry import guess
from shroom.detectors.registry import Recipe, check_annotation
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
from shroom.scoring.editions.edition import Edition


def _ray(values: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arguments of the cluster; ``None`` without Ray."""
    cluster = {name: values.pop(name) for name in ("address", "workers")}
    if values.pop("engine") == "ray":
        if any(map(values.get, ("dry_run", "in_sample", "max_cost", "split"))):
            raise click.UsageError(
                "--dry-run, --in-sample, --max-cost and --split cannot be combined with --engine "
                "ray"
            )
        return cluster
    if any(cluster.values()):
        raise click.UsageError("--address and --workers require --engine ray")
    return None


#: The options of the engine; a verb receives them as ``ray``, which is ``None`` without Ray.
_RAY_OPTIONS = together(
    "ray",
    _ray,
    option(
        "--engine",
        "Run in this process, or on a Ray cluster. On a cluster, one prediction file is written "
        "for each input file.",
        ("local", "ray"),
        "local",
    ),
    option(
        "--address",
        "Address of a running Ray cluster; by default, a cluster is started on this machine.",
    ),
    option("--workers", "Number of Ray workers; by default, one per core.", click.IntRange(1)),
)


@verb(options_metavar="[OPTIONS] [DETECTOR]")
@click.argument("arguments", nargs=-1, required=True, metavar="DATA")
@option("-o --output", "Write to this .json file, .zip file or folder.", OUTPUT)
@edition_option("arguments", any_kind=True)
@option("--split", "Predict only this split (such as val) of a folder or zip.")
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
    "For training items, use the fitted model's p instead of out-of-fold p; run.json records this.",
)
@RESUME
@NO_CACHE
@MAX_COST
@flag("--dry-run", "Show which requests a judge would send and how much they would cost, and exit.")
@_RAY_OPTIONS
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
    named, data = detector_and_data(arguments, kind=kind)
    own = {name: options[name] for name in ("model", "threshold", "max_cost")}
    recipe = recipe_of(named, given.settings, **own)
    recipe = replace(recipe, data=(given.split,)) if given.split else recipe
    if output is None and not given.dry_run:
        raise click.UsageError(
            "missing option '-o': specify a file or a folder for the predictions"
        )
    if recipe.detector == "judge" and ray is None and guess(data) == "felm":
        _predict_segments(recipe.settings, data, output, dry_run=given.dry_run)
        return
    run = replace(run, precision=run.precision or recipe.precision, in_sample=given.in_sample)
    detector = recipe.make()
    check_annotation(detector, edition)
    if run.in_sample and not (output and record_path(output)):
        raise click.UsageError(
            "--in-sample needs an output folder, whose run.json marks the scores as in-sample"
        )
    if ray is not None and output is not None:
        _predict_on_ray(recipe, data, output, run, edition, resume=given.resume, **ray)
        return
    splits = recipe.data or edition.submitted
    files = read_aloud(read_data, data, splits=splits, edition=edition)
    for file in files if given.split else ():  # a file may be alone in its folder
        if getattr(edition.guess(file.base), "split", None) != given.split:
            raise ShroomError(f"{data}: no file for the split {given.split}, only {file.base}")
    if output is None or given.dry_run:
        for file in files:
            click.echo(f"{file.base}: {detector.dry_run(file.datapoints)}")
        return
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
    stored = nullcontext() if to_stdout else resumable(partial, "result", resume=given.resume)
    with stored as store:
        run = replace(run, stores=(store, *run.stores) if store else run.stores)
        predictions = predict_files(detector, files, names, run, edition, shown_progress)
        seconds = time.monotonic() - start
        predictions.write(output, inputs)
    if record:
        scores = scores_of(output, data, names, edition)
        about = {"seconds": round(seconds, 1), **predictions.about, "scores": scores}
        precision = "+".join(sorted(run.precisions)) or None
        write_record(record, run_record(recipe, detector, precision=precision, **about))
    made = counted(sum(len(file.datapoints) for file in files), "prediction")
    say([f"wrote {made} to {output}"])


def _predict_on_ray(
    recipe: Recipe, data: str, output: str, run: Run, edition: Edition, *, resume: bool, **ray: Any
) -> None:
    """Predict the files of a folder; ``ray`` has the arguments of the cluster."""
    from shroom.prediction import ray_data

    if record_path(output) is None:
        raise click.UsageError(f"--engine ray writes a folder, but {output} is not a folder")
    if run.device not in (None, "cpu", "cuda"):
        raise click.UsageError(f"--engine ray accepts --device cpu or cuda, got {run.device}")
    record = run_record(recipe, recipe.make(), precision=run.precision)
    record = ray_data.started(output, data, record, resume=resume)
    files, out = ray_data.files_in(data), Path(output)
    missing = ray_data.unfinished(files, out)

    def done() -> str:
        return f"finished files: {len(files) - len(missing)} of {len(files)}"

    if len(missing) < len(files):
        note(done())
    outcomes = ray_data.outcomes(missing, recipe, run, edition, **ray)
    with (
        if_interrupted(lambda: f"{done()}; to continue, add --resume"),
        shown_progress("files") as report,
    ):
        say(ray_data.write_outcomes(outcomes, missing, out, record, report=report, note=note))
    say([f"wrote predictions for {counted(len(files), 'file')} to {output}"])


def _predict_segments(
    settings: Mapping[str, Any], data: str, output: str | None, *, dry_run: bool
) -> None:
    """Ask the model about all segments, and write predictions in FELM's form."""
    from shroom.datasets import felm
    from shroom.detectors.judge.felm_methods import Response, SegmentJudge

    check_settings("judge for FELM segments", settings, settings_of(SegmentJudge))
    judge = SegmentJudge(**settings)
    check_targets([output] if output else [], [data], (".jsonl",))
    records = read_aloud(felm.read, data).records
    responses = [
        Response(r.domain, r.prompt, r.segmented_response, r.ref, r.ref_contents) for r in records
    ]
    estimate = judge.dry_run(responses)
    if output is None or dry_run:
        click.echo(str(estimate))
        return
    say([str(estimate).partition("\n")[0]])
    hint = "the answers so far are stored; to continue, run the same command again"
    run = Run(note=note)
    with if_interrupted(lambda: hint if judge.folder else ""), watched(run, "felm") as run:
        wrong, p = judge.judge(responses, run)
    rows = felm.predictions(records, wrong, p if judge.n > 1 else None)
    deliver(json_lines(rows), output)
