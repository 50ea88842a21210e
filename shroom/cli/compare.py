"""``shroom compare``."""

from __future__ import annotations

from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import INPUT, METRICS_OPTION, TRIALS_OPTION, interval_options, option
from shroom.cli.result_options import Outcome, result_options


@verb()
@click.argument("submissions", type=INPUT, nargs=-1, required=True)
@click.argument("gold", type=INPUT)
@edition_option("gold", any_kind=True)
@option(
    "--baseline",
    "Compare the other submissions with this one; specify its path, or its name in the output.",
    metavar="SUB",
)
@METRICS_OPTION
@TRIALS_OPTION
@interval_options(10_000, method=False)
@result_options("submissions", "gold")
def command(submissions: tuple[str, ...], gold: str, **settings: Any) -> Outcome:
    """Test which differences between SUBMISSIONS on GOLD are significant after Holm's correction.

    By default, test every pair; with --baseline, test all other submissions against the baseline.

    Examples
    --------
    shroom compare mine/ theirs.zip gold/
    shroom compare mine/ a.zip b.zip gold/ --baseline mine/
    shroom compare mine/ baseline/ gold/ --format json -o comparison.json
    """
    from shroom.evaluation.comparison import compare

    if len(submissions) < 2:
        raise click.UsageError("specify at least two submissions, then the gold")
    comparisons = compare(submissions, gold, **settings)
    return Outcome(comparisons, [comparisons.warnings])
