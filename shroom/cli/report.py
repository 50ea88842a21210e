"""``shroom report``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shroom.cli.options import INPUT, METRICS_OPTION, OUTPUT, deliver, interval_options, say
from shroom.problems import ShroomError
from shroom.writing import refuse_overwriting

if TYPE_CHECKING:
    from shroom.intervals import Intervals
    from shroom.metrics.base import Metric

EXAMPLES = """\b
Examples:
  shroom report mine/ gold/ -o report.html
  shroom report mine/ baseline/ gold/ -o report.html --items 50
  shroom report a.zip b.zip gold/ -o report.html --metrics brier,auroc --track model-aware
"""


@click.command(epilog=EXAMPLES)
@click.argument("submissions", type=INPUT, nargs=-1, required=True)
@click.argument("gold", type=click.Path(exists=True))
@click.option("-o", "--output", type=OUTPUT, required=True, help="The page; - for stdout.")
@METRICS_OPTION
@click.option(
    "--items",
    type=click.IntRange(0, 10_000),
    default=200,
    show_default=True,
    help="How many of the hardest items to show of each track.",
)
@click.option(
    "--track", type=click.Choice(["model-agnostic", "model-aware"]), help="This one alone."
)
@click.option(
    "--trials",
    type=click.IntRange(1, 10_000_000),
    default=10_000,
    show_default=True,
    help="Of the tests between systems.",
)
@interval_options(1000)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    submissions: tuple[str, ...],
    gold: str,
    output: str,
    metrics: list[Metric],
    items: int,
    track: str | None,
    trials: int,
    intervals: Intervals,
) -> None:
    """Write a page about SUBMISSIONS on GOLD: scores, slices, plots, the hardest items.

    The page needs nothing but itself: no network, no other file. The extra [report] makes it.
    """
    from shroom.report.page import page
    from shroom.report.templating import require
    from shroom.reporting import report

    require("jinja2", "matplotlib")
    refuse_inputs(ctx, output, submissions, gold)
    found = report(
        submissions,
        gold,
        metrics=metrics,
        intervals=intervals,
        trials=trials,
        items=items,
        track=track,
    )
    deliver(page(found, command_line(ctx)), output)
    say(map(str, found.warnings))


def refuse_inputs(ctx: click.Context, output: str, submissions: tuple[str, ...], gold: str) -> None:
    """Refuse a second pipe, a pipe for the gold, and an output that would overwrite an input."""
    if submissions.count("-") > 1 or gold == "-":
        raise click.UsageError("only one submission can come from the pipe (-)", ctx)
    inputs = [path for path in (*submissions, gold) if Path(path).is_file()]
    refuse_overwriting([output] if output != "-" else [], inputs)
    if Path(output).is_dir():
        raise ShroomError(f"{output}: is a folder; name the file to write")


def command_line(ctx: click.Context) -> str:
    """Return the command line again, with what was given and nothing else."""
    words = ["shroom", ctx.info_name or ""]
    for param in ctx.command.params:
        if ctx.get_parameter_source(param.name or "") != click.core.ParameterSource.COMMANDLINE:
            continue
        value = ctx.params[param.name or ""]
        if isinstance(param, click.Argument):
            words += [*value] if param.nargs == -1 else [value]
        elif isinstance(param, click.Option):
            words += [param.opts[-1]] if param.is_flag else [param.opts[-1], _given(value)]
    return shlex.join(words)


def _given(value: object) -> str:
    if isinstance(value, list):
        return ",".join(metric.name for metric in value)
    return f"{value}"
