"""``shroom evaluate``."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import click

from shroom.cli import verb
from shroom.cli.options import ShownPath, interval_options, option
from shroom.cli.output import note, say
from shroom.cli.result_options import Targets, result_options
from shroom.cli.running import if_interrupted, run_options, watched
from shroom.core.paths import cache_folder
from shroom.core.printing import counted
from shroom.evaluation.matrix.datasets import subjects
from shroom.evaluation.matrix.detectors import Store, contenders, split
from shroom.evaluation.matrix.matrix import evaluate
from shroom.inference.run_settings import Run
from shroom.metrics.intervals import Intervals
from shroom.scoring.result import Result


@verb()
@click.argument("detectors", nargs=-1, required=True, metavar="DETECTOR...")
@option(
    "--on",
    "Evaluate on this data set; may be repeated. For a fetched data set, NAME is enough.",
    multiple=True,
    required=True,
    metavar="[NAME[:VIEW]=]PATH",
)
@option(
    "--tune-on",
    "Tune the thresholds on these data without scoring them; may be repeated.  [default: do not "
    "tune]",
    multiple=True,
    metavar="[NAME[:VIEW]=]PATH",
)
@option(
    "--runs",
    "Folder for storing p for later runs.  [default: the user's cache]",
    ShownPath(file_okay=False),
    metavar="FOLDER",
)
@run_options()
@interval_options(1000)
@result_options(html=True)
@click.pass_obj
def command(
    targets: Targets, /, detectors: tuple[str, ...], run: Run, intervals: Intervals, **options: Any
) -> Result:
    """Measure accuracy, balanced accuracy, AUROC, rho and run time of detectors on data sets.

    Every p is stored, so the same command resumes an interrupted run.

    Examples
    --------
    shroom evaluate lexical --on semeval2024=gold/
    shroom evaluate lexical cross-encoder --on val.model-aware.json --html matrix.html
    shroom evaluate lexical --on val.model-aware.json --tune-on val.model-agnostic.json
    """
    chosen = contenders(detectors)
    scored, tuning = subjects(options["on"]), subjects(options["tune_on"])
    named = [path for subject in (*scored, *tuning) for path in subject.paths]
    models = [word for text in detectors for word in (text, text.partition("=")[2]) if word]
    targets.refuse_inputs(*named, *models)
    store = Store(Path(options["runs"] or cache_folder("evaluate")))
    for subject in (*scored, *tuning):
        for text in subject.notes:
            note(text)
        say(subject.problems)
    kept = f"finished results are stored in {store.folder}; to continue, run the same command again"
    with if_interrupted(lambda: kept):
        matrix = evaluate(
            chosen,
            scored,
            store,
            split=split(tuning, scored) if tuning else None,
            intervals=intervals,
            watch=functools.partial(watched, run),
        )
    if store.reused:
        reused = counted(store.reused, "stored result")
        note(f"used {reused} from {store.folder}; to compute everything again, delete this folder")
    return matrix
