"""``shroom generate``."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shroom.annotate.base import Failure
from shroom.annotate.generate import Generator, Texts, read_rows, with_generations
from shroom.cli.options import SETTINGS, usage_errors
from shroom.cli.output import say, say_alike
from shroom.cli.parameter_types import INPUT, OUTPUT, Number
from shroom.cli.progress import shown_progress
from shroom.cli.run_options import run_options
from shroom.core.atomic_writing import refuse_overwriting, refuse_unwritable, write_atomically
from shroom.core.json_writing import json_lines
from shroom.core.problems import Problems, ShroomError
from shroom.core.result_log import computed_anew
from shroom.inference.resume_log import PARTIAL

if TYPE_CHECKING:
    from shroom.inference.run_settings import Run

EXAMPLES = """\b
Examples:
  shroom generate questions.jsonl --model ./a-model -n 5 --refusals 5 -o generations.jsonl
  shroom generate questions.jsonl --model gpt-4o-mini --endpoint https://api.openai.com/v1 \\
      --set price_in=0.15 --set price_out=0.6 --max-cost 2 -o generations.jsonl
  shroom generate questions.jsonl --model ./a-model -o generations.jsonl --resume
"""


@click.command(epilog=EXAMPLES)
@click.argument("questions", type=INPUT, nargs=-1, required=True)
@click.option(
    "--model",
    required=True,
    help="Model at the endpoint; without one, a causal model: a folder, or a name on the hub.",
)
@click.option("--endpoint", help="URL of the endpoint, such as http://localhost:8080/v1.")
@click.option(
    "-n",
    "--normal",
    type=click.IntRange(0, 1000),
    default=5,
    show_default=True,
    help="Number of answers to each question.",
)
@click.option(
    "--refusals",
    type=click.IntRange(0, 1000),
    default=5,
    show_default=True,
    help="Number of refusals to each question.",
)
@click.option(
    "-o", "--output", type=OUTPUT, required=True, help="Write questions with generations here."
)
@click.option("--template", help="Prompt with {question} in it; by default only the question.")
@click.option("--refusal", help="Prompt with {question} in it that asks for a refusal.")
@click.option(
    "--temperature",
    type=Number(0, 2),
    default=0.8,
    show_default=True,
    help="Temperature of the sampling.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    default=512,
    show_default=True,
    help="Largest number of tokens of a generation.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the sampling."
)
@click.option("--max-cost", type=Number(0), help="Send no request that might exceed this cost.")
@SETTINGS
@run_options(precision=False)
@click.option("--resume", is_flag=True, help="Continue an interrupted run.")
@click.option("--dry-run", is_flag=True, help="Show what would be generated and cost, and stop.")
def command(
    *,
    questions: tuple[str, ...],
    output: str,
    settings: dict[str, Any],
    run: Run,
    resume: bool,
    dry_run: bool,
    **options: Any,
) -> int:
    """Generate several answers and several refusals to each of QUESTIONS.

    The output is a file for 'shroom annotate': the rows of QUESTIONS with their generations, of the
    types normal and uncertainty. New generations follow those that a question already has.
    """
    generator = _generator({**options, **settings})
    if output == "-":
        raise click.BadParameter("the questions go to a file", param_hint="--output")
    log = Texts(f"{output}{PARTIAL}", resume=resume or dry_run).read()
    refuse_overwriting([output, log.path], questions)
    refuse_unwritable([Path(output), log.path])
    problems = Problems()
    rows = read_rows(*questions, problems=problems)
    say(problems)
    items = [generator.items(row["question"]) for row in rows]
    keys = {item: generator.key(item) for row in items for item in row}
    todo = [item for item, key in keys.items() if key not in log.known]
    if dry_run:
        click.echo(f"{len(rows)} questions: {generator.cost(todo)}")
        return 0
    if resume and not log.path.exists() and _has_ended(rows, items, Path(output)):
        say([f"{output} is finished, so there is nothing to resume"])
        return 0
    failures = {}
    if log.damaged:
        say([f"note: {computed_anew(log.path, log.damaged)}"])
    try:
        with log.open(), shown_progress("generations") as report:
            run = replace(run, report=report, note=lambda text: say([f"note: {text}"]))
            for item, text in generator.generate(todo, run):
                if isinstance(text, Failure):
                    failures[item] = text.reason
                else:
                    log.add(keys[item], {"text": text})
    except KeyboardInterrupt:
        say([f"{len(log.known)} generations are kept in {log.path}; to go on, add --resume"])
        raise
    texts = {item: log.known.get(key, {}).get("text") for item, key in keys.items()}
    completed = [with_generations(*pair, [texts[i] for i in pair[1]]) for pair in zip(rows, items)]
    write_atomically(output, json_lines(completed))
    n = sum(text is not None for row in items for text in map(texts.get, row))
    say([f"wrote {len(rows)} questions with {n} new generations to {output}{_spent(generator)}"])
    if not failures:
        log.remove()
        return 0
    say_alike(f"{item.kind} {item.number}: {reason}" for item, reason in failures.items())
    say([f"{len(failures)} generations are missing; to try these again, add --resume"])
    return 1


def _generator(settings: dict[str, Any]) -> Generator:
    """Return the generator with the settings of the command line."""
    unknown = settings.keys() - set(Generator.setting_names())
    if unknown:
        names = ", ".join(Generator.setting_names())
        raise click.UsageError(f"no setting '{min(unknown)}'; there are: {names}")
    with usage_errors():
        return Generator.from_settings(**settings)


def _has_ended(rows: list[dict[str, Any]], items: list[Any], output: Path) -> bool:
    """Return whether an earlier run has made all generations."""
    try:
        written = read_rows(output)
    except (OSError, ShroomError):
        return False
    return len(written) == len(rows) and all(
        row["question"] == other["question"]
        and Counter(generation["type"] for generation in row["generation"])
        >= Counter(item.kind for item in row_items)
        for row, other, row_items in zip(written, rows, items)
    )


def _spent(generator: Generator) -> str:
    return "" if generator.spent is None else f"; this run has cost about {generator.spent:.4g}"
