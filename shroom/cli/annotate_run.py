"""``shroom annotate run``."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shroom.annotate.base import Scorer
from shroom.annotate.config import Config
from shroom.annotate.generations import read
from shroom.annotate.rankers import OUTPUTS, Ranked
from shroom.annotate.run_scorers import Log, ScoringResult, is_finished, score, waiting
from shroom.cli import verb
from shroom.cli.options import format_option
from shroom.cli.output import if_interrupted, json_text, note, say
from shroom.cli.parameter_types import FILE, INPUT
from shroom.cli.progress import shown_progress
from shroom.cli.run_options import run_options
from shroom.core.atomic_writing import refuse_overwriting, refuse_unwritable, write_atomically
from shroom.core.problems import Problems, ShroomError
from shroom.core.result_log import computed_anew
from shroom.datasets.dreamcatcher.records import Question
from shroom.inference.run_settings import Run

if TYPE_CHECKING:
    from shroom.annotate.human_agreement import Judgements

CONFIG = """\b
A config; without scorers it ranks generations that have scores:
  data: generations.jsonl
  scorers:
    - unigram
    - similarity: {model: BAAI/bge-large-zh-v1.5}
  ranker:
    percentile: {up: 70, down: 30}
  output: labelled.jsonl
  ranked: ranked.jsonl
