"""``shroom queries``."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import count as count_from
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shroom.cli.options import format_option, refuse_two_pipes
from shroom.cli.output import say
from shroom.cli.parameter_types import INPUT, OUTPUT, Number
from shroom.cli.progress import shown_progress
from shroom.core.atomic_writing import refuse_overwriting, write_atomically
from shroom.core.problems import Problems, ShroomError
from shroom.core.result_log import computed_anew
from shroom.datasets.queries import reader as queries
from shroom.datasets.queries.generate.call_log import Log
from shroom.datasets.queries.generate.generation import Settings, generate
from shroom.datasets.queries.generate.prompts import Prompts
from shroom.datasets.queries.generate.repetition import describe
from shroom.datasets.queries.generate.screening import Screen
from shroom.scoring.display.text import align

if TYPE_CHECKING:
    from shroom.datasets.queries.generate.generation import Generation
    from shroom.datasets.queries.generate.repetition import Likeness
    from shroom.inference.endpoint.client import Endpoint

EXAMPLES = """\b
Examples:
  shroom queries generate --seeds seeds.jsonl -n 100 --endpoint URL -o new.jsonl
  shroom queries generate --seeds seeds.jsonl -n 200 --endpoint URL -o new.jsonl --resume
  shroom queries describe new.jsonl --seeds seeds.jsonl
