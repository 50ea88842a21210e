"""``shroom gold rescore``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shroom.cli import Command
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import METRICS_OPTION, format_option, interval_options
from shroom.cli.output import deliver, deliver_page
from shroom.cli.parameter_types import OUTPUT, PATH
from shroom.core.atomic_writing import refuse_overwriting, refuse_unwritable

if TYPE_CHECKING:
    from shroom.metrics.intervals import Intervals
    from shroom.scoring.editions.edition import Edition


@click.command(
    cls=Command,
    examples=(
        "shroom gold rescore gold-v1/ gold-v2/ submissions/",
        "shroom gold rescore gold-v1/ gold-v2/ a.zip b.zip --metric rho",
        "shroom gold rescore gold-v1/ gold-v2/ submissions/ --html changes.html",
    ),
)
@click.argument("old_gold", type=PATH)
@click.argument("new_gold", type=PATH)
@click.argument("submissions", type=PATH, nargs=-1, required=True)
@edition_option("old_gold", by_form=True, any_kind=True)
@format_option("text", "json", about="Print tables, or one JSON object.")
@click.option("-o", "--output", type=OUTPUT, help="Write to this file instead of stdout.")
@click.option("--html", type=OUTPUT, help="Also write a self-contained page to this file.")
@click.option(
    "--metric",
    help="Metric of the edition to rank by; the next one breaks ties.  [default: its first one]",
)
@METRICS_OPTION
@interval_options(10_000, method=False)
def command(
    *,
    old_gold: str,
    new_gold: str,
    submissions: tuple[str, ...],
    form: str,
    output: str | None,
    html: str | None,
    metric: str | None,
    metrics: list[str],
    edition: Edition,
    intervals: Intervals,
) -> None:
    """Score SUBMISSIONS by OLD_GOLD and NEW_GOLD, and show which scores and ranks change.

    SUBMISSIONS are single submissions, or one folder of them.
    """
    from shroom.evaluation.rescore import rescore

    targets = [path for path in (output, html) if path]
    if len({os.path.realpath(path) for path in targets}) < len(targets) or html == "-":
        raise click.UsageError("the page (--html) needs a file of its own")
    sources = [old_gold, new_gold, *submissions]
    refuse_overwriting(targets, sources)
    refuse_unwritable(Path(path) for path in targets if path != "-")
    rescoring = rescore(
        old_gold,
        new_gold,
        submissions,
        metric=metric,
        metrics=metrics,
        intervals=intervals,
        edition=edition,
    )
    if html:
        from shroom.report.rescore import page

        deliver_page(page(rescoring), html, sources)
    if form == "json":
        text = json.dumps(rescoring.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"
    else:
        from shroom.report.rescore import to_text

        text = to_text(rescoring)
    deliver(text, output)
