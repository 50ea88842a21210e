"""``shroom gold``: a group of commands, each imported when it is called."""

from __future__ import annotations

import click

from shroom.cli import Verb, Verbs
from shroom.core.registry import Registry

#: The commands, in the order in which the overview lists them.
COMMANDS = Registry(
    "command",
    {
        "check": Verb(
            "shroom.cli.gold_check:command",
            "Report whether a gold can be trusted, and what it can show.",
        ),
        "agreement": Verb(
            "shroom.cli.gold_agreement:command",
            "Measure the annotators' agreement, and what a human would score.",
        ),
        "rescore": Verb(
            "shroom.cli.gold_rescore:command",
            "Score submissions by two versions of the gold: what changes.",
        ),
    },
)


@click.group(
    cls=Verbs,
    verbs=COMMANDS,
    examples=(
        "shroom gold check val.model-aware.json",
        "shroom gold agreement val.model-aware.json",
        "shroom gold rescore gold-v1/ gold-v2/ submissions/",
    ),
)
def command() -> None:
    """Check the gold, measure its annotators' agreement, and compare two versions of it."""
