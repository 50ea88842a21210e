"""``shroom annotate probe``."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from shroom.annotate.base import Scorer, ScoringResult, score
from shroom.annotate.generations import read
from shroom.annotate.hidden_states import POSITIONS
from shroom.cli import group
from shroom.cli.options import FOLDER, INPUT, ON_DISK, flag, interval_options, option
from shroom.cli.output import note, read_aloud, say, say_alike
from shroom.cli.result_options import result_options
from shroom.cli.running import (
    RESUME,
    if_interrupted,
    is_finished,
    partial_of,
    resumable,
    run_options,
    shown_progress,
    watched,
)
from shroom.core.atomic_writing import write_atomically
from shroom.core.printing import counted
from shroom.core.problems import ShroomError, printable
from shroom.datasets.dreamcatcher import Question
from shroom.inference.run_settings import Run
from shroom.metrics.intervals import Intervals
from shroom.scoring.result import Result

_ABOUT = "Print a table, or one JSON object."


def _layers(text: str | None) -> tuple[int, ...]:
    """Return the layers of ``--layers N,N``; an empty tuple means all."""
    try:
        return tuple(map(int, text.split(","))) if text else ()
    except ValueError as error:
        expected = "expected layer numbers separated by commas"
        raise ShroomError(f"{expected}, got {printable(str(text))}") from error


@group()
def command() -> None:
    """Use a language model's hidden states to predict which questions the model can answer.

    A linear probe is trained on questions whose answers are all correct or all incorrect, according
    to 'shroom annotate run'.

    Examples
    --------
    shroom annotate probe train labelled.jsonl --model ./lm -o my-probe
    shroom annotate probe score questions.jsonl --probe my-probe -o scored.jsonl
    shroom annotate probe report my-probe --html probe.html
    """


@command.command("train")
@click.argument("questions", type=INPUT, nargs=-1, required=True)
@option(
    "--model", "Causal language model: a folder, or a name on the Hugging Face Hub.", required=True
)
@option("--revision", "Commit, tag or branch of the model on the hub.")
@option(
    "-o --output", "Write the hidden states and the probe to this folder.", ON_DISK, required=True
)
@option(
    "--layers",
    "Layers, such as 0,8,-1: 0 stands for the embeddings, and -1 for the last layer.  [default: "
    "all layers]",
    parse=_layers,
)
@option(
    "--position",
    "Read the hidden states at the question's last token, or at the last token before the answer.",
    POSITIONS,
    POSITIONS[0],
)
@option("--folds", "Number of cross-validation folds.", click.IntRange(2, 100), 5)
@run_options(precision=False)
@flag("--resume", "Use the hidden states that an earlier run has stored.")
@interval_options(1000)
@result_options("questions", about=_ABOUT, output=False)
def _train(
    *, questions: tuple[str, ...], output: str, run: Run, intervals: Intervals, **settings: Any
) -> Result:
    """Train one probe per layer on those QUESTIONS that have categories.

    The output is a report of cross-validated scores by layer, and a folder with the best probe.

    Examples
    --------
    shroom annotate probe train labelled.jsonl --model ./lm -o my-probe
    shroom annotate probe train labelled.jsonl --model ./lm --layers 1,2 -o two-layers
    """
    from shroom.annotate.probe_training import make

    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise ShroomError(f"{output} is not a folder; choose a folder")
    examples = read_aloud(read, *questions)
    kept = f"the hidden states computed so far are stored in {output}; to continue, add --resume"
    with watched(run, "probe") as shown, if_interrupted(lambda: kept):
        saved = make(examples, folder, shown, how=intervals, **settings)
    say([f"wrote the probe for layer {saved.layer} to {output}"])
    return saved


@command.command("score")
@click.argument("questions", type=INPUT, nargs=-1, required=True)
@option(
    "--probe",
    "Folder written by 'annotate probe train', or a probe.pt file from the Dreamcatcher program.",
    INPUT,
    required=True,
)
@option("-o --output", "Write the scored questions to this file.", ON_DISK, required=True)
@option(
    "--model",
    "Language model for the probe; required if the probe is a probe.pt file or the model was "
    "moved.",
)
@option("--layer", "Layer for a probe.pt file.", int)
@run_options(precision=False)
@RESUME
def _score(
    *, questions: tuple[str, ...], probe: str, output: str, run: Run, resume: bool, **model: Any
) -> int:
    """Add a probe_score to each generation in QUESTIONS.

    The probe_score is the probability that the model knows the answer.

    Examples
    --------
    shroom annotate probe score questions.jsonl --probe my-probe -o scored.jsonl
    """
    from shroom.annotate.probe import Probe
    from shroom.datasets.dreamcatcher import write

    partial = partial_of(output, [*questions, probe])
    scorer = Probe(probe, **model)
    rows = read_aloud(read, *questions)
    if is_finished(output, partial, resume=resume):
        return 0
    with scored([scorer], rows, partial, run, resume=resume) as result:
        write_atomically(output, write(result.questions))
    reasons = {failure.question: failure.reason for failure in result.failed}
    say_alike(f"item {row}: no probe_score: {reason}" for row, reason in reasons.items())
    n = counted(len(rows), "question")
    say([f"wrote {n} to {output}; scored: {len(rows) - len(reasons)}"])
    return 1 if reasons else 0


@command.command("report")
@click.argument("folder", type=FOLDER)
@result_options("folder", about=_ABOUT, html=True)
def _report(folder: str) -> Result:
    """Show the training results of the probe in FOLDER.

    Examples
    --------
    shroom annotate probe report my-probe --html probe.html
    shroom annotate probe report my-probe --format json -o probe.json
    """
    from shroom.annotate.saved_probe import SavedProbe

    return SavedProbe.load(Path(folder))


@contextmanager
def scored(
    scorers: Sequence[Scorer], questions: list[Question], partial: Path, run: Run, *, resume: bool
) -> Iterator[ScoringResult]:
    """Provide the result of scorers; store scores until the context ends or if any failed."""
    if not scorers:
        yield score(questions, scorers)
        return
    with resumable(partial, "score", resume=resume, refuse=True) as store:
        run = replace(run, note=functools.cache(note))
        result = score(questions, scorers, store, run, shown_progress)
        store.unfinished = bool(result.failed)
        yield result
