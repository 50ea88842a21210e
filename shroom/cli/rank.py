"""``shroom rank``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shroom.annotate.base import scores_in
from shroom.annotate.rankers import RANKERS
from shroom.cli.annotate import read_questions, summary_of, write_outputs
from shroom.cli.output import say
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.core.atomic_writing import refuse_overwriting, refuse_unwritable
from shroom.core.problems import ShroomError, nearest, printable

if TYPE_CHECKING:
    from shroom.datasets.dreamcatcher.records import Question

EXAMPLES = """\b
Examples:
  shroom rank scored.jsonl -o labelled.jsonl --ranked ranked.jsonl
  shroom rank scored.jsonl -o labelled.jsonl --up 55 --down 45
  shroom rank scored.jsonl -o labelled.jsonl --ranker length --pairs pairs.jsonl
"""


@click.command(epilog=EXAMPLES)
@click.argument("scored", type=INPUT)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    required=True,
    help="Write the questions with categories to this file.",
)
@click.option(
    "--ranked",
    type=OUTPUT,
    help="Write rankings of two or more generations, as preferences, to this file.",
)
@click.option(
    "--pairs",
    type=OUTPUT,
    help="Write every pair of each ranking (prompt, chosen, rejected) to this file.",
)
@click.option(
    "--ranker",
    type=click.Choice(list(RANKERS)),
    default="percentile",
    show_default=True,
    help="Rank by percentiles of summed scores, or by length and medians.",
)
@click.option(
    "--up", type=float, help="Percentile above which a generation counts as right.  [default: 70]"
)
@click.option(
    "--down", type=float, help="Percentile below which a generation counts as wrong.  [default: 30]"
)
@click.option("--scores", help="Score fields that the percentile ranker sums, separated by commas.")
@click.option(
    "--difference",
    type=int,
    help="Number of characters over the answer that makes a generation long.  [default: 80]",
)
def command(
    *,
    scored: str,
    output: str,
    ranked: str | None,
    pairs: str | None,
    ranker: str,
    scores: str | None,
    **numbers: Any,
) -> None:
    """Rank the generations of SCORED, as 'shroom annotate' would.

    Each question gets a category, all-right, partial-right or all-wrong, and a ranking: the best
    right generation, the best refusal, the worst wrong one.
    """
    settings = {name: value for name, value in numbers.items() if value is not None}
    if scores is not None:
        settings["scores"] = [name.strip() for name in scores.split(",") if name.strip()]
    try:
        chosen = RANKERS.make(ranker, **settings)
    except ShroomError as error:
        raise click.UsageError(str(error)) from error
    named = {"output": output, "ranked": ranked, "pairs": pairs}
    if "-" in named.values():
        raise click.UsageError("the questions, their rankings and pairs go to files; name them")
    targets = {key: Path(path) for key, path in named.items() if path is not None}
    refuse_overwriting(targets.values(), [scored])
    refuse_unwritable(targets.values())
    if len({path.resolve() for path in targets.values()}) < len(targets):
        raise click.UsageError("two of --output, --ranked and --pairs are one file")
    questions = read_questions(scored)
    if scores is not None:
        _refuse_unknown(settings["scores"], questions)
    result = chosen.rank(questions)
    write_outputs(result.questions, targets)
    click.echo("\n".join(summary_of(result)[1]))
    say(f"note: {sentence}" for sentence in result.notes)


def _refuse_unknown(asked: list[str], questions: list[Question]) -> None:
    """Refuse scores that no generation has."""
    names = {
        name: None for question in questions for g in question.generation for name in scores_in(g)
    }
    for name in asked:
        if name not in names:
            message = f"no generation has '{printable(name)}';{nearest(name, names)} there are: "
            raise click.BadParameter(message + ", ".join(names), param_hint="--scores")
