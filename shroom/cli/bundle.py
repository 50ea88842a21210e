"""``shroom bundle``."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import click

from shroom import bundle
from shroom.cli.output import say
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.core.problems import Problems

EXAMPLES = """\b
Examples:
  shroom bundle --gold gold_folder
  shroom bundle -o competition --gold gold.zip --start 2027-01-15
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    default="bundle",
    show_default=True,
    help="Write the files of the bundle to this folder.",
)
@click.option("--gold", type=INPUT, help="Labelled data; by default the sample, for trying it out.")
@click.option(
    "--start",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Start of the first phase; by default today.",
)
def command(*, output: str, gold: str | None, start: dt.datetime | None) -> None:
    """Build the competition bundle: codabench.zip, codalab.zip and scoring_program.zip.

    Each labelled split of the gold, val and test, becomes a phase of four weeks.
    """
    if gold is None:
        gold = str(Path(bundle.__file__).parent / "sample")
        say(["note: without --gold the reference data are the sample, for trying the bundle only"])
    begin = start.date() if start else dt.date.today()
    problems = Problems()
    files = bundle.build(gold, begin, problems)
    bundle.write(files, output)
    say(problems)
    for name, data in files.items():
        click.echo(f"{Path(output) / name}  {len(data)} bytes")
