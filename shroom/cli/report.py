"""``shroom report``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from shroom.cli.edition_choice import (
    edition_option,
)
from shroom.cli.options import (
    BY_OPTION,
    METRICS_OPTION,
    TRACK_OPTION,
    TRIALS_OPTION,
    F,
    interval_options,
)
from shroom.cli.output import deliver_page, say, say_alike
from shroom.cli.parameter_types import INPUT, OUTPUT, PATH
from shroom.core.atomic_writing import refuse_overwriting
from shroom.core.problems import ShroomError

EXAMPLES = """\b
Examples:
  shroom report mine/ gold/ -o report.html
  shroom report mine/ baseline/ gold/ -o report.html --items 50
  shroom report a.zip b.zip gold/ -o report.html --metrics brier,auroc --track model-aware
"""


def report_inputs(command: F) -> F:
    """Add what a report is computed from, for the page and for single figures."""
    for add in (
        interval_options(1000),
        TRIALS_OPTION,
        METRICS_OPTION,
        TRACK_OPTION,
        edition_option("gold", by_form=True, any_kind=True),
        click.argument("gold", type=PATH),
        click.argument("submissions", type=INPUT, nargs=-1, required=True),
    ):
        command = add(command)
    return command


@click.command(epilog=EXAMPLES)
@click.option(
    "-o", "--output", type=OUTPUT, required=True, help="Write the page to this file; - for stdout."
)
@BY_OPTION
@click.option(
    "--items",
    type=click.IntRange(0, 10_000),
    default=200,
    show_default=True,
    help="Number of the hardest items to show of each track.",
)
@report_inputs
@click.pass_context
def command(
    ctx: click.Context, /, *, submissions: tuple[str, ...], gold: str, output: str, **settings: Any
) -> None:
    """Write a page about SUBMISSIONS on GOLD: scores, slices, plots, the hardest items.

    The page needs nothing but itself: no network, no other file. The extra [report] makes it.
    """
    from shroom.core.extras import require
    from shroom.evaluation.report import report
    from shroom.report.report_page import page

    require("report", "jinja2", "matplotlib")
    refuse_inputs(output, submissions, gold)
    result = report(submissions, gold, **settings)
    deliver_page(page(result, command_line(ctx)), output, [*submissions, gold, output])
    say(result.warnings)
    say_alike(f"shroom: {sentence}" for sentence in result.unsliced)


def refuse_inputs(output: str, submissions: tuple[str, ...], gold: str) -> None:
    """Refuse two pipes, a pipe for the gold, and an output that would overwrite an input."""
    if submissions.count("-") > 1 or gold == "-":
        raise click.UsageError("only one submission can come from the pipe (-)")
    if Path(output).is_dir():
        raise ShroomError(f"{output}: is a folder; name the file to write")
    refuse_overwriting([output] if output != "-" else [], [*submissions, gold])


def command_line(ctx: click.Context) -> str:
    """Return the command line with the options that were given."""
    words = ["shroom", ctx.info_name or ""]
    for param in sorted(ctx.command.params, key=lambda param: isinstance(param, click.Option)):
        if param.name not in ctx.params:  # it has no bearing on the page
            continue
        if ctx.get_parameter_source(param.name or "") != click.core.ParameterSource.COMMANDLINE:
            continue
        value = ctx.params[param.name or ""]
        if isinstance(param, click.Argument):
            words += [*value] if param.nargs == -1 else [value]
        elif isinstance(param, click.Option):
            words += [param.opts[-1]] if param.is_flag else [param.opts[-1], _shown(value)]
    return shlex.join(words)


def _shown(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(value)
    return f"{value}"
