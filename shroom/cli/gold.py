"""``shroom gold``: a group of commands, each imported when it is called."""

from __future__ import annotations

from shroom.cli import group


@group(
    prefix="gold_",
    verbs={
        "Commands": {
            "check": "Check gold for errors, and report the smallest detectable difference.",
            "agreement": "Measure annotator agreement and the score of a single annotator.",
            "rescore": "Score submissions against two versions of the gold, and show what changes.",
        }
    },
)
def command() -> None:
    """Check gold labels, measure annotator agreement, or compare two versions of the gold.

    Examples
    --------
    shroom gold check val.model-aware.json
    shroom gold agreement val.model-aware.json
    shroom gold rescore gold-v1/ gold-v2/ submissions/
    """
