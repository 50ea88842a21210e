"""``shroom datasets describe``."""

from __future__ import annotations

import click

from shroom.cli import verb
from shroom.cli.options import DATA_SET_NAMES, interval_options
from shroom.cli.parameter_types import INPUT
from shroom.cli.result_options import Outcome, Targets, result_options
from shroom.datasets.download.sources import place_of
from shroom.metrics.intervals import Intervals


@verb()
@click.argument("name", shell_complete=DATA_SET_NAMES)
@click.argument("paths", metavar="[PATH]...", type=INPUT, nargs=-1)
@interval_options(1000, method=False)
@result_options("paths")
@click.pass_obj
def command(
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
    from shroom.datasets.description import describe

    if not paths:
        targets.refuse_inputs(place_of(name))
    description = describe(name, paths, intervals)
    return Outcome(description, [description.problems])
