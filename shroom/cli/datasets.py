"""``shroom datasets``: a group of commands, each imported when it is called."""

from __future__ import annotations

import click

from shroom.cli import Verb, Verbs

#: Each command, with the line that the overview shows of it and where it is.
COMMANDS = {
    "list": Verb("List the data sets, and which of them are here.", "shroom.cli.datasets_list"),
    "describe": Verb("Describe the files of one.", "shroom.cli.datasets_describe"),
    "convert": Verb(
        "Convert one to SHROOM's form, and back.", "shroom.cli.datasets_convert", "convert"
    ),
    "fetch": Verb("Fetch the public files of one.", "shroom.cli.datasets_fetch"),
}

EXAMPLES = """\b
Examples:
  shroom datasets list
  shroom datasets describe felm felm/all.jsonl
  shroom datasets describe factual_consistency --format json
"""


@click.group(cls=Verbs, verbs=COMMANDS, epilog=EXAMPLES)
def command() -> None:
    """List, describe, convert and fetch the human-annotated data sets that the kit reads."""
