"""``shroom annotate generate``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable

import click
from click.core import ParameterSource

from shroom.annotate.base import Failure
from shroom.annotate.generate import Answers, Generator, Item, Texts, read_rows, with_generations
from shroom.annotate.generate_queries import PROMPTS, UNSENT, Prompts, generate
from shroom.cli import group
from shroom.cli.options import SETTINGS, F, combined, usage_errors
from shroom.cli.output import if_interrupted, note, say, say_alike
from shroom.cli.parameter_types import INPUT, OUTPUT, Number
from shroom.cli.progress import watched
from shroom.cli.run_options import run_options
from shroom.core.atomic_writing import refuse_overwriting, refuse_unwritable, write_atomically
from shroom.core.json_writing import json_lines
from shroom.core.printing import counted
from shroom.core.problems import Problems, ShroomError
from shroom.core.result_log import computed_anew
from shroom.datasets.queries import reader as queries
from shroom.inference.resume_log import PARTIAL
from shroom.inference.run_settings import Run


def _generation_options(max_tokens: int, temperature: float) -> Callable[[F], F]:
    """Return the options on the model, its sampling and the run, with these defaults."""
    return combined(
        click.option(
            "--model",
            required=True,
            help="Model at the endpoint; without one, a causal model: a folder, or a name on the "
            "hub.",
        ),
        click.option("--endpoint", help="URL of the endpoint, such as http://localhost:8080/v1."),
        click.option("-o", "--output", type=OUTPUT, required=True, help="Write to this file."),
        click.option(
            "--temperature",
            type=Number(0, 2),
            default=temperature,
            help="Temperature of the sampling.",
        ),
        click.option(
            "--max-tokens",
            type=click.IntRange(1),
            default=max_tokens,
            help="Largest number of tokens of a text; reasoning models need more.",
        ),
        click.option(
            "--seed", type=click.IntRange(0), default=0, help="Random seed of the sampling."
        ),
        click.option(
            "--max-cost", type=Number(0), help="Send no request that might exceed this cost."
        ),
        SETTINGS,
        run_options(precision=False),
        click.option("--resume", is_flag=True, help="Continue an interrupted run."),
        click.option(
            "--dry-run", is_flag=True, help="Show what would be generated and cost, and stop."
        ),
    )


@group(
    "shroom annotate generate answers questions.jsonl --model ./lm -n 1 -o answers.jsonl",
    "shroom annotate generate queries seeds.jsonl -n 9 --model ./lm --dry-run -o q.jsonl",
)
def command() -> None:
    """Generate texts with a model behind an endpoint or on this machine."""


@command.verb(
    "answers",
    "shroom annotate generate answers questions.jsonl --model ./lm -n 1 -o answers.jsonl",
    "shroom annotate generate answers questions.jsonl --model ./lm --dry-run -o a.jsonl",
)
@click.argument("questions", type=INPUT, nargs=-1, required=True)
@click.option(
    "-n",
    "--normal",
    type=click.IntRange(0, 1000),
    default=5,
    help="Number of answers to each question.",
)
@click.option(
    "--refusals",
    type=click.IntRange(0, 1000),
    default=5,
    help="Number of refusals to each question.",
)
@click.option(
    "--template", default="{question}", help="Prompt of an answer, with {question} in it."
)
@click.option("--refusal", help="Prompt with {question} in it that asks for a refusal.")
@_generation_options(max_tokens=512, temperature=0.8)
def _answers(
    *,
    questions: tuple[str, ...],
    normal: int,
    refusals: int,
    template: str,
    refusal: str | None,
    output: str,
    run: Run,
    resume: bool,
    dry_run: bool,
    **settings: Any,
) -> int:
    """Generate several answers and several refusals to each of QUESTIONS.

    The output is data for 'shroom annotate run'.
    """
    with usage_errors():
        wanted = Answers(normal, refusals, template, refusal)
        generator = _generator(settings)
        if not settings["temperature"] and max(normal, refusals) > 1:
            raise ShroomError("temperature: at 0 all generations are alike; give one above 0")
    log = _log(output, [*questions], resume=resume or dry_run)
    problems = Problems()
    rows = read_rows(*questions, problems=problems)
    say(problems)
    items = [wanted.items(row["question"]) for row in rows]
    every = [item for row in items for item in row]
    if dry_run:
        todo = [item for item in dict.fromkeys(every) if generator.key(item) not in log.known]
        click.echo(f"{len(rows)} questions: {generator.cost(todo)}")
        return 0
    if resume and not log.path.exists() and _has_ended(rows, items, Path(output)):
        say([f"{output} is finished, so there is nothing to resume"])
        return 0
    with _opened(log):
        texts = _texts(generator, every, log, run)
    made = {item: text for item, text in texts.items() if text and not isinstance(text, Failure)}
    completed = [
        with_generations(*pair, [made.get(i) for i in pair[1]]) for pair in zip(rows, items)
    ]
    write_atomically(output, json_lines(completed))
    n = sum(item in made for item in every)
    say([f"wrote {len(rows)} questions with {n} new generations to {output}{_spent(generator)}"])
    if len(made) == len(texts):
        log.remove()
        return 0
    empty = "the reply is empty; raise max_tokens if it was cut"
    failed = {i: text.reason if isinstance(text, Failure) else empty for i, text in texts.items()}
    missing = [f"{i.kind} {i.number}: {why}" for i, why in failed.items() if i not in made]
    say_alike(missing)
    say([f"{len(missing)} generations are missing; to try these again, add --resume"])
    return 1


@command.verb(
    "queries", "shroom annotate generate queries seeds.jsonl -n 9 --model ./lm --dry-run -o q.jsonl"
)
@click.argument("seeds", type=INPUT)
@click.option(
    "-n", "count", type=click.IntRange(1), required=True, help="Number of queries to generate."
)
@click.option(
    "--prompt",
    type=click.Choice(list(PROMPTS)),
    default="kit",
    help="Send the kit's prompt, or the source's, which davinci-debate was made with.",
)
@click.option(
    "--examples", type=click.IntRange(1), default=10, help="Number of seed queries in each prompt."
)
@click.option(
    "--patience",
    type=click.IntRange(1),
    default=100,
    help="Stop after this many calls in a row without a new query.",
)
@_generation_options(max_tokens=100, temperature=1.0)
def _queries(
    *,
    seeds: str,
    count: int,
    prompt: str,
    examples: int,
    patience: int,
    output: str,
    run: Run,
    resume: bool,
    dry_run: bool,
    **settings: Any,
) -> None:
    """Generate debate queries from the examples in SEEDS.

    A query is kept if it is a debate question, and neither a seed nor a query that was kept.
    """
    if prompt == "source":
        _refuse_unsent(settings)
    with usage_errors():
        generator = _generator(settings)
    if prompt == "source":
        generator.unsent = UNSENT
    log = _log(output, [seeds], resume=resume or dry_run)
    found = queries.read(seeds, seeds=True)
    say(found.problems)
    prompts = Prompts([query.text for query in found.records], prompt, examples, settings["seed"])
    if dry_run:
        items = prompts.items(count)
        click.echo(f"{items[0].prompt}\n\nat least {generator.cost(items)}")
        return

    def ask(items: Sequence[Item]) -> dict[Item, str]:
        answers = {}
        for item, text in _texts(generator, items, log, run).items():
            if isinstance(text, Failure):
                raise ShroomError(f"{text.reason}; to go on, add --resume")
            answers[item] = text
        return answers

    with _opened(log):
        result = generate(count, prompts, ask, patience)
    n = len(result.queries)
    if n:
        write_atomically(output, queries.write(map(queries.Query, result.queries)))
        say([f"wrote {counted(n, 'query')} to {output}{_spent(generator)}"])
    dropped = ", ".join(f"{n} {why}" for why, n in result.dropped.items())
    say([f"{counted(result.calls, 'call')}: {n} kept; dropped: {dropped}"])
    if n < count:
        raise ShroomError(
            f"the model gave nothing new in {patience} calls in a row, so there are {n} of "
            f"{count} queries; for more, add --resume with a greater --patience, or give more "
            "seeds or a higher --temperature"
        )
    log.remove()


def _refuse_unsent(settings: Mapping[str, Any]) -> None:
    """Refuse sampling settings that requests with the source's prompt do not have."""
    given = {
        name
        for name in UNSENT
        if click.get_current_context().get_parameter_source(name) is ParameterSource.COMMANDLINE
    }
    # The seed also draws the examples.
    for name in sorted((given | settings["settings"].keys()) & {"temperature", "top_p"}):
        raise click.UsageError(
            f"--prompt source sends only what the source's program sends; leave out {name}"
        )


