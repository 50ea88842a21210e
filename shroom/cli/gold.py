"""``shroom gold``: a group of commands, each imported when it is called."""

from __future__ import annotations

from shroom.cli import group


@group(
    prefix="gold_",
    verbs={
        "Commands": {
            "check": "Report whether a gold can be trusted, and what it can show.",
            "agreement": "Measure the annotators' agreement, and what a human would score.",
            "rescore": "Score submissions by two versions of the gold: what changes.",
        }
    },
)
def command() -> None:
    """Check the gold, measure its annotators' agreement, and compare two versions of it.

    Examples
    --------
    shroom gold check val.model-aware.json
    shroom gold agreement val.model-aware.json
    shroom gold rescore gold-v1/ gold-v2/ submissions/
    """
