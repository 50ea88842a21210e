"""``shroom annotate generate``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from shroom.annotate.base import Failure
from shroom.annotate.generate import Answers, Generator, Item, Texts, read_rows, with_generations
from shroom.annotate.generate_queries import PROMPTS, UNSENT, Prompts, generate
from shroom.cli import group
from shroom.cli.options import SETTINGS, Decorator, flag, is_given, option, together, usage_errors
from shroom.cli.output import read_aloud, say, say_alike
from shroom.cli.parameter_types import INPUT, OUTPUT, Number
from shroom.cli.running import RESUME, kept, opened_log, run_options, watched
from shroom.core.atomic_writing import write_atomically
from shroom.core.json_writing import json_lines
from shroom.core.printing import counted
from shroom.core.problems import ShroomError
from shroom.datasets import queries
from shroom.inference.run_settings import Run


class Job:
    """The generation of texts, each of which is kept in a log as it is made."""

    def __init__(self, values: dict[str, Any]) -> None:
        sampling = ("model", "endpoint", "temperature", "max_tokens", "seed", "max_cost")
        settings = {name: values.pop(name) for name in sampling} | values.pop("settings")
        names = Generator.setting_names()
        with usage_errors():
            for name in settings.keys() - set(names):
                raise ShroomError(f"no setting '{name}'; there are: {', '.join(names)}")
            self.generator = Generator.from_settings(**settings)
        self.output: str = values.pop("output")
        self.resume: bool = values.pop("resume")
        self.dry_run: bool = values.pop("dry_run")
        inputs = values["questions"] if "questions" in values else [values["seeds"]]
        self.log = opened_log(Texts, self.output, inputs, resume=self.resume or self.dry_run)

    def texts(self, items: Sequence[Item], run: Run) -> Mapping[Item, str | Failure]:
        """Return the text of each distinct item, from the log or from the model."""
        keys = {item: self.generator.key(item) for item in items}
        texts: dict[Item, str | Failure] = {
            item: self.log.known[key]["text"] for item, key in keys.items() if key in self.log.known
        }
        missing = [item for item in keys if item not in texts]
        with watched(run, "generations") as run:
            for item, text in self.generator.generate(missing, run):
                texts[item] = text
                if text and not isinstance(text, Failure):
                    self.log.add(keys[item], {"text": text})
        return texts

    def write(self, text: str, what: str) -> None:
        """Write the output, and report what it has cost."""
        write_atomically(self.output, text)
        spent = self.generator.spent
        cost = "" if spent is None else f"; this run has cost about {spent:.4g}"
        say([f"wrote {what} to {self.output}{cost}"])


def _generation_options(max_tokens: int, temperature: float) -> Decorator:
    """Return the options on the model, its sampling and the run, of which a verb gets ``job``."""
    return together(
        "job",
        Job,
        option(
            "--model",
            "Model at the endpoint; without one, a causal model: a folder, or a name on the hub.",
            required=True,
        ),
        option("--endpoint", "URL of the endpoint, such as http://localhost:8080/v1."),
        option("-o --output", "Write to this file.", OUTPUT, required=True),
        option("--temperature", "Temperature of the sampling.", Number(0, 2), temperature),
        option(
            "--max-tokens",
            "Largest number of tokens of a text; reasoning models need more.",
            click.IntRange(1),
            max_tokens,
        ),
        option("--seed", "Random seed of the sampling.", click.IntRange(0), 0),
        option("--max-cost", "Send no request that might exceed this cost.", Number(0)),
        SETTINGS,
        run_options(precision=False),
        RESUME,
        flag("--dry-run", "Show what would be generated and cost, and stop."),
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
    names = ("normal", "refusals", "template", "refusal")
    normal, refusals, *prompts = (values.pop(name) for name in names)
    with usage_errors():
        wanted = Answers(normal, refusals, *prompts)
        if not values["temperature"] and max(normal, refusals) > 1:
            raise ShroomError("temperature: at 0 all generations are alike; give one above 0")
    return wanted


@command.command("answers")
@click.argument("questions", type=INPUT, nargs=-1, required=True)
@together(
    "wanted",
    _wanted,
    option("-n --normal", "Number of answers to each question.", click.IntRange(0, 1000), 5),
    option("--refusals", "Number of refusals to each question.", click.IntRange(0, 1000), 5),
    option("--template", "Prompt of an answer, with {question} in it.", default="{question}"),
    option("--refusal", "Prompt with {question} in it that asks for a refusal."),
)
@_generation_options(max_tokens=512, temperature=0.8)
def _answers(questions: tuple[str, ...], wanted: Answers, job: Job, run: Run) -> int:
    """Generate several answers and several refusals to each of QUESTIONS.

    The output is data for 'shroom annotate run'.

    Examples
    --------
    shroom annotate generate answers questions.jsonl --model ./lm -n 1 -o answers.jsonl
    shroom annotate generate answers questions.jsonl --model ./lm --dry-run -o a.jsonl
    """
    rows = read_aloud(read_rows, *questions)
    items = [wanted.items(row["question"]) for row in rows]
    every = [item for row in items for item in row]
    if job.dry_run:
        known = job.log.known
        todo = [item for item in dict.fromkeys(every) if job.generator.key(item) not in known]
        click.echo(f"{len(rows)} questions: {job.generator.cost(todo)}")
        return 0
    if job.resume and not job.log.path.exists() and _has_ended(rows, items, job.output):
        say([f"{job.output} is finished, so there is nothing to resume"])
        return 0
    with kept(job.log, "generations"):
        texts = job.texts(every, run)
    made = {item: text for item, text in texts.items() if text and not isinstance(text, Failure)}
    completed = [
        with_generations(row, own, [made.get(item) for item in own])
        for row, own in zip(rows, items)
    ]
    n = sum(item in made for item in every)
    job.write(json_lines(completed), f"{len(rows)} questions with {n} new generations")
    failed = {item: text for item, text in texts.items() if item not in made}
    if not failed:
        job.log.remove()
        return 0
    empty = "the reply is empty; raise max_tokens if it was cut"
    say_alike(
        f"{item.kind} {item.number}: {text.reason if isinstance(text, Failure) else empty}"
        for item, text in failed.items()
    )
    say([f"{len(failed)} generations are missing; to try these again, add --resume"])
    return 1


@command.command("queries")
@click.argument("seeds", type=INPUT)
@option("-n count", "Number of queries to generate.", click.IntRange(1), required=True)
@option(
    "--prompt",
    "Send the kit's prompt, or the source's, which davinci-debate was made with.",
    PROMPTS,
    "kit",
)
@option("--examples", "Number of seed queries in each prompt.", click.IntRange(1), 10)
@option(
    "--patience", "Stop after this many calls in a row without a new query.", click.IntRange(1), 100
)
@_generation_options(max_tokens=100, temperature=1.0)
def _queries(seeds: str, count: int, prompt: str, job: Job, run: Run, **options: Any) -> None:
    """Generate debate queries from the examples in SEEDS.

    A query is kept if it is a debate question, and neither a seed nor a query that was kept.

    Examples
    --------
    shroom annotate generate queries seeds.jsonl -n 9 --model ./lm --dry-run -o q.jsonl
    """
    patience, generator = options["patience"], job.generator
    if prompt == "source":
        _refuse_unsent()
        generator.unsent = UNSENT
    found = queries.read(seeds, seeds=True)
    say(found.problems)
    examples = [query.text for query in found.records]
    prompts = Prompts(examples, prompt, options["examples"], generator.settings.seed)
    if job.dry_run:
        items = prompts.items(count)
        click.echo(f"{items[0].prompt}\n\nat least {generator.cost(items)}")
        return

    def ask(items: Sequence[Item]) -> dict[Item, str]:
        answers = {}
        for item, text in job.texts(items, run).items():
            if isinstance(text, Failure):
                raise ShroomError(f"{text.reason}; to go on, add --resume")
            answers[item] = text
        return answers

    with kept(job.log, "generations"):
        result = generate(count, prompts, ask, patience)
    n = len(result.queries)
    if n:
        job.write(json_lines({"query": query} for query in result.queries), counted(n, "query"))
    dropped = ", ".join(f"{n} {why}" for why, n in result.dropped.items())
    say([f"{counted(result.calls, 'call')}: {n} kept; dropped: {dropped}"])
    if n < count:
        raise ShroomError(
            f"the model gave nothing new in {patience} calls in a row, so there are {n} of "
            f"{count} queries; for more, add --resume with a greater --patience, or give more "
            "seeds or a higher --temperature"
        )
    job.log.remove()


def _refuse_unsent() -> None:
    """Refuse sampling settings that requests with the source's prompt do not have."""
    settings = click.get_current_context().params["settings"]
    for name in ("temperature", "top_p"):  # the seed also draws the examples
        if is_given(name) or name in settings:
            raise click.UsageError(
                f"--prompt source sends only what the source's program sends; leave out {name}"
            )


def _has_ended(rows: list[dict[str, Any]], items: list[list[Item]], output: str) -> bool:
    """Return whether an earlier run has added all generations to those of the rows."""
    try:
        written = read_rows(Path(output))
        added = [
            [it["type"] for it in other["generation"][len(row.get("generation") or ()) :]]
            for row, other in zip(rows, written)
        ]
    except (OSError, ShroomError, LookupError, TypeError):
        return False
    questions = [row["question"] for row in rows]
    return questions == [row["question"] for row in written] and added == [
        [item.kind for item in own] for own in items
    ]
