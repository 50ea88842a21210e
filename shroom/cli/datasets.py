"""``shroom datasets``: a group of commands, each imported when it is called."""

from __future__ import annotations

import click

from shroom.cli import Verb, Verbs
from shroom.core.registry import Registry

#: The commands, in the order in which the overview lists them.
COMMANDS = Registry(
    "command",
    {
        "describe": Verb(
            "shroom.cli.datasets_describe:command", "Describe the files of a data set."
        ),
        "convert": Verb(
            "shroom.cli.datasets_convert:command", "Convert a data set into SHROOM's form."
        ),
        "fetch": Verb(
            "shroom.cli.datasets_fetch:command", "Download the public files of a data set."
        ),
        "corrupt": Verb(
            "shroom.cli.datasets_corrupt:command",
            "Make faithful items inconsistent, with the edits recorded.",
        ),
    },
)


@click.group(
    cls=Verbs,
    verbs=COMMANDS,
    examples=(
        "shroom datasets describe felm felm/all.jsonl",
        "shroom datasets convert felm felm/all.jsonl -o felm.json",
        "shroom datasets corrupt val.model-agnostic.json -o corrupted.json",
    ),
)
def command() -> None:
    """Describe, convert, fetch and corrupt the human-annotated data sets that the kit reads."""
