"""``shroom edition``."""

from __future__ import annotations

from pathlib import Path

import click

from shroom.cli import group
from shroom.cli.options import FILE, OUTPUT, option
from shroom.cli.output import deliver, json_text, say
from shroom.cli.result_options import OUTPUT_OPTION
from shroom.core.atomic_writing import write_atomically
from shroom.core.problems import ShroomError, printable
from shroom.scoring.editions import files
from shroom.scoring.editions.plain import WrongEdition, to_plain
from shroom.scoring.editions.validation import warnings_of


@group()
def command() -> None:
    """Write, show and check editions: files with the rules of a shared task.

    Examples
    --------
    shroom edition init
    shroom edition show semeval2024
    shroom edition check edition.toml
    """


@command.command("init", reads_data=False)
@option("-o --output", "Write the edition to this file.", OUTPUT, files.FILE)
@option("--like", "Start from one of the kit's editions.", metavar="NAME")
def init(output: str, like: str | None) -> None:
    """Write an edition file for your own shared task, with comments that explain each key.

    Examples
    --------
    shroom edition init
    shroom edition init --like cap2025 -o cap.toml
    """
    if Path(output).exists():
        raise ShroomError(f"{output} already exists and was not overwritten; use another name")
    text = files.template()
    if like is not None:  # renamed, because the names of the kit's editions are reserved
        text = files.text_of(like).replace(f'name = "{like}"', f'name = "my-{like}"', 1)
    write_atomically(output, text)
    say([f"wrote {output}; edit it, then run: shroom edition check {output}"])


@command.command("show", reads_data=False)
@click.argument("edition")
def show(edition: str) -> None:
    """Show EDITION (a name or a file) with all default values.

    Examples
    --------
    shroom edition show semeval2024
    """
    text = json_text(to_plain(files.resolve(edition)[0]), indent=2)
    deliver("\n".join(map(printable, text.split("\n"))), None)  # the same JSON when parsed


@command.command("check", reads_data=False)
@click.argument("file", type=FILE)
def check(file: str) -> int:
    """Report every mistake in the edition file FILE.

    Examples
    --------
    shroom edition check edition.toml
    """
    try:
        edition = files.read(Path(file))
    except WrongEdition as error:
        say(map(printable, error.problems))
        return 1
    say(f"warning: {printable(f'{file}: {warning}')}" for warning in warnings_of(edition))
    splits = ", ".join(edition.split_names)
    text = (
        f"valid: {edition.title} ({edition.name}); annotation: {edition.annotation.kind}; splits: "
        f"{splits}; submissions: {edition.expected_name(edition.submitted)}"
    )
    click.echo(printable(text))
    say(["next: put this file into the gold folder, then run: shroom gold check FOLDER"])
    return 0


@command.command("schema", reads_data=False)
@OUTPUT_OPTION
def schema(output: str | None) -> None:
    """Print the JSON Schema of edition files, for completion and checks in text editors.

    Examples
    --------
    shroom edition schema -o edition.schema.json
    """
    deliver(json_text(files.schema(), indent=2), output)