"""


THRESHOLD = click.option(
    "--threshold",
    type=Number(0, 1, min_open=True),
    default=Settings.threshold,
    show_default=True,
    help="ROUGE-L F from which a query counts as a near-duplicate.",
)


@click.group(epilog=EXAMPLES)
def command() -> None:
    """Make new debate queries from examples, or describe a set of them."""


@command.command("generate", epilog=EXAMPLES)
@click.option(
    "--seeds", type=INPUT, required=True, help="Seed queries that the examples are drawn from."
)
@click.option(
    "-n", "count", type=click.IntRange(1), required=True, help="Number of queries to generate."
)
@click.option(
    "--endpoint",
    "url",
    required=True,
    help="URL of the endpoint, such as http://localhost:8080/v1.",
)
@click.option(
    "-o", "--output", type=OUTPUT, required=True, help="Write the queries to this .jsonl file."
)
@click.option("--model", help="Name of the model at the endpoint.  [default: the server's own]")
@click.option(
    "--examples",
    type=click.IntRange(1),
    default=Settings.examples,
    show_default=True,
    help="Number of seed queries in each prompt.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=Settings.seed,
    show_default=True,
    help="Seed of the choice of examples and of the server's sampling.",
)
@THRESHOLD
@click.option(
    "--temperature",
    type=Number(0, 2),
    default=Settings.temperature,
    show_default=True,
)
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    default=Settings.max_tokens,
    show_default=True,
    help="Largest number of tokens of an answer; reasoning models need more.",
)
@click.option(
    "--patience",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Stop after this many calls in a row without a new query.",
)
@click.option(
    "--timeout",
    type=Number(0.001, 86_400),
    default=60,
    show_default=True,
    help="Seconds to wait for a silent server.",
)
@click.option(
    "--retries",
    type=click.IntRange(0, 100),
    default=5,
    show_default=True,
    help="Number of retries of a call after a temporary failure.",
)
@click.option(
    "--api-key-env",
    default="OPENAI_API_KEY",
    show_default=True,
    help="Environment variable with the API key.",
)
@click.option("--resume", is_flag=True, help="Continue an earlier run.")
@click.option(
    "--dry-run", is_flag=True, help="Show the first prompt and the number of calls, and stop."
)
def _generate(
    *,
    seeds: str,
    count: int,
    url: str,
    output: str,
    patience: int,
    timeout: float,
    retries: int,
    api_key_env: str,
    resume: bool,
    dry_run: bool,
    **given: Any,
) -> None:
    """Make new debate queries from examples, through an OpenAI-compatible endpoint.

    Each call shows the model some of the seeds. The first line of its answer is kept if it is a
    debate question, and no near-duplicate of a seed or of one that was kept. Every call is logged
    in OUTPUT.log, from which --resume goes on.
    """
    from shroom.inference.endpoint.client import Endpoint

    settings = Settings(**given)
    path = f"{output}.log"
    if not output.endswith(".jsonl") or Path(output).is_dir():
        raise ShroomError(f"{output}: is no name for JSON Lines; name a file that ends in .jsonl")
    refuse_overwriting([output, path], [seeds])
    endpoint = Endpoint(
        url, key_env=api_key_env, timeout=timeout, retries=retries, shorter="lower --examples"
    )
    prompts = Prompts(_texts([seeds], seeds=True), examples=settings.examples, seed=settings.seed)
    log = Log(path, {**asdict(settings), "seeds": prompts.digest}, resume=resume)
    if dry_run:
        _rehearse(count, prompts, settings.threshold, log.read() if resume else log)
        return
    found = _run(count, prompts, settings, endpoint, log, patience)
    _tell(found, count, output, path, patience)


def _texts(paths: list[str], *, seeds: bool = False) -> list[str]:
    problems = Problems()
    found = queries.read(*paths, problems=problems, seeds=seeds)
    say(problems)
    if not found.records:
        raise ShroomError(f"{', '.join(paths)}: has no query; each row needs query or prompt_text")
    return [query.text for query in found.records]


def _rehearse(count: int, prompts: Prompts, threshold: float, log: Log) -> None:
    """Print the next prompt, and how many calls there will be at least."""
    screen = Screen(prompts.seeds, threshold=threshold)
    kept = sum(screen.judge(answer).why is None for _, answer in sorted(log.known.items()))
    known = len(log.known)
    following = next(call for call in count_from(0) if call not in log.known)
    click.echo(f"{prompts.of(following)}\n")
    logged = f", beside {known} that the log has" if known else ""
    least = max(0, count - kept)
    click.echo(f"at least {least} calls{logged}: one for each query, and for each that is dropped")


def _run(
    count: int,
    prompts: Prompts,
    settings: Settings,
    endpoint: Endpoint,
    log: Log,
    patience: int,
) -> Generation:
    with log.open(), shown_progress("queries") as report:
        if log.damaged:
            say([f"note: {computed_anew(log.path, log.damaged)}"])
        try:
            found = generate(
                count,
                prompts=prompts,
                settings=settings,
                endpoint=endpoint,
                log=log,
                patience=patience,
                report=lambda made, calls: report(made, count, f"{calls} calls"),
            )
        except (KeyboardInterrupt, ShroomError):
            if log.known:
                say([f"{len(log.known)} answers are kept in {log.path}; to go on, add --resume"])
            raise
    say([f"note: {note}" for note in endpoint.notes()])
    return found


def _tell(found: Generation, count: int, output: str, log: str, patience: int) -> None:
    """Write the queries, and tell what became of the calls."""
    made = len(found.queries)
    if made:
        write_atomically(output, queries.write(map(queries.Query, found.queries)))
        say([f"wrote {made} queries to {output}"])
    dropped = ", ".join(f"{n} {why}" for why, n in found.dropped.items())
    say([f"{found.calls} calls: {made} kept; dropped: {dropped}; each is in {log}"])
    if not found.complete:
        raise ShroomError(
            f"the endpoint gave nothing new in {patience} calls in a row, so there are {made} of "
            f"{count} queries; for more, add --resume with a greater --patience, or name another "
            "output and give more seeds, a higher --temperature or a higher --threshold"
        )


@command.command("describe", epilog=EXAMPLES)
@click.argument("paths", type=INPUT, nargs=-1, required=True, metavar="PATH...")
@click.option("--seeds", type=INPUT, help="Seed queries that these were generated from.")
@THRESHOLD
@format_option("text", "json", about="Print text, or one JSON object.")
def _describe(*, paths: tuple[str, ...], seeds: str | None, threshold: float, form: str) -> None:
    """Count queries, debate questions, and near-duplicates among them and of the seeds."""
    refuse_two_pipes(*paths, seeds)
    found = describe(_texts(list(paths)), _texts([seeds], seeds=True) if seeds else None, threshold)
    click.echo(json.dumps(asdict(found), indent=2) if form == "json" else _table(found))


def _table(found: Likeness) -> str:
    counts = {
        "queries": found.queries,
        "debate questions": found.debate,
        "doubled": found.doubled,
        "near-duplicates of any other": found.near_other,
        "near-duplicates of an earlier one": found.near_earlier,
        "near-duplicates of a seed": found.near_seed,
        "remaining without near-duplicates": found.left,
    }
    rows = [(name, str(n)) for name, n in counts.items() if n is not None]
    told = f"near-duplicates: ROUGE-L F of at least {found.threshold:.12g}"
    return "\n".join([*align(rows), "", told])
