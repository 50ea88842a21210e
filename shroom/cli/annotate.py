"""``shroom annotate``."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from shroom.annotate.config import Config
from shroom.annotate.generations import read
from shroom.annotate.rankers.ranking import output_texts
from shroom.annotate.run_scorers import score, uses_precision, waiting
from shroom.annotate.score_log import Log
from shroom.cli.options import format_option
from shroom.cli.output import say
from shroom.cli.parameter_types import FILE, INPUT
from shroom.cli.progress import shown_progress
from shroom.cli.run_options import run_options
from shroom.core.atomic_writing import refuse_overwriting, refuse_unwritable, write_atomically
from shroom.core.problems import Problems
from shroom.core.result_log import computed_anew

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shroom.annotate.base import Ranked, Scorer, Scores, Work
    from shroom.annotate.run_scorers import ScoringResult
    from shroom.datasets.dreamcatcher.records import Question
    from shroom.inference.run_settings import Run

EXAMPLES = """\b
Examples:
  shroom annotate annotate.yaml --dry-run
  shroom annotate annotate.yaml
  shroom annotate annotate.yaml --resume
  shroom annotate annotate.yaml --against judgements.jsonl

\b
A config:
  data: generations.jsonl
  scorers:
    - unigram
    - similarity: {model: BAAI/bge-large-zh-v1.5}
  ranker:
    percentile: {up: 70, down: 30}
  output: labelled.jsonl
  ranked: ranked.jsonl
"""


@click.command(epilog=EXAMPLES)
@click.argument("config", type=FILE)
@click.option("--resume", is_flag=True, help="Continue an interrupted run.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and stop.")
@click.option("--against", type=INPUT, help="Human judgements to compare scores and ranks with.")
@run_options()
@format_option("text", "json", about="Print the summary as text, or as one JSON object.")
def command(
    *,
    config: str,
    resume: bool,
    dry_run: bool,
    against: str | None,
    run: Run,
    form: str,
) -> int:
    """Score and rank generations as CONFIG says.

    Scorers run in their order and add their fields to each generation; a ranker sorts questions
    into all-right, partial-right and all-wrong, and ranks generations. A run that was interrupted
    continues with --resume from the scores that it has stored.
    """
    plan = Config.read(config)
    inputs = [config, *plan.data, against]
    refuse_overwriting([*plan.outputs, plan.log], inputs)
    refuse_unwritable([*plan.outputs, plan.log])  # before hours of scoring
    problems = Problems()
    questions = read(*plan.data, problems=problems)
    say(problems)
    if dry_run:
        log = Log(plan.log, resume=True).read()
        click.echo(_rehearsal(plan.scorers, questions, log, run, form), nl=False)
        return 0
    judgements = None
    if against is not None:
        from shroom.annotate import human_judgements as people
        from shroom.annotate.human_agreement import judged

        judgements = people.read(against)
        judged(questions, judgements)  # before hours of scoring
    log = Log(plan.log, resume=resume).read()
    if log.damaged:
        say([f"note: {computed_anew(plan.log, log.damaged)}"])
    scored = _scored(plan.scorers, questions, log, run)
    ranked = plan.ranker.rank(scored.questions) if plan.ranker else None
    made = output_texts(ranked.questions if ranked else scored.questions)
    for key, path in (("output", plan.output), ("ranked", plan.ranked), ("pairs", plan.pairs)):
        if path is not None:
            write_atomically(path, made[key]())
    click.echo(_summary(scored, ranked, form, judgements), nl=False)
    say(f"note: {sentence}" for sentence in (ranked.notes if ranked else []))
    if not scored.failed:
        log.remove()
        return 0
    say(_failures(scored))
    return 1


def _scored(
    scorers: Sequence[Scorer], questions: list[Question], log: Log, run: Run
) -> ScoringResult:
    said: set[str] = set()

    def note(text: str) -> None:
        if text not in said:
            say([f"note: {text}"])
        said.add(text)

    try:
        with log.open() if scorers else nullcontext():
            how = replace(run, note=note)
            return score(questions, [_Shown(each) for each in scorers], log, lambda _: how)
    except KeyboardInterrupt:
        say([f"{len(log.known)} scores are kept in {log.path}; to go on from them, add --resume"])
        raise


class _Shown:
    """A scorer that shows its progress."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer, self.name = scorer, scorer.name
        self.fields, self.identity = scorer.fields, scorer.identity
        self.uses_precision = uses_precision(scorer)

    def places(self, question: Question) -> tuple[int, ...]:
        return self.scorer.places(question)

    def score(self, work: Sequence[Work], run: Run) -> Iterator[tuple[int, int, Scores]]:
        total = sum(len(each.wanted) for each in work)
        if not total:
            return
        with shown_progress(self.name) as report:
            for done, found in enumerate(self.scorer.score(work, replace(run)), start=1):
                report(done, total)
                yield found


