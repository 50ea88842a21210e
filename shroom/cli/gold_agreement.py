"""``shroom gold agreement``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from shroom.cli import Command
from shroom.cli.edition_choice import (
    edition_option,
)
from shroom.cli.options import (
    format_option,
    interval_options,
)
from shroom.cli.output import deliver, say_alike
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.core.atomic_writing import refuse_overwriting

if TYPE_CHECKING:
    from shroom.metrics.intervals import Intervals
    from shroom.scoring.editions.edition import Edition


@click.command(
    cls=Command,
    examples=(
        "shroom gold agreement val.model-agnostic.json",
        "shroom gold agreement gold/ --format json -o agreement.json",
        "shroom gold agreement gold/ --resamples 2000 --confidence 0.99",
    ),
)
@click.argument("gold", type=INPUT)
@edition_option("gold")
@format_option("text", "json", about="Print tables, or one JSON object.")
@click.option("-o", "--output", type=OUTPUT, help="Write to this file instead of stdout.")
@interval_options(1000, method=False)
def command(
    *,
    gold: str,
    edition: Edition,
    form: str,
    output: str | None,
    intervals: Intervals,
) -> None:
    """Measure the agreement of GOLD's annotators, and what one annotator would score.

    The items of GOLD contain the annotators' verdicts as "labels".
    """
    from shroom.scoring.annotator_agreement import agreement

    if output:
        refuse_overwriting([output], [gold])
    result = agreement(gold, intervals, edition=edition)
    if form == "json":
        text = json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"
    else:
        from shroom.report.agreement import of_annotators

        text = of_annotators(result)
    deliver(text, output)
    say_alike(f"warning: {line}" for line in result.warnings)
