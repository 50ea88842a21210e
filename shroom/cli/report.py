"""``shroom report``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shroom.cli.options import (
    BY_OPTION,
    COLUMNS_OPTION,
    METRICS_OPTION,
    TRACK_OPTION,
    TRIALS_OPTION,
    interval_options,
)
from shroom.cli.output import deliver_page, say, say_alike
from shroom.cli.parameter_types import INPUT, OUTPUT, PATH
from shroom.core.atomic_writing import refuse_overwriting
from shroom.core.problems import ShroomError

if TYPE_CHECKING:
    from shroom.metrics.base import Metric
    from shroom.metrics.intervals import Intervals

EXAMPLES = """\b
Examples:
  shroom report mine/ gold/ -o report.html
  shroom report mine/ baseline/ gold/ -o report.html --items 50
  shroom report a.zip b.zip gold/ -o report.html --metrics brier,auroc --track model-aware
"""


@click.command(epilog=EXAMPLES)
@click.argument("submissions", type=INPUT, nargs=-1, required=True)
@click.argument("gold", type=PATH)
@click.option(
    "-o", "--output", type=OUTPUT, required=True, help="Write the page to this file; - for stdout."
)
@BY_OPTION
@METRICS_OPTION
@click.option(
    "--items",
    type=click.IntRange(0, 10_000),
    default=200,
    show_default=True,
    help="Number of the hardest items to show of each track.",
)
@TRACK_OPTION
@COLUMNS_OPTION
@TRIALS_OPTION
@interval_options(1000)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    submissions: tuple[str, ...],
    gold: str,
    output: str,
    by: tuple[str, ...],
    metrics: list[Metric],
    items: int,
    track: str | None,
    trials: int,
    intervals: Intervals,
) -> None:
    """Write a page about SUBMISSIONS on GOLD: scores, slices, plots, the hardest items.

    The page needs nothing but itself: no network, no other file. The extra [report] makes it.
    """
    from shroom.core.extras import require
    from shroom.evaluation.report import report
    from shroom.report.report_page import page

    require("report", "jinja2", "matplotlib")
    refuse_inputs(ctx, output, submissions, gold)
    found = report(
        submissions,
        gold,
        by=by,
        metrics=metrics,
        intervals=intervals,
        trials=trials,
        items=items,
        track=track,
    )
    deliver_page(page(found, command_line(ctx)), output, [*submissions, gold, output])
    say(found.warnings)
    say_alike(f"shroom: {sentence}" for sentence in found.unsliced)


def refuse_inputs(ctx: click.Context, output: str, submissions: tuple[str, ...], gold: str) -> None:
    """Refuse two pipes, a pipe for the gold, and an output that would overwrite an input."""
    if submissions.count("-") > 1 or gold == "-":
        raise click.UsageError("only one submission can come from the pipe (-)", ctx)
    if Path(output).is_dir():
        raise ShroomError(f"{output}: is a folder; name the file to write")
    refuse_overwriting([output] if output != "-" else [], [*submissions, gold])


def command_line(ctx: click.Context) -> str:
    """Return the command line with the options that were given."""
    words = ["shroom", ctx.info_name or ""]
    for param in ctx.command.params:
        if param.name not in ctx.params:  # it has no bearing on the page
            continue
        if ctx.get_parameter_source(param.name or "") != click.core.ParameterSource.COMMANDLINE:
            continue
        value = ctx.params[param.name or ""]
        if isinstance(param, click.Argument):
            words += [*value] if param.nargs == -1 else [value]
        elif isinstance(param, click.Option):
            words += [param.opts[-1]] if param.is_flag else [param.opts[-1], _given(value)]
    return shlex.join(words)


def _given(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(each if isinstance(each, str) else each.name for each in value)
    return f"{value}"
