"""``shroom plot``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from shroom.cli.output import say
from shroom.cli.parameter_types import OUTPUT, Number
from shroom.cli.report import refuse_inputs, report_inputs
from shroom.core.atomic_writing import write_atomically
from shroom.report.figure_files import FORMATS, file
from shroom.report.report_plots import KINDS, panels

EXAMPLES = """\b
Examples:
  shroom plot scores mine/ baseline/ gold/ -o scores.pdf
  shroom plot reliability mine/ gold/ -o reliability.svg --track model-aware --width 8
  shroom plot comparison a.zip b.zip c.zip gold/ -o differences.png --dpi 600
"""


@click.command(epilog=EXAMPLES)
@click.argument("kind", type=click.Choice(list(KINDS)), metavar="KIND")
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    required=True,
    help="Write the figure to this .svg, .pdf or .png file.",
)
@click.option(
    "--width",
    type=Number(4, 100),
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
@report_inputs
def command(
    *,
    kind: str,
    submissions: tuple[str, ...],
    gold: str,
    output: str,
    width: float,
    dpi: int,
    **settings: Any,
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
        raise click.UsageError(f"{output}: name a file that ends in .svg, .pdf or .png")
    refuse_inputs(output, submissions, gold)
    from shroom.evaluation.report import report

    result = report(submissions, gold, items=0, **settings)
    drawn = panels(kind, result)
    write_atomically(output, file(drawn, form, width=width, dpi=dpi))
    say(result.warnings)
    say(
        f"shroom: {panel.title}, {panel.track}: left out: {panel.about}"
        for panel in drawn
        if panel.draw is None
    )
