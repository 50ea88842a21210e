"""``shroom evaluate``."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shroom.cli import Command
from shroom.cli.options import format_option, interval_options
from shroom.cli.output import deliver, deliver_page, say
from shroom.cli.parameter_types import OUTPUT, ShownPath
from shroom.cli.progress import shown_progress
from shroom.cli.run_options import run_options
from shroom.core.atomic_writing import refuse_overwriting
from shroom.core.paths import cache_folder
from shroom.core.problems import ShroomError, printable
from shroom.evaluation.matrix.datasets import subjects
from shroom.evaluation.matrix.detectors import contenders
from shroom.evaluation.matrix.matrix import evaluate
from shroom.evaluation.matrix.prediction_store import Store
from shroom.evaluation.matrix.threshold_tuning import MEASURES, split

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shroom.evaluation.matrix.datasets import Subject
    from shroom.evaluation.matrix.matrix import Matrix
    from shroom.inference.run_settings import Run
    from shroom.metrics.intervals import Intervals


@click.command(
    cls=Command,
    examples=(
        "shroom evaluate lexical --on semeval2024=gold/",
        "shroom evaluate lexical cross-encoder --on val.model-aware.json --html matrix.html",
        "shroom evaluate lexical --on val.model-aware.json --tune-on val.model-agnostic.json",
    ),
)
@click.argument("detectors", nargs=-1, required=True, metavar="DETECTOR...")
@click.option(
    "--on",
    multiple=True,
    required=True,
    metavar="[NAME[:VIEW]=]PATH",
    help="Data set, or further files of one; may be repeated. Only NAME if it was fetched.",
)
@format_option("text", "json", about="Print tables, or one JSON object.")
@click.option("-o", "--output", type=OUTPUT, help="Write to this file instead of stdout.")
@click.option("--html", type=OUTPUT, help="Also write a self-contained page to this file.")
@click.option(
    "--tune-on",
    multiple=True,
    metavar="[NAME[:VIEW]=]PATH",
    help="Tune the thresholds on these data, which are not scored. [default: the detectors' own]",
)
@click.option(
    "--tune-for",
    type=click.Choice(list(MEASURES)),
    default=next(iter(MEASURES)),
    show_default=True,
    help="Metric that the thresholds are tuned for.",
)
@click.option(
    "--runs",
    type=ShownPath(file_okay=False),
    metavar="FOLDER",
    help="Folder that stores p, to continue from.  [default: OUTPUT.runs, or the user's cache]",
)
@click.option("--fresh", is_flag=True, help="Compute all p again, even those that are stored.")
@run_options()
@interval_options(1000)
def command(
    *,
    detectors: tuple[str, ...],
    on: tuple[str, ...],
    form: str,
    output: str | None,
    html: str | None,
    tune_on: tuple[str, ...],
    tune_for: str,
    runs: str | None,
    fresh: bool,
    run: Run,
    intervals: Intervals,
) -> None:
    """Evaluate each DETECTOR on each data set: accuracy, balanced accuracy, AUROC, rho and time.

    Every p is stored, so the same command resumes an interrupted run.
    """
    targets = [path for path in (output, html) if path]
    if len({os.path.realpath(path) for path in targets}) < len(targets) or html == "-":
        raise click.UsageError("the page (--html) needs a file of its own")
    for path in targets:
        if Path(path).is_dir():
            raise click.UsageError(f"{path} is a folder; name a file")
    chosen = contenders(detectors)
    scored, tuning = subjects(on), subjects(tune_on)
    named = [path for subject in (*scored, *tuning) for path in subject.paths]
    models = [word for text in detectors for word in (text, text.partition("=")[2]) if word]
    refuse_overwriting(targets, [*named, *models])
    store = Store(_folder(runs, output, named), fresh=fresh)
    for subject in (*scored, *tuning):
        say(f"note: {printable(note)}" for note in _notes(subject))

    @contextmanager
    def watch(label: str) -> Iterator[Run]:
        with shown_progress(label) as report:
            yield replace(run, report=report, note=lambda text: say([f"note: {text}"]))

    try:
        matrix = evaluate(
            chosen,
            scored,
            store,
            split=split(tuning, scored, tune_for) if tuning else None,
            intervals=intervals,
            watch=watch,
        )
    except KeyboardInterrupt:
        say([f"what was computed is kept in {store.folder}; the same command goes on from there"])
        raise
    if store.reused:
        source = f"{store.reused} results were taken from {store.folder}"
        say([f"note: {source}; --fresh computes them again"])
    if html:
        from shroom.report.matrix import page

        deliver_page(page(matrix), html, [*named, *models])
    deliver(render(matrix, form), output)


def render(matrix: Matrix, form: str) -> str:
    """Return a matrix in one of the forms."""
    if form == "json":
        return json.dumps(matrix.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"
    from shroom.report.matrix import text

    return text(matrix)


def _notes(subject: Subject) -> Iterator[str]:
    """Yield the notes on a data set, its many warnings as one."""
    yield from subject.notes
    problems = subject.problems
    if problems.warnings:
        paths, codes = " ".join(subject.paths), ", ".join(sorted(problems.codes))
        yield (
            f"{subject.name}: oddities in its files: {problems.warnings} [{codes}]; to see them: "
            f"shroom datasets describe {subject.dataset} {paths} --all"
        )


def _folder(runs: str | None, output: str | None, inputs: Sequence[str]) -> Path:
    """Return the folder that keeps p; never one among data, which would be read with it."""
    if runs is None and (output is None or output == "-"):
        folder = cache_folder("evaluate")
    else:
        folder = Path(runs or f"{output}.runs")
    real = folder.resolve()
    for path in inputs:
        data = Path(path).resolve()
        if real == data or data in real.parents:
            raise ShroomError(f"{folder}: is in {path}, which is data; name another with --runs")
    return folder
