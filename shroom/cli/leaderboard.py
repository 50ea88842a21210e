"""``shroom leaderboard``."""

from __future__ import annotations

import json
import os
from pathlib import Path
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
from shroom.cli.output import deliver, deliver_page, say_alike
from shroom.cli.parameter_types import INPUT, OUTPUT, PATH
from shroom.core.atomic_writing import refuse_overwriting, refuse_unwritable
from shroom.core.problems import ShroomError, printable

if TYPE_CHECKING:
    from shroom.evaluation.leaderboard import Leaderboard
    from shroom.metrics.intervals import Intervals
    from shroom.scoring.editions.edition import Edition


@click.command(
    cls=Command,
    examples=(
        "shroom leaderboard submissions/ gold/",
        "shroom leaderboard submissions/ gold/ --metric rho --html ranks.html",
        "shroom leaderboard submissions/ gold/ --format markdown -o ranks.md",
    ),
)
@click.argument("folder", type=PATH)
@click.argument("gold", type=INPUT)
@edition_option("gold", by_form=True, any_kind=True)
@format_option("text", "json", "csv", "markdown", about="Print a table, or another form of it.")
@click.option("-o", "--output", type=OUTPUT, help="Write to this file instead of stdout.")
@click.option("--html", type=OUTPUT, help="Also write a self-contained page to this file.")
@click.option(
    "--metric",
    help="Metric of the edition to rank by; the next one breaks ties.  [default: its first one]",
)
@click.option(
    "--split",
    help="Split to rank, where the gold has several.",
)
@click.option(
    "--trials",
    type=click.IntRange(1, 10_000_000),
    help="Number of trials of the tests that form the groups.",
)
@interval_options(10_000)
def command(
    *,
    folder: str,
    gold: str,
    form: str,
    output: str | None,
    html: str | None,
    metric: str | None,
    edition: Edition,
    split: str | None,
    trials: int | None,
    intervals: Intervals,
) -> None:
    """Rank the submissions in FOLDER on GOLD, with confidence intervals of scores and ranks.

    FOLDER contains submissions, or scoring outputs downloaded from Codabench.
    """
    from shroom.evaluation.leaderboard import leaderboard

    targets = [path for path in (output, html) if path]
    if len({os.path.realpath(path) for path in targets}) < len(targets) or html == "-":
        raise click.UsageError("the page (--html) needs a file of its own")
    refuse_overwriting(targets, [folder, gold])
    refuse_unwritable(Path(path) for path in targets if path != "-")
    board = leaderboard(
        folder,
        gold,
        metric=metric,
        split=split,
        intervals=intervals,
        trials=trials,
        edition=edition,
    )
    if not board.rows:
        deliver(render(board, form), None)
        raise ShroomError(f"{folder}: nothing can be ranked; the list says why for each submission")
    if html:
        from shroom.report.leaderboard_table import page

        deliver_page(page(board), html, [folder, gold])
    deliver(render(board, form), output)
    names = [printable(str(path)) for path in board.others]
    say_alike(f"shroom: {name}: is not a submission, and is left out" for name in names)


def render(board: Leaderboard, form: str) -> str:
    """Return a leaderboard in one of the forms."""
    if form == "json":
        return json.dumps(board.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"
    from shroom.report import leaderboard_table as forms

    write = {"text": forms.text, "csv": forms.as_csv, "markdown": forms.markdown}[form]
    return write(board)
