"""``shroom annotate`` and ``shroom annotate run``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from shroom.annotate.base import Scorer, ScoringResult, Work
from shroom.annotate.config import Config
from shroom.annotate.generations import OUTPUTS, read
from shroom.annotate.rankers import Ranked
from shroom.cli import group
from shroom.cli.annotate_generate import command as generate_group
from shroom.cli.annotate_probe import command as probe_group
from shroom.cli.annotate_probe import scored
from shroom.cli.options import FILE, INPUT, flag, format_option, option
from shroom.cli.output import json_text, note, read_aloud, say, say_alike
from shroom.cli.running import RESUME, is_finished, run_options
from shroom.core.atomic_writing import check_targets, write_atomically
from shroom.core.printing import counted
from shroom.datasets.dreamcatcher import Question
from shroom.inference.run_settings import Run
from shroom.inference.store import Store, kept
from shroom.scoring.tables import text

CONFIG = """\b
An example of CONFIG:
  data: generations.jsonl
  scorers:
    - unigram
    - similarity: {model: BAAI/bge-large-zh-v1.5}
  ranker:
    percentile: {up: 70, down: 30}
  output: labelled.jsonl
  ranked: ranked.jsonl
"""


@group()
def command() -> None:
    """Generate, score and rank answers automatically, and train a knowledge probe.

    Examples
    --------
    shroom annotate generate answers questions.jsonl --model ./lm -o answers.jsonl
    shroom annotate run annotate.yaml
    shroom annotate probe train labelled.jsonl --model ./lm -o my-probe
    """


command.add_command(generate_group, "generate")
command.add_command(probe_group, "probe")


@command.command("run", epilog=CONFIG)
@click.argument("config", type=FILE)
@RESUME
@flag("--dry-run", "Show what would be scored and how much it would cost, and exit.")
@option("--against", "Compare the scores and categories with these human judgements.", INPUT)
@run_options()
@format_option("text", "json", about="Print the summary as text, or as one JSON object.")
def _run(
    *, config: str, resume: bool, dry_run: bool, against: str | None, run: Run, form: str
) -> int:
    """Score and rank generations with the settings in CONFIG.

    If CONFIG has no scorers, the generations must already have scores, and are only ranked.

    Examples
    --------
    shroom annotate run annotate.yaml --dry-run
    shroom annotate run annotate.yaml
    shroom annotate run annotate.yaml --resume --format json
    """
    plan = Config.read(config)
    check_targets([*plan.outputs.values(), plan.partial], [config, *plan.data, against])
    questions = read_aloud(read, *plan.data)
    if dry_run:
        with kept(plan.partial, note, resume=True) as store:
            store.unfinished = True
            click.echo(_rehearsal(plan.scorers, questions, store, run))
        return 0
    judgements = None
    if against is not None:
        from shroom.annotate.human_agreement import judged, read_judgements

        judgements = read_judgements(against)
        judged(questions, judgements)  # before hours of scoring
    elif plan.scorers and is_finished(plan.outputs["output"], plan.partial, resume=resume):
        return 0
    with scored(plan.scorers, questions, plan.partial, run, resume=resume) as result:
        ranked = plan.ranker.rank(result.questions) if plan.ranker else None
        for key, path in plan.outputs.items():
            write_atomically(path, OUTPUTS[key](ranked.questions if ranked else result.questions))
    click.echo(_summary(result, ranked, form, judgements), nl=False)
    say(f"note: {sentence}" for sentence in (ranked.notes if ranked else []))
    if not result.failed:
        return 0
    say_alike(
        f"item {it.question}: generation[{it.generation}]: {it.scorer}: {it.reason}"
        for it in result.failed
    )
    say([f"missing scores: {len(result.failed)}; to try again, add --resume"])
    return 1


def _rehearsal(scorers: Sequence[Scorer], questions: list[Question], store: Store, run: Run) -> str:
    """Return the number of generations that each scorer would score, and their cost."""
    n_generations = sum(len(question.generation) for question in questions)
    lines = [f"{counted(len(questions), 'question')}, {counted(n_generations, 'generation')}"]
    for scorer in scorers:
        work = Work.of(scorer, questions, store, run)
        n, known = len(work.missing), work.n_known
        cost = scorer.cost(work.missing) if n else ""
        scored_before = f", {known} already scored" if known else ""
        fields, price = ", ".join(scorer.fields), f"; {cost}" if cost else ""
        lines.append(f"{scorer.name}: {n} to score{scored_before} -> {fields}{price}")
    return "\n".join(lines)


def _summary(result: ScoringResult, ranked: Ranked | None, form: str, judgements: Any) -> str:
    summary: dict[str, Any] = {
        "questions": len(result.questions),
        "scored": result.computed,
        "known": result.reused,
        "failed": [failure._asdict() for failure in result.failed],
    }
    reused = {name: f", {n} reused" if n else "" for name, n in result.reused.items()}
    lines = [f"{name}: {n} scored{reused[name]}" for name, n in result.computed.items()]
    if ranked is not None:
        categories = Counter(q.category or "not ranked" for q in ranked.questions).most_common()
        n = sum(len(question.rank or ()) > 1 for question in ranked.questions)
        summary |= {"categories": dict(categories), "limits": ranked.limits, "ranked": n}
        lines.append(", ".join(f"{n} {word}" for word, n in categories))
        lines.append(f"{counted(n, 'ranking')} of two or more generations")
        lines += [f"{word} {value:.4f}" for word, value in ranked.limits.items()]
    if judgements is not None:
        from shroom.annotate.human_agreement import agreement

        agreements = agreement(ranked.questions if ranked else result.questions, judgements)
        summary = {"verdict": agreements.verdict, **summary, "against": agreements.to_dict()}
        lines = [agreements.verdict, "", *lines, "", text(agreements.tables()).rstrip("\n")]
    return json_text(summary) if form == "json" else "\n".join(lines) + "\n"
