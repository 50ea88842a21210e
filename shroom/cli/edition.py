"""``shroom edition``."""

from __future__ import annotations

from pathlib import Path

import click

from shroom.cli import group
from shroom.cli.options import option
from shroom.cli.output import deliver, json_text, say
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.cli.result_options import OUTPUT_OPTION
from shroom.core.atomic_writing import write_atomically
from shroom.core.problems import ShroomError, printable
from shroom.scoring.editions import files
from shroom.scoring.editions.plain import to_plain
from shroom.scoring.editions.validation import warnings_of


@group()
def command() -> None:
    """Write, show and check editions: what a shared task fixes, as a file.

    Examples
    --------
    shroom edition init
    shroom edition show semeval2024
    shroom edition check edition.toml
    """


@command.command("init", reads_data=False)
@option("-o --output", "Write the file here.", OUTPUT, files.FILE)
@option("--like", "Copy one of the kit's editions instead.", metavar="NAME")
def init(output: str, like: str | None) -> None:
    """Write an edition file with comments, to fill in for a shared task of your own.

    Examples
    --------
    shroom edition init
    shroom edition init --like cap2025 -o cap.toml
    """
    if Path(output).exists():
        raise ShroomError(f"{output}: exists already, and is not overwritten; name another file")
    text = files.template()
    if like is not None:  # under a name of its own, since signatures have it
        text = files.text_of(like).replace(f'name = "{like}"', f'name = "my-{like}"', 1)
    write_atomically(output, text)
    say([f"wrote {output}; edit it, then run: shroom edition check {output}"])


@command.command("show", reads_data=False)
@click.argument("edition")
def show(edition: str) -> None:
    """Show EDITION, a name or a file, as it is understood.

    Examples
    --------
    shroom edition show semeval2024
    """
    text = json_text(to_plain(files.resolve(edition)[0]), indent=2)
    deliver("\n".join(map(printable, text.split("\n"))), None)  # which JSON reads alike


@command.command("check", reads_data=False)
@click.argument("file", type=INPUT)
def check(file: str) -> None:
    """Report everything that is wrong with the edition in FILE.

    Examples
    --------
    shroom edition check edition.toml
    """
    edition = files.read(Path(file))
    say(f"warning: {printable(f'{file}: {warning}')}" for warning in warnings_of(edition))
    splits = ", ".join(edition.split_names)
    text = (
        f"valid: {edition.title} ({edition.name}), {edition.annotation.kind}; splits {splits}; "
        f"submissions are named {edition.expected_name(edition.submitted)}"
    )
    click.echo(printable(text))


@command.command("schema", reads_data=False)
@OUTPUT_OPTION
def schema(output: str | None) -> None:
    """Print the JSON Schema of edition files, with which editors complete and check them.

    Examples
    --------
    shroom edition schema -o edition.schema.json
    """
    deliver(json_text(files.schema(), indent=2), output)
