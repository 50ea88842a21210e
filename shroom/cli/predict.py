"""``shroom predict``."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from shroom.cli.cache import NO_CACHE, opened
from shroom.cli.options import INPUT, OUTPUT, SETTINGS, say
from shroom.cli.progress import shown_progress
from shroom.datasets.semeval2024 import DataFile, read_files
from shroom.detectors.base import DEFAULT, REGISTRY, limits
from shroom.documents import RUN_RECORD
from shroom.inference import RUN, Journal, Run
from shroom.predictions import check_made, name_for, text_of
from shroom.problems import InvalidInput, Problems, ShroomError
from shroom.recipe import Recipe
from shroom.record import run_record
from shroom.submission import Name, latest
from shroom.writing import (
    names_a_file,
    names_a_zip,
    prepare,
    refuse_overwriting,
    write_atomically,
    write_files,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from shroom.detectors.base import Detector
    from shroom.documents import Document

EXAMPLES = """\b
Examples:
  shroom predict val.model-agnostic.json -o predictions.json
  shroom predict lexical data_folder -o submission.zip
  shroom predict nli val.model-aware.json --model FacebookAI/roberta-large-mnli -o nli.json
  shroom predict baselines/lexical.toml data_folder -o submissions/lexical
"""


@click.command(epilog=EXAMPLES, options_metavar="[OPTIONS] [DETECTOR]")
@click.argument("arguments", nargs=-1, required=True, metavar="DATA")
@click.option("-o", "--output", type=OUTPUT, help="A .json file, a .zip, or a folder.")
@click.option("--model", help="A fitted model, a folder of transformers, or a name on the hub.")
@SETTINGS
@click.option("--threshold", type=click.FloatRange(0, 1), help="Hallucination where p is greater.")
@click.option(
    "--batch-tokens",
    type=click.IntRange(1),
    default=RUN.batch_tokens,
    show_default=True,
    help="The most tokens that go through a model at once.",
)
@click.option("--device", help="cpu, cuda, cuda:1 or mps; by default the best that is there.")
@click.option("--resume", is_flag=True, help="Go on from where an interrupted run has come to.")
@NO_CACHE
@click.option("--max-cost", type=click.FloatRange(0), help="Stop a judge before it costs more.")
@click.option("--dry-run", is_flag=True, help="Tell what a judge would ask and cost, and stop.")
def command(
    *,
    arguments: tuple[str, ...],
    output: str | None,
    model: str | None,
    settings: dict[str, Any],
    threshold: float | None,
    batch_tokens: int,
    device: str | None,
    resume: bool,
    no_cache: bool,
    max_cost: float | None,
    dry_run: bool,
) -> None:
    """Run DETECTOR on DATA and write its submission.

    DETECTOR is one of those that `shroom detectors` lists, or a recipe's file; by default the
    kit's own model. Of a folder or a zip, the val and test files of both tracks are taken, each in
    its latest version. What is written has passed the check.
    """
    named, data = detector_and_data(arguments)
    if threshold is not None and math.isnan(threshold):
        raise click.BadParameter("nan is no threshold", param_hint="--threshold")
    recipe = Recipe.of(named)
    given = {"model": model, "threshold": threshold, "max_cost": max_cost}
    given = {key: value for key, value in given.items() if value is not None}
    recipe = replace(recipe, settings={**recipe.settings, **settings, **given})
    chosen = recipe.make()
    files = _files(data, recipe)
    if dry_run:
        _rehearse(chosen, files)
        return
    if output is None:
        raise click.UsageError("where shall the predictions go? Name a file or a folder with -o")
    inputs = [data, model, recipe.path]
    names = [name_for(Name.guess(file.base), output, file.base) for file in files]
    prepare(output, names, inputs)
    refuse_overwriting([f"{output.rstrip('/')}.partial"], inputs)
    journal = Journal(f"{output.rstrip('/')}.partial", resume=resume) if output != "-" else None
    cache = None if no_cache else opened(_note)
    began = time.monotonic()
    made = {}
    try:
        for name, file in zip(names, files):
            _warn(chosen, file)
            with shown_progress(file.base) as report:
                run = Run(batch_tokens, device, report, _note, journal=journal, cache=cache)
                made[name] = _predictions(chosen, file, run)
    except KeyboardInterrupt:
        if journal and journal.known:
            say([f"{len(journal.known)} results are kept; to go on from them, add --resume"])
        raise
    seconds = time.monotonic() - began
    check_made(made)
    write_files(output, made, inputs)
    if journal:
        journal.remove()
    if not (names_a_file(output) or names_a_zip(output) or output == "-"):
        place = Path(output) / RUN_RECORD
        place.unlink(missing_ok=True)  # that of another run
        if recipe.path:
            record = run_record(recipe, chosen, files, data, Path(output), seconds, made)
            write_atomically(place, json.dumps(record, indent=2, default=str) + "\n")
    say([f"wrote {sum(len(file.datapoints) for file in files)} predictions to {output}"])


def _note(text: str) -> None:
    say([f"note: {text}"])


def detector_and_data(arguments: tuple[str, ...]) -> tuple[str, str]:
    """Return the detector, by default the kit's own, and the data of a command line."""
    if len(arguments) > 2:
        raise click.UsageError(f"expected a detector and data, got {len(arguments)} arguments")
    *named, data = arguments
    if not named and data in REGISTRY:
        raise click.UsageError(f"{data} is a detector; which DATA shall it judge?")
    INPUT.convert(data, None, None)
    return (named[0] if named else DEFAULT), data


