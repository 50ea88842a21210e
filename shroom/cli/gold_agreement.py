"""``shroom gold agreement``."""

from __future__ import annotations

from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import interval_options
from shroom.cli.parameter_types import INPUT
from shroom.cli.result_options import Outcome, result_options


@verb()
@click.argument("gold", type=INPUT)
@edition_option("gold")
@interval_options(1000, method=False)
@result_options("gold")
def command(gold: str, **settings: Any) -> Outcome:
    """Measure how well the annotators of GOLD agree, and what score a single annotator would get.

    Each item of GOLD must contain the annotators' verdicts under the key "labels".

    Examples
    --------
    shroom gold agreement val.model-agnostic.json
    shroom gold agreement gold/ --format json -o agreement.json
    shroom gold agreement gold/ --resamples 2000 --confidence 0.99
    """
    from shroom.scoring.annotator_agreement import agreement

    result = agreement(gold, **settings)
    return Outcome(result, alike=[f"warning: {line}" for line in result.warnings])
