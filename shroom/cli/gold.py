"""``shroom gold`` and its commands."""

from __future__ import annotations

from typing import Any

import click

from shroom.cli import group
from shroom.cli.edition_choice import edition_named, edition_option, named_edition
from shroom.cli.options import INPUT, METRIC_OPTION, METRICS_OPTION, PATH, interval_options, option
from shroom.cli.result_options import Outcome, result_options
from shroom.scoring.result import Result


@group()
def command() -> None:
    """Check gold labels, measure annotator agreement, or compare two versions of the gold.

    Examples
    --------
    shroom gold check val.model-aware.json
    shroom gold agreement val.model-aware.json
    shroom gold rescore gold-v1/ gold-v2/ submissions/
    """


@command.command("check")
@click.argument("gold", type=INPUT)
@option("--against", "Report items shared with this split; may be repeated.", INPUT, multiple=True)
@named_edition("the edition that matches the keys of the rows")
@interval_options(1000, method=False)
@result_options("gold", "against", "edition", about="Print text, or one JSON object.", html=True)
def check(gold: str, edition: str | None, **settings: Any) -> Outcome:
    """Check GOLD for errors, and report the smallest detectable difference between systems.

    The exit code is 1 if an error makes a score undefined or wrong.

    Examples
    --------
    shroom gold check val.model-aware.json
    shroom gold check gold-v2/ --against gold-v1/ --html gold.html
    shroom gold check gold/ --format json -o gold-check.json
    """
    from shroom.evaluation.gold_quality.quality import gold_quality

    # Without an edition, each file goes by its own rows.
    quality = gold_quality(gold, edition=edition_named(edition, gold), **settings)
    return Outcome(quality, [quality.left_out], wrong=bool(quality.errors))


@command.command("agreement")
@click.argument("gold", type=INPUT)
@edition_option("gold")
@interval_options(1000, method=False)
@result_options("gold")
def agreement(gold: str, **settings: Any) -> Outcome:
    """Measure how well the annotators of GOLD agree, and what score a single annotator would get.

    Each item of GOLD must contain the annotators' verdicts under the key "labels".

    Examples
    --------
    shroom gold agreement val.model-agnostic.json
    shroom gold agreement gold/ --format json -o agreement.json
    shroom gold agreement gold/ --resamples 2000 --confidence 0.99
    """
    from shroom.scoring import annotator_agreement

    result = annotator_agreement.agreement(gold, **settings)
    return Outcome(result, alike=[f"warning: {line}" for line in result.warnings])


@command.command("rescore")
@click.argument("old_gold", type=PATH)
@click.argument("new_gold", type=PATH)
@click.argument("submissions", type=PATH, nargs=-1, required=True)
@edition_option("old_gold", any_kind=True)
@METRIC_OPTION
@METRICS_OPTION
@interval_options(10_000, method=False)
@result_options("old_gold", "new_gold", "submissions", html=True)
def rescore(old_gold: str, new_gold: str, submissions: tuple[str, ...], **settings: Any) -> Result:
    """Score SUBMISSIONS against OLD_GOLD and NEW_GOLD, and show which scores and ranks change.

    SUBMISSIONS are files, folders or zips, or one folder that contains submissions.

    Examples
    --------
    shroom gold rescore gold-v1/ gold-v2/ submissions/
    shroom gold rescore gold-v1/ gold-v2/ a.zip b.zip --metric rho
    shroom gold rescore gold-v1/ gold-v2/ submissions/ --html changes.html
    """
    from shroom.evaluation import rescore as rescoring

    return rescoring.rescore(old_gold, new_gold, submissions, **settings)