def _files(data: str, recipe: Recipe) -> list[DataFile]:
    problems = Problems()
    files = read_files(data, problems, choose=lambda found: _wanted(found, recipe.data))
    if not files:
        splits = ",".join(recipe.data)
        raise ShroomError(f"{data}: has no file named {{{splits}}}.model-{{agnostic,aware}}.json")
    say(problems)
    for file in files:
        _check_premises(file, problems)
        _check_ids(file, problems)
    if problems.errors:
        raise InvalidInput(problems)
    return files


def _warn(chosen: Detector, file: DataFile) -> None:
    """Say what a reader of the predictions should know of a file."""
    in_sample: Callable[..., bool] = getattr(chosen, "was_fitted_on", lambda _: False)
    if in_sample(file.datapoints):
        say([f"note: {chosen.name} was fitted on {file.base}: its scores there are in-sample"])
    empty = [i for i, point in enumerate(file.datapoints) if not point.hyp.strip()]
    if empty:
        say([f"note: {file.base}: hyp is empty in {len(empty)} items, first item {empty[0]}"])


def _rehearse(chosen: Detector, files: list[DataFile]) -> None:
    """Print what a detector that asks a service would do."""
    dry_run = getattr(chosen, "dry_run", None)
    if dry_run is None:
        raise ShroomError(f"{chosen.name} asks no service, so there is nothing to rehearse")
    for file in files:
        click.echo(f"{file.base}: {dry_run(file.datapoints)}")


def _wanted(found: list[Document], splits: tuple[str, ...]) -> list[Document]:
    """Return a file that was named alone, or the latest files of these splits of a folder."""
    if len(found) == 1:
        return found
    problems = Problems()
    wanted = sorted(latest(found, problems).items())
    if problems.errors:
        raise InvalidInput(problems)
    return [document for (split, _), document in wanted if split in splits]


def _predictions(chosen: Detector, file: DataFile, run: Run) -> str:
    """Return the text of a submission; the label goes by p as it is written."""
    points = file.datapoints
    if getattr(chosen, "official", False):  # its label is the answer's, whatever p says
        p, flagged = chosen.decide(points, run)  # type: ignore[attr-defined]
    else:
        p = chosen.predict(points, run)
        flagged = np.round(p, 6) > limits(chosen, points)
    with_ids = any(point.id is not None for point in points)
    ids = np.array([point.id for point in points]) if with_ids else None
    return text_of(np.asarray(flagged), np.round(p, 6), ids)


def _check_premises(file: DataFile, problems: Problems) -> None:
    """Report every datapoint that has nothing to hold its hypothesis against."""
    for index, point in enumerate(file.datapoints):
        if not (point.src.strip() or point.tgt.strip()):
            place = {"index": index, "id": point.id}
            problems.add("premise-missing", file.base, "src or tgt", "both empty", **place)


def _check_ids(file: DataFile, problems: Problems) -> None:
    """Report ids that a submission could not have: doubled ones, or on some items alone."""
    seen: set[int] = set()
    some = any(point.id is not None for point in file.datapoints)
    for index, point in enumerate(file.datapoints):
        if point.id is None and some:
            expected = "an id, as other items have"
            problems.add("id-missing", file.base, expected, "none", index=index, key="id")
        elif point.id is not None and point.id in seen:
            found, place = f"{point.id} again", {"index": index, "id": point.id, "key": "id"}
            problems.add("id-doubled", file.base, "an id of its own", found, **place)
        seen |= {point.id} if point.id is not None else set()
