"""``shroom gold check``."""

from __future__ import annotations

from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_named, named_edition
from shroom.cli.options import interval_options, option
from shroom.cli.parameter_types import INPUT
from shroom.cli.result_options import Outcome, result_options


@verb()
@click.argument("gold", type=INPUT)
@option(
    "--against",
    "Another split: report its items that also occur in GOLD. May be repeated.",
    INPUT,
    multiple=True,
)
@named_edition("the edition or data set that matches the keys of the rows")
@interval_options(1000, method=False)
@result_options("gold", "against", "edition", about="Print text, or one JSON object.", html=True)
def command(gold: str, edition: str | None, **settings: Any) -> Outcome:
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
