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
from shroom.core.printing import counted
from shroom.core.problems import ShroomError
from shroom.core.result_log import computed_anew
from shroom.datasets.queries import reader as queries
from shroom.datasets.queries.generation import MODES, PROMPTS, Log, Prompts, Settings, generate
from shroom.datasets.queries.near_duplicates import Screen, describe
from shroom.scoring.display.text import align

if TYPE_CHECKING:
    from shroom.datasets.queries.generation import Generation
    from shroom.datasets.queries.near_duplicates import Likeness

EXAMPLES = """\b
Examples:
  shroom queries generate --seeds seeds.jsonl -n 100 --endpoint URL -o new.jsonl
  shroom queries generate --seeds seeds.jsonl -n 200 --endpoint URL -o new.jsonl --resume
  shroom queries generate --seeds seeds.jsonl -n 9 --endpoint URL -o new.jsonl \\
    --prompt source --mode completion --model gpt-3.5-turbo-instruct
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
    "--prompt",
    type=click.Choice(list(PROMPTS)),
    default=Settings.prompt,
    show_default=True,
    help="Send the kit's prompt, or the source's, which davinci-debate was made with.",
)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default=Settings.mode,
    show_default=True,
    help="Send a chat, or a completion request as the source did.",
)
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
    help="Sampling temperature of the model.",
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
    "--per-minute",
    type=Number(0, 1_000_000, min_open=True),
    help="Send at most this many requests per minute.  [default: no limit]",
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
    per_minute: float | None,
    api_key_env: str,
    resume: bool,
    dry_run: bool,
    **settings: Any,
) -> None:
    """Make new debate queries from examples, through an OpenAI-compatible endpoint.

    Each call shows the model some of the seeds. The first line of its answer is kept if it is a
    debate question, and not a near-duplicate of a seed or of one that was kept. Every call is
    logged in OUTPUT.log, from which --resume goes on.
    """
    from shroom.inference.endpoint.client import Endpoint

    path = f"{output}.log"
    if not output.endswith(".jsonl") or Path(output).is_dir():
        raise ShroomError(f"{output}: expected JSON Lines; name a file that ends in .jsonl")
    refuse_overwriting([output, path], [seeds])
    endpoint = Endpoint(
        url,
        mode=settings["mode"],
        key_env=api_key_env,
        timeout=timeout,
        retries=retries,
        per_minute=per_minute,
        shorter="lower --examples",
    )
    prompts = Prompts(_texts([seeds], seeds=True), Settings(**settings))
    log = Log(path, {**settings, "seeds": prompts.digest}, resume=resume)
    if dry_run:
        _show_next_call(count, prompts, log.read() if resume else log)
        return
    with log.open(), shown_progress("queries") as report:
        if log.damaged:
            say([f"note: {computed_anew(log.path, log.damaged)}"])
        try:
            generation = generate(
                count,
                prompts=prompts,
                endpoint=endpoint,
                log=log,
                patience=patience,
                report=lambda n, calls: report(n, count, counted(calls, "call")),
            )
        except (KeyboardInterrupt, ShroomError):
            if log.known:
                answers = counted(len(log.known), "answer")
                say([f"{answers} kept in {log.path}; to go on, add --resume"])
            raise
    say([f"note: {note}" for note in endpoint.notes()])
    _write(generation, count, output, path, patience)


def _texts(paths: list[str], *, seeds: bool = False) -> list[str]:
    collection = queries.read(*paths, seeds=seeds)
    say(collection.problems)
    if not collection.records:
        raise ShroomError(f"{', '.join(paths)}: has no query; each row needs query or prompt_text")
    return [query.text for query in collection.records]


def _show_next_call(count: int, prompts: Prompts, log: Log) -> None:
    """Print the next prompt, and how many calls there will be at least."""
    screen = Screen(prompts.seeds, threshold=prompts.settings.threshold)
    n_kept = sum(screen.judge(answer).why is None for _, answer in sorted(log.known.items()))
    following = next(call for call in count_from(0) if call not in log.known)
    click.echo(f"{prompts.of(following)}\n")
    logged = f", beside {len(log.known)} that the log has" if log.known else ""
    least = counted(max(0, count - n_kept), "call")
    click.echo(f"at least {least}{logged}: one for each query, and for each that is dropped")


def _write(generation: Generation, count: int, output: str, log: str, patience: int) -> None:
    """Write the queries, and report the result of the calls."""
    n = len(generation.queries)
    if n:
        write_atomically(output, queries.write(map(queries.Query, generation.queries)))
        say([f"wrote {counted(n, 'query')} to {output}"])
    dropped = ", ".join(f"{n} {why}" for why, n in generation.dropped.items())
    say([f"{counted(generation.calls, 'call')}: {n} kept; dropped: {dropped}; each is in {log}"])
    if not generation.complete:
        raise ShroomError(
            f"the endpoint gave nothing new in {patience} calls in a row, so there are {n} of "
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
    models = _texts([seeds], seeds=True) if seeds else None
    likeness = describe(_texts(list(paths)), models, threshold)
    click.echo(json.dumps(asdict(likeness), indent=2) if form == "json" else _table(likeness))


def _table(likeness: Likeness) -> str:
    counts = {
        "queries": likeness.queries,
        "debate questions": likeness.debate,
        "doubled": likeness.doubled,
        "near-duplicates of any other": likeness.near_other,
        "near-duplicates of an earlier one": likeness.near_earlier,
        "near-duplicates of a seed": likeness.near_seed,
        "remaining without near-duplicates": likeness.left,
    }
    rows = [(name, str(n)) for name, n in counts.items() if n is not None]
    rule = f"near-duplicates: ROUGE-L F of at least {likeness.threshold:.12g}"
    return "\n".join([*align(rows), "", rule])
