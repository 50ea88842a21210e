"""``shroom datasets fetch``."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from shroom.cli import verb
from shroom.cli.options import DATA_SET_NAMES, format_option
from shroom.cli.output import note, say
from shroom.cli.parameter_types import Number
from shroom.cli.progress import shown_progress
from shroom.core.paths import CACHE, cache_folder
from shroom.core.problems import ShroomError
from shroom.datasets.download.fetch import TIMEOUT, fetch
from shroom.datasets.download.sources import File, Source, Stored, present_files, source


@verb(
    "shroom datasets fetch felm",
    "shroom datasets fetch felm --to data/felm --yes",
    "shroom datasets fetch felm --force --format json",
)
@click.argument("name", shell_complete=DATA_SET_NAMES)
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path),
    help=f"Destination folder.  [default: one in the cache, which {CACHE} names]",
)
@click.option(
    "--mirror",
    "mirrors",
    multiple=True,
    metavar="URL",
    help="Download from this folder, which has the layout of the cache, first; may be repeated.",
)
@click.option("--force", is_flag=True, help="Download and replace files that are present.")
@click.option("--yes", is_flag=True, help="Store without asking for confirmation of the licences.")
@click.option(
    "--timeout",
    type=Number(0, 86400, min_open=True),
    default=TIMEOUT,
    help="Seconds to wait for a silent server.",
)
@format_option("text", "json", about="Print the folder, or one JSON object with all files.")
def command(
    *,
    name: str,
    folder: Path | None,
    mirrors: tuple[str, ...],
    force: bool,
    yes: bool,
    timeout: float,
    form: str,
) -> None:
    """Download the public files of the data set NAME, and print their folder.

    Each file is checked by its sha256, and files that are present are not downloaded again.
    """
    listing = source(name)
    folder = folder or cache_folder(listing.name)
    present = {} if force else present_files(listing, folder)
    missing = [file for file in listing.files if file.name not in present]
    if missing:
        _show_licences(missing, listing, folder)
        watched = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
        if watched and not yes and not click.confirm("store?", default=True, err=True):
            raise ShroomError(f"{listing.name}: nothing was stored")
    with shown_progress(listing.name) as report:
        files = fetch(
            listing.name,
            folder,
            mirrors=mirrors,
            force=force,
            timeout=timeout,
            report=lambda done, total, url: report(done, total, url.rsplit("/", 1)[-1]),
        )
    say(map(_line, files))
    if listing.by_hand:
        note(listing.by_hand)
    if form == "json":
        listed = [asdict(file) for file in files]
        click.echo(json.dumps({"name": listing.name, "folder": str(folder), "files": listed}))
    else:
        click.echo(str(folder))


def _show_licences(missing: list[File], listing: Source, folder: Path) -> None:
    """Show the files to be stored, the folder, and the licence of each file."""
    say([f"{listing.name}: to be stored in {folder}:"])
    for file in missing:
        size = f"{file.size} bytes" if file.size is not None else "size not known"
        origin = (*file.urls, *file.archives)[0]
        say([f"  {file.name} ({size}), licence: {file.licence}, from {origin}"])


def _line(file: Stored) -> str:
    """Return the line about a file that is present."""
    state = "is there already" if file.url is None else f"stored, from {file.url}"
    checked = f"sha256 {file.sha256}" + (
        ", as it should be"
        if file.verified
        else "; could not be verified: the hash of the public file is not known"
    )
    tried = f" (before that, {'; '.join(file.refusals)})" if file.refusals else ""
    return f"{file.file}: {state}{tried}; {checked}"
