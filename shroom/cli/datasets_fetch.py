"""``shroom datasets fetch``."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from shroom.cli import verb
from shroom.cli.options import DATA_SET_NAMES, flag, format_option, option
from shroom.cli.output import note, say
from shroom.cli.parameter_types import Number
from shroom.cli.running import shown_progress
from shroom.core.paths import CACHE, cache_folder
from shroom.core.problems import ShroomError
from shroom.datasets.download.fetch import TIMEOUT, fetch
from shroom.datasets.download.sources import File, Source, Stored, present_files, source


@verb()
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
@option(
    "--timeout",
    "Seconds to wait for a response from the server.",
    Number(0, 86400, min_open=True),
    TIMEOUT,
)
@format_option("text", "json", about="Print the folder, or one JSON object that lists all files.")
def command(
    *, name: str, folder: Path | None, force: bool, yes: bool, form: str, **settings: Any
) -> None:
    """Download the public files of the data set NAME, and print their folder.

    Files with a known SHA-256 hash are verified, and existing files are not downloaded again.

    Examples
    --------
    shroom datasets fetch felm
    shroom datasets fetch felm --to data/felm --yes
    shroom datasets fetch felm --force --format json
    """
    listing = source(name)
    folder = folder or cache_folder(listing.name)
    present = {} if force else present_files(listing, folder)
    missing = [file for file in listing.files if file.name not in present]
    if missing:
        _show_licences(missing, listing, folder)
        watched = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
        if watched and not yes and not click.confirm("Store these files?", default=True, err=True):
            raise ShroomError(f"{listing.name}: nothing was stored")
    with shown_progress(listing.name) as bar:

        def report(done: int, total: int, url: str) -> None:
            bar(done, total, url.rsplit("/", 1)[-1])

        files = fetch(listing.name, folder, force=force, report=report, **settings)
    say(map(_line, files))
    if listing.by_hand:
        note(listing.by_hand)
    about = {"name": listing.name, "folder": str(folder), "files": [*map(asdict, files)]}
    click.echo(json.dumps(about) if form == "json" else str(folder))


def _show_licences(missing: list[File], listing: Source, folder: Path) -> None:
    say([f"{listing.name}: files to store in {folder}:"])
    for file in missing:
        size = f"{file.size} bytes" if file.size is not None else "size unknown"
        origin = (*file.urls, *file.archives)[0]
        say([f"  {file.name} ({size}), licence: {file.licence}, from {origin}"])


def _line(file: Stored) -> str:
    state = "already exists" if file.url is None else f"downloaded from {file.url}"
    unknown = " (not verified: the hash of the public file is not known)"
    checked = f"sha256 {file.sha256}" + (" (verified)" if file.verified else unknown)
    tried = f" (after failed downloads: {'; '.join(file.refusals)})" if file.refusals else ""
    return f"{file.file}: {state}{tried}; {checked}"
