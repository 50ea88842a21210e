"""``shroom gold check``."""

from __future__ import annotations

from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_given, named_edition
from shroom.cli.options import interval_options
from shroom.cli.output import say
from shroom.cli.parameter_types import INPUT
from shroom.cli.result_options import Writer, result_options


@verb(
    "shroom gold check val.model-aware.json",
    "shroom gold check gold-v2/ --against gold-v1/ --html gold.html",
    "shroom gold check gold/ --format json -o gold-check.json",
)
@click.argument("gold", type=INPUT)
@click.option(
    "--against",
    type=INPUT,
    multiple=True,
    help="Another split, in which to look for the items of GOLD; may be repeated.",
)
@named_edition("what its rows look like")
@interval_options(1000, method=False)
@result_options(
    "gold",
    "against",
    "edition",
    about="Print text, or one JSON object.",
    html=True,
)
def command(gold: str, edition: str | None, write: Writer, **settings: Any) -> int:
    """Report whether GOLD can be trusted, and how large a difference between systems it can show.

    The exit code is 1 if an error makes a score undefined or wrong.
    """
    from shroom.evaluation.gold_quality.quality import gold_quality
    from shroom.scoring.editions.files import file_beside

    # Without an edition, each file goes by its own rows.
    is_chosen = edition is not None or file_beside(gold) is not None
    chosen = edition_given(edition, gold, by_form=False) if is_chosen else None
    quality = gold_quality(gold, edition=chosen, **settings)
    say(quality.problems)
    write(quality)
    return 1 if quality.errors else 0
