"""``shroom gold rescore``."""

from __future__ import annotations

from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import METRIC_OPTION, METRICS_OPTION, interval_options
from shroom.cli.parameter_types import PATH
from shroom.cli.result_options import result_options
from shroom.scoring.result import Result


@verb()
@click.argument("old_gold", type=PATH)
@click.argument("new_gold", type=PATH)
@click.argument("submissions", type=PATH, nargs=-1, required=True)
@edition_option("old_gold", any_kind=True)
@METRIC_OPTION
@METRICS_OPTION
@interval_options(10_000, method=False)
@result_options("old_gold", "new_gold", "submissions", html=True)
def command(old_gold: str, new_gold: str, submissions: tuple[str, ...], **settings: Any) -> Result:
    """Score SUBMISSIONS against OLD_GOLD and NEW_GOLD, and show which scores and ranks change.

    SUBMISSIONS are files, folders or zips, or one folder that contains submissions.

    Examples
    --------
    shroom gold rescore gold-v1/ gold-v2/ submissions/
    shroom gold rescore gold-v1/ gold-v2/ a.zip b.zip --metric rho
    shroom gold rescore gold-v1/ gold-v2/ submissions/ --html changes.html
    """
    from shroom.evaluation.rescore import rescore

    return rescore(old_gold, new_gold, submissions, **settings)
