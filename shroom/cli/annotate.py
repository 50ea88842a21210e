"""``shroom annotate``: a group of commands, each imported when it is called."""

from __future__ import annotations

import click

from shroom.cli import Verb, Verbs
from shroom.core.registry import Registry

#: The commands, in the order in which the overview lists them.
COMMANDS = Registry(
    "command",
    {
        "run": Verb("shroom.cli.annotate_run:command", "Score and rank generations."),
        "generate": Verb(
            "shroom.cli.annotate_generate:command", "Generate answers to questions, or queries."
        ),
        "probe": Verb(
            "shroom.cli.annotate_probe:command",
            "Predict from hidden states whether a model knows the answer.",
        ),
    },
)


@click.group(
    cls=Verbs,
    verbs=COMMANDS,
    examples=(
        "shroom annotate generate answers questions.jsonl --model ./lm -o answers.jsonl",
        "shroom annotate run annotate.yaml",
        "shroom annotate probe train labelled.jsonl --model ./lm -o my-probe",
    ),
)
def command() -> None:
    """Generate answers, score and rank them automatically, and train a probe of the model."""