"""


@verb(
    "shroom annotate run annotate.yaml --dry-run",
    "shroom annotate run annotate.yaml",
    "shroom annotate run annotate.yaml --resume --format json",
    epilog=CONFIG,
)
@click.argument("config", type=FILE)
@click.option("--resume", is_flag=True, help="Continue an interrupted run.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and stop.")
@click.option("--against", type=INPUT, help="Human judgements to compare scores and ranks with.")
@run_options()
@format_option("text", "json", about="Print the summary as text, or as one JSON object.")
def command(
    *, config: str, resume: bool, dry_run: bool, against: str | None, run: Run, form: str
) -> int:
    """Score and rank generations with the settings in CONFIG.

    A config without scorers ranks generations that have scores.
    """
    plan = Config.read(config)
    targets = [*plan.outputs.values(), plan.log]
    refuse_overwriting(targets, [config, *plan.data, against])
    refuse_unwritable(targets)  # before hours of scoring
    questions = read_questions(*plan.data)
    if dry_run:
        log = Log(plan.log, resume=True).read()
        click.echo(_rehearsal(plan.scorers, questions, log, run, form), nl=False)
        return 0
    judgements = None
    if against is not None:
        from shroom.annotate.human_agreement import judged, read_judgements

        judgements = read_judgements(against)
        judged(questions, judgements)  # before hours of scoring
    elif (
        plan.scorers
        and resume
        and has_ended(plan.log, list(plan.outputs.values()), questions, plan.scorers)
    ):
        return 0
    log = Log(plan.log, resume=resume).read()
    result = run_scorers(plan.scorers, questions, log, run)
    ranked = plan.ranker.rank(result.questions) if plan.ranker else None
    for key, path in plan.outputs.items():
        write_atomically(path, OUTPUTS[key](ranked.questions if ranked else result.questions))
    click.echo(_summary(result, ranked, form, judgements), nl=False)
    say(f"note: {sentence}" for sentence in (ranked.notes if ranked else []))
    if not result.failed:
        log.remove()
        return 0
    say(_failures(result))
    return 1


def read_questions(*paths: str) -> list[Question]:
    """Return the questions of files, and report the problems of the files."""
    problems = Problems()
    questions = read(*paths, problems=problems)
    say(problems)
    return questions


def has_ended(
    log: Path, outputs: Sequence[Path], questions: Sequence[Question], scorers: Sequence[Scorer]
) -> bool:
    """Return whether an earlier run has written all outputs, and report it if so."""
    if log.exists() or not all(path.is_file() for path in outputs):
        return False
    try:
        output = read(outputs[0])
    except ShroomError:
        return False
    if not is_finished(questions, scorers, output):
        return False
    again = "without --resume it is made anew"
    say([f"{outputs[0]} is finished, so there is nothing to resume; {again}"])
    return True


def run_scorers(
    scorers: Sequence[Scorer], questions: list[Question], log: Log, run: Run
) -> ScoringResult:
    """Return the result of scorers; log the scores, and show progress and notes."""
    told_once = functools.cache(note)
    kept = f"scores are kept in {log.path}; to go on from them, add --resume"
    if log.damaged:
        told_once(computed_anew(log.path, log.damaged))
    opened = log.open() if scorers else nullcontext()
    with if_interrupted(lambda: f"{len(log.known)} {kept}"), opened:
        return score(questions, scorers, log, replace(run, note=told_once), shown_progress)


def _rehearsal(
    scorers: Sequence[Scorer], questions: list[Question], log: Log, run: Run, form: str
) -> str:
    """Return the number of generations that each scorer would score, and their cost."""
    rows: list[dict[str, Any]] = []
    for scorer in scorers:
        unscored = waiting(scorer, questions, log.known, run)
        work = [question for question in unscored if question.pending]
        n = sum(len(question.pending) for question in work)
        rows.append(
            {
                "scorer": scorer.name,
                "to_score": n,
                "known": sum(len(scorer.places(question)) for question in questions) - n,
                "fields": list(scorer.fields),
                "cost": (scorer.cost(work) if work else "") or None,
            }
        )
    generations = sum(len(question.generation) for question in questions)
    if form == "json":
        summary = {"questions": len(questions), "generations": generations, "scorers": rows}
        return json_text(summary)
    lines = [f"{len(questions)} questions, {generations} generations"]
    for row in rows:
        scored_before = f", {row['known']} known" if row["known"] else ""
        price = f"; {row['cost']}" if row["cost"] else ""
        fields = ", ".join(row["fields"])
        lines.append(
            f"{row['scorer']}: {row['to_score']} to score{scored_before} -> {fields}{price}"
        )
    return "\n".join(lines) + "\n"


def _summary(
    result: ScoringResult, ranked: Ranked | None, form: str, judgements: Judgements | None
) -> str:
    summary: dict[str, Any] = {
        "questions": len(result.questions),
        "scored": result.computed,
        "known": result.reused,
        "failed": [vars(failure) for failure in result.failed],
    }
    lines = []
    for name, n in result.computed.items():
        scored_before = f", {result.reused[name]} known before" if result.reused[name] else ""
        lines.append(f"{name}: {n} scored{scored_before}")
    if ranked is not None:
        categories = Counter(q.category or "not ranked" for q in ranked.questions).most_common()
        n = sum(len(question.rank or ()) > 1 for question in ranked.questions)
        summary |= {"categories": dict(categories), "limits": ranked.limits, "ranked": n}
        lines.append(", ".join(f"{n} {word}" for word, n in categories))
        lines.append(f"{n} rankings of two or more")
        lines += [f"{word} {value:.4f}" for word, value in ranked.limits.items()]
    if judgements is not None:
        from shroom.annotate.human_agreement import agreement

        agreements = agreement(ranked.questions if ranked else result.questions, judgements)
        summary["against"] = agreements.to_dict()
        lines += ["", agreements.render("text").rstrip("\n")]
    if form == "json":
        return json_text(summary)
    return "\n".join(lines) + "\n"


def _failures(result: ScoringResult, most: int = 20) -> list[str]:
    lines = [
        f"item {failure.question}: generation[{failure.generation}]: {failure.scorer}: "
        f"{failure.reason}"
        for failure in result.failed[:most]
    ]
    if len(result.failed) > most:
        lines.append(f"… and {len(result.failed) - most} more; --format json lists them all")
    lines.append(
        f"{len(result.failed)} scores have failed, and the output is without them; to try these "
        "again, add --resume"
    )
    return lines
