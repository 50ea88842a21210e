"""``shroom leaderboard``."""

from __future__ import annotations

from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import INPUT, METRIC_OPTION, PATH, TRIALS, interval_options, option
from shroom.cli.result_options import Outcome, result_options
from shroom.core.problems import printable


@verb()
@click.argument("folder", type=PATH)
@click.argument("gold", type=INPUT)
@edition_option("gold", any_kind=True)
@METRIC_OPTION
@option("--split", "Split for the ranking; required if GOLD contains several splits.")
@option("--trials", "Trials per test.  [default: 10000; more for many systems]", TRIALS)
@interval_options(10_000)
@result_options(
    "folder", "gold", about="Format of the leaderboard.", forms=("csv", "markdown"), html=True
)
def command(folder: str, gold: str, **settings: Any) -> Outcome:
    """Rank the submissions in FOLDER by their scores on GOLD, with confidence intervals.

    FOLDER contains submissions, or scoring outputs downloaded from Codabench.

    Examples
    --------
    shroom leaderboard submissions/ gold/
    shroom leaderboard submissions/ gold/ --metric rho --html ranks.html
    shroom leaderboard submissions/ gold/ --format markdown -o ranks.md
    """
    from shroom.evaluation.leaderboard import leaderboard
    from shroom.evaluation.submissions import FORMS

    board = leaderboard(folder, gold, **settings)
    others = [f"shroom: {printable(str(path))}: ignored, because {FORMS}" for path in board.others]
    return Outcome(board, alike=others)
