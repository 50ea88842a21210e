"""``shroom compare``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from shroom.cli import Command
from shroom.cli.edition_choice import (
    edition_option,
)
from shroom.cli.options import (
    METRICS_OPTION,
    TRIALS_OPTION,
    format_option,
    interval_options,
    refuse_two_pipes,
)
from shroom.cli.output import deliver, say
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.core.atomic_writing import refuse_overwriting

if TYPE_CHECKING:
    from shroom.metrics.intervals import Intervals
    from shroom.scoring.editions.edition import Edition


@click.command(
    cls=Command,
    examples=(
        "shroom compare mine/ theirs.zip gold/",
        "shroom compare mine/ a.zip b.zip gold/ --baseline mine/",
        "shroom compare mine/ baseline/ gold/ --format json -o comparison.json",
    ),
)
@click.argument("submissions", type=INPUT, nargs=-1, required=True)
@click.argument("gold", type=INPUT)
@edition_option("gold", by_form=True, any_kind=True)
@click.option(
    "--baseline",
    metavar="SUB",
    help="Compare each submission only with this one: its name in the output, or its path.",
)
@format_option("text", "json", about="Print tables, or one JSON object.")
@click.option("-o", "--output", type=OUTPUT, help="Write to this file instead of stdout.")
@METRICS_OPTION
@TRIALS_OPTION
@interval_options(10_000)
def command(
    *,
    submissions: tuple[str, ...],
    gold: str,
    baseline: str | None,
    edition: Edition,
    form: str,
    output: str | None,
    metrics: list[str],
    trials: int,
    intervals: Intervals,
) -> None:
    """Test which differences between SUBMISSIONS on GOLD are significant.

    Every pair is tested, or only the pairs with --baseline, and p-values are corrected for their
    number (Holm).
    """
    from shroom.evaluation.comparison import compare

    if len(submissions) < 2:
        raise click.UsageError("name at least two submissions, then the gold")
    refuse_two_pipes(*submissions, gold)
    if output:
        refuse_overwriting([output], [*submissions, gold])
    comparisons = compare(
        submissions,
        gold,
        metrics=metrics,
        intervals=intervals,
        trials=trials,
        baseline=baseline,
        edition=edition,
    )
    if form == "json":
        text = json.dumps(comparisons.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"
    else:
        from shroom.report.comparison import render

        text = render(comparisons)
    deliver(text, output)
    say(comparisons.warnings)
    say(f"warning: {sentence}" for sentence in comparisons.unfair)
