"""``shroom plot``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from shroom.cli.options import METRICS_OPTION, TRACK_OPTION, TRIALS_OPTION, interval_options
from shroom.cli.output import say
from shroom.cli.parameter_types import INPUT, OUTPUT, PATH
from shroom.cli.report import refuse_inputs
from shroom.core.atomic_writing import write_atomically
from shroom.report.figure_files import FORMATS, file
from shroom.report.report_plots import KINDS, panels

if TYPE_CHECKING:
    from shroom.metrics.base import Metric
    from shroom.metrics.intervals import Intervals

EXAMPLES = """\b
Examples:
  shroom plot scores mine/ baseline/ gold/ -o scores.pdf
  shroom plot reliability mine/ gold/ -o reliability.svg --track model-aware --width 8
  shroom plot comparison a.zip b.zip c.zip gold/ -o differences.png --dpi 600
"""


@click.command(epilog=EXAMPLES)
@click.argument("kind", type=click.Choice(list(KINDS)), metavar="KIND")
@click.argument("submissions", type=INPUT, nargs=-1, required=True)
@click.argument("gold", type=PATH)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    required=True,
    help="Write the figure to this .svg, .pdf or .png file.",
)
@TRACK_OPTION
@click.option(
    "--width",
    type=click.FloatRange(4, 100),
    default=16.0,
    show_default=True,
    help="Width of the figure in cm.",
)
@click.option(
    "--dpi",
    type=click.IntRange(20, 1200),
    default=300,
    show_default=True,
    help="Resolution of the PNG in dots per inch.",
)
@METRICS_OPTION
@TRIALS_OPTION
@interval_options(1000)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    kind: str,
    submissions: tuple[str, ...],
    gold: str,
    output: str,
    track: str | None,
    width: float,
    dpi: int,
    metrics: list[Metric],
    trials: int,
    intervals: Intervals,
) -> None:
    """Draw one figure about SUBMISSIONS on GOLD, for a paper.

    KIND is scores (a forest plot), reliability, threshold (accuracy against it), confusion,
    scatter (p against the annotators' proportion), comparison (differences with intervals) or
    ranks. The same inputs give the same bytes. The extra [report] draws it.
    """
    from shroom.core.extras import require

    require("report", "matplotlib")
    form = Path(output).suffix.lower().removeprefix(".")
    if form not in FORMATS:
        raise click.UsageError(f"{output}: name a file that ends in .svg, .pdf or .png", ctx)
    refuse_inputs(ctx, output, submissions, gold)
    from shroom.evaluation.report import report

    found = report(
        submissions,
        gold,
        metrics=metrics,
        intervals=intervals,
        trials=trials,
        items=0,
        track=track,
    )
    drawn = panels(kind, found)
    write_atomically(output, file(drawn, form, width=width, dpi=dpi))
    say(found.warnings)
    say(
        f"shroom: {panel.title}, {panel.track}: left out: {panel.about}"
        for panel in drawn
        if panel.draw is None
    )
