"""``shroom datasets`` and its commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from shroom.cli import group
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import (
    INPUT,
    OUTPUT,
    flag,
    interval_options,
    option,
    refuse_two_pipes,
)
from shroom.cli.output import note, read_aloud, say
from shroom.cli.result_options import Outcome, Targets, result_options
from shroom.cli.running import shown_progress
from shroom.core.atomic_writing import ending, names_a_file, prepare, write_files
from shroom.core.paths import CACHE, cache_folder
from shroom.core.printing import counted
from shroom.core.problems import Problems, ShroomError
from shroom.datasets import download
from shroom.datasets.base import as_json, convert
from shroom.datasets.download import File, Stored, place_of, present_files, read_here, source
from shroom.datasets.registry import data_set, refuse_another
from shroom.evaluation.corruption.corrupt import METHODS, corrupted_data
from shroom.evaluation.corruption.items import read
from shroom.metrics.intervals import Intervals
from shroom.scoring.check import check_documents
from shroom.scoring.editions.edition import Edition
from shroom.scoring.editions.files import default
from shroom.scoring.in_memory import as_source
from shroom.scoring.in_sample import with_in_sample
from shroom.scoring.input_files import CSV, JSON, documents
from shroom.scoring.tables import text


@group()
def command() -> None:
    """Describe, convert, download and corrupt data sets.

    Examples
    --------
    shroom datasets describe felm felm/all.jsonl
    shroom datasets convert felm felm/all.jsonl -o felm.json
    shroom datasets corrupt val.model-agnostic.json -o corrupted.json
    """


@command.command("describe")
@click.argument("name")
@click.argument("paths", metavar="[PATH]...", type=INPUT, nargs=-1)
@interval_options(1000, method=False)
@result_options("paths")
@click.pass_obj
def describe(
    targets: Targets, /, name: str, paths: tuple[str, ...], intervals: Intervals
) -> Outcome:
    """Describe the files of the data set NAME: counts, labels, agreement and other statistics.

    Without PATH, read the files in $SHROOM_DATA if it contains NAME, otherwise the fetched files.

    Examples
    --------
    shroom datasets describe semeval2024 gold/
    shroom datasets describe mushroom2025 docs/examples/mushroom2025/gold --no-ci
    shroom datasets describe semeval2024 gold/ --format json -o description.json
    """
    from shroom.datasets import description

    if not paths:
        targets.refuse_inputs(place_of(name))
    result = description.describe(name, paths, intervals)
    return Outcome(result, [result.problems])


@command.command("fetch")
@click.argument("name")
@option(
    "--to folder",
    f"Destination folder.  [default: a folder in the cache; see {CACHE}]",
    click.Path(path_type=Path),
)
@option("--mirror mirrors", "Mirror to try first; may be repeated.", multiple=True, metavar="URL")
@flag("--force", "Download all files again and replace them.")
def fetch(*, name: str, folder: Path | None, mirrors: tuple[str, ...], force: bool) -> None:
    """Download the public files of the data set NAME, and print the path of their folder.

    Files with a known SHA-256 hash are verified, and existing files are not downloaded again.

    Examples
    --------
    shroom datasets fetch felm
    shroom datasets fetch felm --to data/felm
    shroom datasets fetch felm --force
    """
    listing = source(name)
    folder = folder or cache_folder(name)
    present = {} if force else present_files(listing, folder)
    missing = [file for file in listing.files if file.name not in present]
    if missing:
        _show_licences(name, missing, folder)
    with shown_progress(name) as bar:

        def report(done: int, total: int, url: str) -> None:
            bar(done, total, url.rsplit("/", 1)[-1])

        files = download.fetch(name, folder, mirrors=mirrors, force=force, report=report)
    say(map(_origin, files))
    if listing.by_hand:
        note(listing.by_hand)
    click.echo(str(folder))


def _show_licences(name: str, missing: list[File], folder: Path) -> None:
    say([f"{name}: files to store in {folder}:"])
    for file in missing:
        size = f"{file.size} bytes" if file.size is not None else "size unknown"
        origin = (*file.urls, *file.archives)[0]
        say([f"  {file.name} ({size}), licence: {file.licence}, from {origin}"])


def _origin(file: Stored) -> str:
    state = "already exists" if file.url is None else f"downloaded from {file.url}"
    unknown = " (not verified: the hash of the public file is not known)"
    checked = f"sha256 {file.sha256}" + (" (verified)" if file.verified else unknown)
    return f"{file.file}: {state}; {checked}"


@command.command("corrupt")
@click.argument("data", type=INPUT)
@option(
    "-o --output",
    "Write to this .json or .jsonl file, to this folder (as corrupted.json), or to stdout (-).",
    OUTPUT,
    required=True,
)
@option("--method methods", "Method; may be repeated.  [default: all]", METHODS, multiple=True)
@option("--seed", "Random seed for the corruptions.", click.IntRange(0), 0)
@flag("--balanced even", "Write only items that can be corrupted, and one version of each.")
@flag("--assume-faithful", "Treat unlabelled items as faithful.")
@edition_option("data")
def corrupt(
    data: str, output: str, edition: Edition, methods: tuple[str, ...], **settings: Any
) -> None:
    """Corrupt faithful items of DATA so that they become inconsistent, and record every edit.

    The output contains each faithful item, followed by its corrupted versions.

    Examples
    --------
    shroom datasets corrupt val.model-agnostic.json -o corrupted.json
    shroom datasets corrupt val.model-agnostic.json --method number --balanced -o hard.json
    shroom datasets corrupt gold/ --seed 7 -o corrupted.jsonl
    """
    prepare(output, ["corrupted.json"], [data], JSON)
    items = read_aloud(read, data, edition=edition)
    try:
        corrupted = corrupted_data(items, [*dict.fromkeys(methods or METHODS)], **settings)
    except ShroomError as error:
        raise ShroomError(f"{data}: {error}") from error
    write_files(output, {"corrupted.json": corrupted.text}, [data])
    path = f"{output.rstrip('/')}/corrupted.json" if Path(output).is_dir() else output
    counts = f"{corrupted.kept} faithful and {corrupted.inconsistent} inconsistent items"
    say([f"wrote {counts} to {path}"])
    click.echo(text(corrupted.tables()), nl=False, err=output == "-")


@command.command("convert")
@click.argument("name")
@click.argument("paths", metavar="[PATH]...", type=INPUT, nargs=-1)
@option(
    "-o --output", "Write to this file, folder or .zip, or to stdout (-).", OUTPUT, required=True
)
@option("--view", "Name of the view that defines the datapoints.  [default: the first view]")
@option("--predictions", "Convert this submission to the data set's own prediction format.", INPUT)
def _convert(
    *, name: str, paths: tuple[str, ...], output: str, view: str | None, predictions: str | None
) -> None:
    """Convert the data set NAME to SHROOM's format, which every detector reads.

    A view (see 'shroom list datasets NAME') defines the premise, the hypothesis and p of each
    datapoint.

    Examples
    --------
    shroom datasets convert mushroom2025 docs/examples/mushroom2025/gold -o converted/
    shroom datasets convert verifiability docs/examples/worked-citations.jsonl -o c.json
    shroom datasets convert semeval2024 gold/ --view labelled -o gold.zip
    """
    form = data_set(name)
    refuse_two_pipes(*paths, predictions)
    if predictions is not None and form.predictions is None:
        raise ShroomError(
            f"{form.name}: a submission cannot be converted to the data set's prediction format; "
            f"score the submission against the converted data: run 'shroom datasets convert "
            f"{form.name} -o gold.json' and 'shroom score SUBMISSION gold.json'"
        )
    inputs, is_csv = [*paths, predictions], form.ending == ".csv" and predictions is None
    prepare(output, [f"{form.name}.json"], inputs, CSV if is_csv else JSON)
    for path in paths:
        refuse_another(form.name, path)
    collection = read_aloud(form.read, *paths) if paths else read_aloud(read_here, form.name)
    files = convert(form, collection, view)
    rows = [row for file in files for row in file.rows]
    if not rows:
        raise ShroomError(
            f"{form.name}: nothing to convert, because no record is labelled in this "
            "view; choose another view with --view, or use labelled files"
        )
    if predictions is not None and form.predictions is not None:
        label, p = _predictions_for(rows, ", ".join(collection.files), predictions)
        native = form.predictions(collection.records, label == 1, np.clip(p, 0, 1))
        if ending(output) == ".json":
            native = as_json([json.loads(line) for line in native.split("\n") if line])
        write_files(output, {f"{form.name}.pred.jsonl": native}, inputs)
        n = counted(len(collection.records), "record")
        say([f"wrote predictions for {n} to {output}"])
        return
    texts = {f"{file.stem}.json": as_json(file.rows) for file in files if file.rows}
    if output == "-" or names_a_file(output):
        texts = {form.name: as_json(rows, lines=ending(output) == ".jsonl")}
    write_files(output, texts, inputs)
    if collection.dropped:
        say([f"{counted(collection.dropped, 'row')} could not be used"])
    for file in [file for file in files if file.left_out]:
        some = f" {counted(file.left_out, 'datapoint')} without a label or a premise"
        why = some if file.rows else ", because no record is labelled"
        say([f"{file.stem}: left out{why}"])
    records = counted(sum(file.records for file in files if file.rows), "record")
    say([f"wrote {counted(len(rows), 'datapoint')} from {records} to {output}"])


def _predictions_for(
    rows: list[dict[str, Any]], file: str, submission: str
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Return the labels and the p of a submission, one for each of the converted rows."""
    problems = Problems()
    listed = documents(submission, problems, submission=True)
    if len(listed) > 1:
        raise ShroomError(f"{submission}: expected one prediction file, got {len(listed)} files")
    checked = check_documents(
        listed, data=as_source(rows, f"{file} (converted)"), problems=problems, edition=default()
    )
    checked.raise_for_errors()
    with_in_sample(checked.tracks, submission, listed, problems, default())
    say(problems)
    (track,) = checked.aligned
    return track.predictions.label[track.rows], track.predictions.p[track.rows]
