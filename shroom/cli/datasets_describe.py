"""``shroom datasets describe``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from shroom.cli import Command
from shroom.cli.options import DATA_SET_NAMES, format_option, interval_options, refuse_two_pipes
from shroom.cli.output import deliver, say
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.core.atomic_writing import refuse_overwriting
from shroom.datasets.download.sources import place_of

if TYPE_CHECKING:
    from shroom.metrics.intervals import Intervals


@click.command(
    cls=Command,
    examples=(
        "shroom datasets describe semeval2024 gold/",
        "shroom datasets describe mushroom2025 docs/examples/mushroom2025/gold --no-ci",
        "shroom datasets describe semeval2024 gold/ --format json -o description.json",
    ),
)
@click.argument("name", shell_complete=DATA_SET_NAMES)
@click.argument("paths", metavar="[PATH]...", type=INPUT, nargs=-1)
@format_option("text", "json", about="Print tables, or one JSON object.")
@click.option("-o", "--output", type=OUTPUT, help="Write to this file instead of stdout.")
@interval_options(1000, method=False)
def command(
    *,
    name: str,
    paths: tuple[str, ...],
    form: str,
    output: str | None,
    intervals: Intervals,
) -> None:
    """Describe the files of the data set NAME: counts, labels, agreement and tables of its own.

    Without a PATH, they are looked for in the folder SHROOM_DATA and among downloaded files.
    """
    from shroom.datasets.description import describe

    refuse_two_pipes(*paths)
    if output:
        refuse_overwriting([output], paths or [place_of(name)])
    description = describe(name, paths, intervals)
    say(description.problems)
    if form == "json":
        text = json.dumps(description.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"
    else:
        from shroom.report.dataset_description import render

        text = render(description)
    deliver(text, output)
