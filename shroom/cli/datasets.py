"""``shroom datasets`` and its commands, except ``convert``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from shroom.cli import datasets_group as command
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import (
    DATA_SET_NAMES,
    INPUT,
    OUTPUT,
    flag,
    format_option,
    interval_options,
    option,
)
from shroom.cli.output import note, read_aloud, say
from shroom.cli.result_options import Outcome, Targets, result_options
from shroom.cli.running import shown_progress
from shroom.core.atomic_writing import prepare, write_files
from shroom.core.paths import CACHE, cache_folder
from shroom.core.problems import ShroomError
from shroom.datasets import download
from shroom.datasets.download import File, Stored, place_of, present_files, source
from shroom.evaluation.corruption.corrupt import METHODS, corrupted_data
from shroom.evaluation.corruption.items import read
from shroom.metrics.intervals import Intervals
from shroom.scoring.editions.edition import Edition
from shroom.scoring.input_files import JSON


@command.command("describe")
@click.argument("name", shell_complete=DATA_SET_NAMES)
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
@click.argument("name", shell_complete=DATA_SET_NAMES)
@option(
    "--to folder",
    f"Destination folder.  [default: a folder in the cache; see {CACHE}]",
    click.Path(path_type=Path),
)
@option(
    "--mirror mirrors",
    "URL of a mirror to try before the original source; may be repeated.",
    multiple=True,
    metavar="URL",
)
@flag("--force", "Download all files again and replace them.")
@flag("--yes", "Accept the licences without asking.")
def fetch(*, name: str, folder: Path | None, force: bool, yes: bool, mirrors: list[str]) -> None:
    """Download the public files of the data set NAME, and print the path of their folder.

    Files with a known SHA-256 hash are verified, and existing files are not downloaded again.

    Examples
    --------
    shroom datasets fetch felm
    shroom datasets fetch felm --to data/felm --yes
    shroom datasets fetch felm --force --mirror http://localhost:8000
    """
    listing = source(name)
    folder = folder or cache_folder(name)
    present = {} if force else present_files(listing, folder)
    missing = [file for file in listing.files if file.name not in present]
    if missing:
        _show_licences(name, missing, folder)
        watched = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
        if watched and not yes and not click.confirm("Store these files?", default=True, err=True):
            raise ShroomError(f"{name}: nothing was stored")
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
@option(
    "--method methods",
    "Method of corruption; may be repeated.  [default: all]",
    METHODS,
    multiple=True,
)
@option("--seed", "Random seed for the corruptions.", click.IntRange(0), 0)
@flag(
    "--balanced even",
    "Write only the items that can be corrupted, and one corrupted version of each.",
)
@flag("--assume-faithful", "Treat unlabelled items as faithful.")
@edition_option("data")
@format_option("text", "json", about="Print the summary as text, or as one JSON object.")
def corrupt(
    data: str, output: str, form: str, edition: Edition, methods: tuple[str, ...], **settings: Any
) -> None:
    """Corrupt faithful items of DATA so that they become inconsistent, and record every edit.

    The output contains each faithful item, followed by its corrupted versions.

    Examples
    --------
    shroom datasets corrupt val.model-agnostic.json -o corrupted.json
    shroom datasets corrupt val.model-agnostic.json --method number --balanced -o hard.json
    shroom datasets corrupt gold/ --seed 7 -o corrupted.jsonl
    """
    if form == "json" and output == "-":
        raise click.UsageError("the data and the summary cannot both go to stdout; use -o FILE")
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
    click.echo(corrupted.render(form), nl=False, err=output == "-")