def _rehearsal(
    scorers: Sequence[Scorer], questions: list[Question], log: Log, run: Run, form: str
) -> str:
    """Return the number of generations that each scorer would score, and their cost."""
    rows: list[dict[str, Any]] = []
    for scorer in scorers:
        work = [each for each in waiting(scorer, questions, log.known, run) if each.wanted]
        n = sum(len(each.wanted) for each in work)
        known = sum(len(scorer.places(question)) for question in questions) - n
        cost = getattr(scorer, "cost", None)
        rows.append(
            {
                "scorer": scorer.name,
                "to_score": n,
                "known": known,
                "fields": list(scorer.fields),
                "cost": cost(work) if cost and work else None,
            }
        )
    generations = sum(len(question.generation) for question in questions)
    if form == "json":
        whole = {"questions": len(questions), "generations": generations, "scorers": rows}
        return json.dumps(whole, ensure_ascii=False) + "\n"
    lines = [f"{len(questions)} questions, {generations} generations"]
    for row in rows:
        fields = ", ".join(row["fields"])
        before = f", {row['known']} known" if row["known"] else ""
        price = f"; {row['cost']}" if row["cost"] else ""
        lines.append(f"{row['scorer']}: {row['to_score']} to score{before} -> {fields}{price}")
    return "\n".join(lines) + "\n"


def _summary(scored: ScoringResult, ranked: Ranked | None, form: str, judgements: Any) -> str:
    whole: dict[str, Any] = {
        "questions": len(scored.questions),
        "scored": scored.made,
        "known": scored.known,
        "failed": [vars(each) for each in scored.failed],
    }
    if ranked is not None:
        categories = Counter(each.category or "not ranked" for each in ranked.questions)
        whole |= {"categories": dict(categories.most_common()), "limits": ranked.limits}
        whole["ranked"] = sum(len(each.rank or ()) > 1 for each in ranked.questions)
    found = None
    if judgements is not None:
        from shroom.annotate.human_agreement import agreement

        found = agreement(ranked.questions if ranked else scored.questions, judgements)
        whole["against"] = found.to_dict()
    if form == "json":
        return json.dumps(whole, ensure_ascii=False, allow_nan=False) + "\n"
    lines = []
    for name, n in scored.made.items():
        known = f", {scored.known[name]} known before" if scored.known[name] else ""
        lines.append(f"{name}: {n} scored{known}")
    if ranked is not None:
        line = ", ".join(f"{n} {word}" for word, n in whole["categories"].items())
        lines += [line, f"{whole['ranked']} rankings of two or more"]
        lines += [f"{word} {value:.4f}" for word, value in ranked.limits.items()]
    if found is not None:
        from shroom.report.agreement import with_people

        lines += ["", with_people(found).rstrip("\n")]
    return "\n".join(lines) + "\n"


def _failures(scored: ScoringResult, most: int = 20) -> list[str]:
    lines = [
        f"item {each.question}: generation[{each.generation}]: {each.scorer}: {each.reason}"
        for each in scored.failed[:most]
    ]
    if len(scored.failed) > most:
        lines.append(f"… and {len(scored.failed) - most} more; --format json lists them all")
    lines.append(
        f"{len(scored.failed)} scores have failed, and the output is without them; to try these "
        "again, add --resume"
    )
    return lines
