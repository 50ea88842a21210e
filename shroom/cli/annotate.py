"""``shroom annotate``: a group of commands, each imported when it is called."""

from __future__ import annotations

from shroom.cli import group


@group(
    prefix="annotate_",
    verbs={
        "Commands": {
            "run": "Score and rank generations.",
            "generate": "Generate answers to questions, or debate queries.",
            "probe": "Predict from a model's hidden states whether it knows the answer.",
        }
    },
)
def command() -> None:
    """Generate, score and rank answers automatically, and train a knowledge probe.

    Examples
    --------
    shroom annotate generate answers questions.jsonl --model ./lm -o answers.jsonl
    shroom annotate run annotate.yaml
    shroom annotate probe train labelled.jsonl --model ./lm -o my-probe
    """
