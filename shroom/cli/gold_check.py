"""``shroom gold check``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shroom.cli import Command
from shroom.cli.edition_choice import edition_given
from shroom.cli.options import format_option, interval_options, refuse_two_pipes
from shroom.cli.output import deliver, deliver_page, say
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.core.atomic_writing import refuse_overwriting, refuse_unwritable

if TYPE_CHECKING:
    from shroom.metrics.intervals import Intervals


@click.command(
    cls=Command,
    examples=(
        "shroom gold check val.model-aware.json",
        "shroom gold check gold-v2/ --against gold-v1/ --html gold.html",
        "shroom gold check gold/ --format json -o gold-check.json",
    ),
)
@click.argument("gold", type=INPUT)
@click.option(
    "--against",
    type=INPUT,
    multiple=True,
    help="Another split, in which to look for the items of GOLD; may be repeated.",
)
@click.option(
    "--edition",
    metavar="NAME|FILE",
    help="Follow the rules of this shared task: a name that 'shroom list editions' lists, or an "
    "edition.toml; by default the one beside the gold, else what its rows look like.",
)
@format_option("text", "json", about="Print text, or one JSON object.")
@click.option("-o", "--output", type=OUTPUT, help="Write to this file instead of stdout.")
@click.option("--html", type=OUTPUT, help="Also write a self-contained page to this file.")
@interval_options(1000, method=False)
def command(
    *,
    gold: str,
    against: tuple[str, ...],
    edition: str | None,
    form: str,
    output: str | None,
    html: str | None,
    intervals: Intervals,
) -> int:
    """Report whether GOLD can be trusted, and how large a difference between systems it can show.

    The exit code is 1 if an error makes a score undefined or wrong.
    """
    from shroom.evaluation.gold_quality.quality import gold_quality
    from shroom.scoring.editions.files import file_beside

    refuse_two_pipes(gold, *against)
    targets = [path for path in (output, html) if path]
    if len({os.path.realpath(path) for path in targets}) < len(targets) or html == "-":
        raise click.UsageError("the page (--html) needs a file of its own")
    refuse_overwriting(targets, [gold, *against, edition])
    refuse_unwritable(Path(path) for path in targets if path != "-")
    # Without an edition, each file goes by its own rows.
    is_chosen = edition is not None or file_beside(gold) is not None
    chosen = edition_given(edition, gold, by_form=False) if is_chosen else None
    quality = gold_quality(gold, edition=chosen, against=against, intervals=intervals)
    say(quality.problems)
    if html:
        from shroom.report.gold_quality import page

        deliver_page(page(quality), html, [gold, *against])
    if form == "json":
        deliver(json.dumps(quality.to_dict(), ensure_ascii=False, allow_nan=False) + "\n", output)
    else:
        from shroom.report.gold_quality import text

        deliver(text(quality), output)
    return 1 if quality.errors else 0
