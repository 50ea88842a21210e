"""``shroom datasets``: a group of commands, each imported when it is called."""

from __future__ import annotations

import click

from shroom.cli import Verb, Verbs
from shroom.core.registry import Registry

#: The commands, in the order in which the overview lists them.
COMMANDS = Registry(
    "command",
    {
        "list": Verb(
            "shroom.cli.datasets_describe:list_datasets", "List the data sets and their folders."
        ),
        "describe": Verb(
            "shroom.cli.datasets_describe:describe_files", "Describe the files of a data set."
        ),
        "convert": Verb(
            "shroom.cli.datasets_convert:convert", "Convert a data set into SHROOM's form."
        ),
        "fetch": Verb(
            "shroom.cli.datasets_fetch:command", "Download the public files of a data set."
        ),
    },
)

EXAMPLES = """\b
Examples:
  shroom datasets list
  shroom datasets describe felm felm/all.jsonl
  shroom datasets describe factual_consistency --format json
"""


@click.group(cls=Verbs, verbs=COMMANDS, epilog=EXAMPLES)
def command() -> None:
    """List, describe, convert and fetch the human-annotated data sets that the kit reads."""
