"""``shroom bundle``."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import click

from shroom import bundle
from shroom.bundle.fields import COMMIT
from shroom.bundle.rules import RULES
from shroom.cli.output import say
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.core.problems import Problems

EXAMPLES = """\b
Examples:
  shroom bundle --gold gold_folder
  shroom bundle -o competition --gold gold.zip --start 2027-01-15
  shroom bundle --check codabench.zip
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
@click.option(
    "--check",
    "checked",
    type=INPUT,
    help="Report what Codabench would refuse of this bundle, a zip or folder; build none.",
)
@click.pass_context
def command(
    context: click.Context,
    *,
    output: str,
    gold: str | None,
    start: dt.datetime | None,
    checked: str | None,
) -> None:
    """Build the competition bundle: codabench.zip, codalab.zip and scoring_program.zip.

    Each labelled split of the gold, val and test, becomes a phase of four weeks.
    """
    if checked is not None:
        context.exit(_check(checked))
    if gold is None:
        gold = str(Path(bundle.__file__).parents[1] / "sample")
        say(["note: without --gold the reference data are the sample, for trying the bundle only"])
    begin = start.date() if start else dt.date.today()
    problems = Problems()
    files = bundle.build(gold, begin, problems)
    bundle.write(files, output)
    say(problems)
    for name, data in files.items():
        click.echo(f"{Path(output) / name}  {len(data)} bytes")


def _check(file: str) -> int:
    """Report what the platform would refuse; return the exit code."""
    findings = bundle.check(file)
    say([*(f"warning: {line}" for line in findings.warnings), *findings.refused])
    if findings.refused:
        return 1
    click.echo(f"{file}: Codabench takes it, by the {len(RULES)} rules of its version {COMMIT}")
    return 0
