"""``shroom rank``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from shroom.annotate.base import RANKERS, Ranker
from shroom.annotate.generations import read
from shroom.annotate.rankers.ranking import output_texts
from shroom.cli.output import say
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.core.atomic_writing import refuse_overwriting, refuse_unwritable, write_atomically
from shroom.core.problems import Problems, ShroomError

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
    *, scored: str, output: str, ranked: str | None, pairs: str | None, **given: Any
) -> None:
    """Rank the generations of SCORED, as 'shroom annotate' would.

    Each question gets a category, all-right, partial-right or all-wrong, and a ranking: the best
    right generation, the best refusal, the worst wrong one.
    """
    ranker = _ranker(**given)
    targets = {"output": output, "ranked": ranked, "pairs": pairs}
    named = {key: path for key, path in targets.items() if path is not None}
    if "-" in named.values():
        raise click.UsageError("the questions, their rankings and pairs go to files; name them")
    refuse_overwriting(named.values(), [scored])
    refuse_unwritable(map(Path, named.values()))
    if len({Path(path).resolve() for path in named.values()}) < len(named):
        raise click.UsageError("two of --output, --ranked and --pairs are one file")
    problems = Problems()
    questions = read(scored, problems=problems)
    say(problems)
    found = ranker.rank(questions)
    made = output_texts(found.questions)
    for key, path in named.items():
        write_atomically(path, made[key]())
    counts = Counter(each.category or "not ranked" for each in found.questions).most_common()
    click.echo(", ".join(f"{n} {word}" for word, n in counts))
    for word, value in found.limits.items():
        click.echo(f"{word} {value:.4f}")
    say(f"note: {sentence}" for sentence in found.notes)


def _ranker(ranker: str, scores: str | None, **given: Any) -> Ranker:
    if scores is not None:
        given["scores"] = [name.strip() for name in scores.split(",") if name.strip()]
    settings = {name: value for name, value in given.items() if value is not None}
    try:
        found: Ranker = RANKERS.make(ranker, **settings)
    except ShroomError as error:
        raise click.UsageError(str(error)) from error
    return found
