"""``shroom annotate generate``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import click

from shroom.annotate.generate import (
    QUERIES,
    Answers,
    Generator,
    Item,
    Prompts,
    SourceGenerator,
    generate,
    read_rows,
    with_generations,
)
from shroom.cli import group
from shroom.cli.options import (
    INPUT,
    ON_DISK,
    Decorator,
    Number,
    flag,
    is_given,
    option,
    together,
    usage_errors,
)
from shroom.cli.output import read_aloud, say, say_alike
from shroom.cli.running import (
    MAX_COST,
    RESUME,
    SETTINGS,
    is_finished,
    partial_of,
    resumable,
    run_options,
    watched,
)
from shroom.core.atomic_writing import write_atomically
from shroom.core.json_writing import json_lines
from shroom.core.printing import counted
from shroom.core.problems import ShroomError
from shroom.core.registry import check_settings, settings_of
from shroom.datasets import queries
from shroom.inference.run_settings import Run
from shroom.inference.store import RunStore

_COUNT = click.IntRange(1)


class Job:
    """The generation of texts, which are stored one by one."""

    def __init__(self, values: dict[str, Any]) -> None:
        sampling = ("model", "endpoint", "temperature", "max_tokens", "seed", "max_cost")
        settings = {name: values.pop(name) for name in sampling} | values.pop("settings")
        kind = SourceGenerator if values.get("prompt") == "source" else Generator
        with usage_errors():
            check_settings("model", settings, settings_of(kind))
            self.generator = kind(**settings)
        self.output, self.resume, self.dry_run = (
            values.pop(name) for name in ("output", "resume", "dry_run")
        )
        inputs = values["questions"] if "questions" in values else [values["seeds"]]
        self.path = partial_of(self.output, inputs)

    @contextmanager
    def kept(self, run: Run) -> Iterator[tuple[Run, RunStore]]:
        """Provide a run whose texts are stored until it succeeds."""
        resume = self.resume or self.dry_run
        with (
            resumable(self.path, "generation", resume=resume, refuse=True) as store,
            watched(run, "generations") as shown,
        ):
            store.unfinished = self.dry_run
            yield replace(shown, stores=[store]), store

    def write(self, text: str, what: str) -> None:
        write_atomically(self.output, text)
        budget = self.generator.budget
        cost = f"; this run has cost about {budget.spent:.4g}" if budget.spent else ""
        say([f"wrote {what} to {self.output}{cost}"])


def _generation_options(max_tokens: int, temperature: float) -> Decorator:
    """Return the options of model, sampling and run; a verb receives them as ``job``."""
    return together(
        "job",
        Job,
        option(
            "--model",
            "Causal language model: a folder, or a name on the Hugging Face Hub. With "
            "--endpoint: the model's name on the server.",
            required=True,
        ),
        option("--endpoint", "URL of the endpoint, such as http://localhost:8080/v1."),
        option("-o --output", "Write to this file.", ON_DISK, required=True),
        option("--temperature", "Sampling temperature.", Number(0, 2), temperature),
        option(
            "--max-tokens",
            "Maximum number of tokens per text; reasoning models need a higher limit than the "
            "default.",
            _COUNT,
            max_tokens,
        ),
        option("--seed", "Random seed for sampling.", click.IntRange(0), 0),
        MAX_COST,
        SETTINGS,
        run_options(precision=False),
        RESUME,
        flag("--dry-run", "Show what would be generated and how much it would cost, and exit."),
    )


@group()
def command() -> None:
    """Generate texts with a model behind an endpoint or on this machine.

    Examples
    --------
    shroom annotate generate answers questions.jsonl --model ./lm -n 1 -o answers.jsonl
    shroom annotate generate queries seeds.jsonl -n 9 --model ./lm --dry-run -o q.jsonl
    """


def _wanted(values: dict[str, Any]) -> Answers:
    with usage_errors():
        wanted = Answers(**{name: values.pop(name) for name in settings_of(Answers)})
    if not values["temperature"] and max(wanted.normal, wanted.refusals) > 1:
        raise click.UsageError(
            "temperature: at 0, all generations would be identical; use a value above 0"
        )
    return wanted


@command.command("answers")
@click.argument("questions", type=INPUT, nargs=-1, required=True)
@together(
    "wanted",
    _wanted,
    option("-n --normal", "Number of answers for each question.", click.IntRange(0, 1000), 5),
    option("--refusals", "Number of refusals for each question.", click.IntRange(0, 1000), 5),
    option(
        "--template", "Prompt template for answers; must contain {question}.", default="{question}"
    ),
    option("--refusal", "Prompt template for refusals; must contain {question}."),
)
@_generation_options(max_tokens=512, temperature=0.8)
def _answers(questions: tuple[str, ...], wanted: Answers, job: Job, run: Run) -> int:
    """Generate several answers and refusals for each question in QUESTIONS.

    'shroom annotate run' scores and ranks the output.

    Examples
    --------
    shroom annotate generate answers questions.jsonl --model ./lm -n 1 -o answers.jsonl
    shroom annotate generate answers questions.jsonl --model ./lm --dry-run -o a.jsonl
    """
    rows = read_aloud(read_rows, *questions)
    items = [wanted.items(row["question"]) for row in rows]
    every = [item for row in items for item in row]
    if not job.dry_run and is_finished(job.output, job.path, resume=job.resume):
        return 0
    with job.kept(run) as (run, store):
        n = counted(len(rows), "question")
        if job.dry_run:
            click.echo(f"{n}: {job.generator.cost(every, run)}")
            return 0
        texts = dict(job.generator.generate(every, run))
        made = {item: text for item, text in texts.items() if isinstance(text, str) and text}
        failed = [item for item in texts if item not in made]
        store.unfinished = bool(failed)
        completed = [with_generations(row, own, made) for row, own in zip(rows, items)]
        new = counted(sum(item in made for item in every), "new generation")
        job.write(json_lines(completed), f"{n} with {new}")
    if not failed:
        return 0
    empty = "the reply is empty; if it was cut off, increase --max-tokens"
    say_alike(f"{item.kind} {item.number}: {texts[item] or empty}" for item in failed)
    say([f"missing generations: {len(failed)}; to try again, add --resume"])
    return 1


@command.command("queries")
@click.argument("seeds", type=INPUT)
@option("-n count", "Number of queries to generate.", _COUNT, required=True)
@option(
    "--prompt",
    "Send the kit's prompt ('kit'), or the prompt used to generate davinci-debate ('source').",
    QUERIES,
    "kit",
)
@option("--examples", "Number of seed queries in each prompt.", _COUNT, 10)
@option("--patience", "Stop after this many consecutive calls without a new query.", _COUNT, 100)
@_generation_options(max_tokens=100, temperature=1.0)
def _queries(seeds: str, count: int, prompt: str, job: Job, run: Run, **options: Any) -> None:
    """Generate debate queries from the examples in SEEDS.

    Duplicates and texts other than debate questions are dropped.

    Examples
    --------
    shroom annotate generate queries seeds.jsonl -n 9 --model ./lm --dry-run -o q.jsonl
    """
    patience, generator = options["patience"], job.generator
    if prompt == "source":
        _refuse_unsent(generator.unsent)
    found = queries.read(seeds, seeds=True)
    say(found.problems)
    examples = [query.text for query in found.records]
    prompts = Prompts(examples, prompt, options["examples"], generator.seed)

    def ask(items: Sequence[Item]) -> dict[Item, str]:
        answers = {}
        for item, text in generator.generate(items, run):
            if isinstance(text, ShroomError):
                raise ShroomError(f"{text}; to continue, add --resume")
            answers[item] = text
        return answers

    with job.kept(run) as (run, _):
        if job.dry_run:
            items = prompts.items(count)
            click.echo(f"{items[0].prompt}\n\nat least {generator.cost(items, run)}")
            return
        new, calls = generate(count, prompts, ask, patience)
        n = len(new)
        if n:
            job.write(json_lines({"query": query} for query in new), counted(n, "query"))
        say([f"{counted(calls, 'call')}: {n} kept"])
        if n < count:
            raise ShroomError(
                f"wrote {n} of {counted(count, 'query')}, because "
                f"{counted(patience, 'consecutive call')} returned no new query; to continue, add "
                "--resume with a larger --patience, more seeds or a higher --temperature"
            )


def _refuse_unsent(names: Sequence[str]) -> None:
    """Refuse sampling settings that the source's requests do not contain."""
    settings = click.get_current_context().params["settings"]
    for name in names:
        if name != "seed" and (is_given(name) or name in settings):  # the seed draws the examples
            raise click.UsageError(
                "with --prompt source, only the original program's settings are sent; leave out "
                f"{name}"
            )