def _generator(settings: dict[str, Any]) -> Generator:
    """Return the generator with the settings of the command line."""
    settings |= settings.pop("settings")
    names = Generator.setting_names()
    for name in settings.keys() - set(names):
        raise ShroomError(f"no setting '{name}'; there are: {', '.join(names)}")
    return Generator.from_settings(**settings)


def _log(output: str, inputs: list[str], *, resume: bool) -> Texts:
    """Return the texts of an interrupted run; refuse an output that cannot be written."""
    if output == "-":
        raise click.BadParameter("the result goes to a file", param_hint="--output")
    log = Texts(f"{output}{PARTIAL}", resume=resume)
    refuse_overwriting([output, log.path], inputs)
    refuse_unwritable([Path(output), log.path])
    return log.read()


@contextmanager
def _opened(log: Texts) -> Iterator[None]:
    """Reserve the log, and report what it keeps if the run is interrupted."""
    if log.damaged:
        note(computed_anew(log.path, log.damaged))
    kept = f"generations are kept in {log.path}; to go on, add --resume"
    with if_interrupted(lambda: f"{len(log.known)} {kept}"), log.open():
        yield


def _texts(
    generator: Generator, items: Sequence[Item], log: Texts, run: Run
) -> Mapping[Item, str | Failure]:
    """Return the text of each distinct item, from the log or from the model."""
    keys = {item: generator.key(item) for item in items}
    texts: dict[Item, str | Failure] = {
        item: log.known[key]["text"] for item, key in keys.items() if key in log.known
    }
    with watched(run, "generations") as run:
        for item, text in generator.generate([i for i in keys if i not in texts], run):
            texts[item] = text
            if text and not isinstance(text, Failure):
                log.add(keys[item], {"text": text})
    return texts


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
