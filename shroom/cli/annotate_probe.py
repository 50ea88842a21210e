"""``shroom annotate probe``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from shroom.annotate.probe.hidden_states import MODES, POSITIONS
from shroom.cli import group
from shroom.cli.annotate_run import has_ended, read_questions, run_scorers
from shroom.cli.options import format_option, interval_options, usage_errors
from shroom.cli.output import deliver, if_interrupted, note, say, say_alike
from shroom.cli.parameter_types import FOLDER, INPUT, OUTPUT
from shroom.cli.progress import shown_progress
from shroom.cli.run_options import run_options
from shroom.core.atomic_writing import refuse_overwriting, refuse_unwritable, write_atomically
from shroom.core.problems import ShroomError, printable
from shroom.inference.resume_log import PARTIAL
from shroom.inference.run_settings import Run
from shroom.metrics.intervals import Intervals
from shroom.report.figure_files import FORMATS


def _layers(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...]:
    """Return the layers that ``--layers N,N`` names; none for all."""
    del ctx
    try:
        return tuple(map(int, value.split(","))) if value else ()
    except ValueError as error:
        expected = "expected numbers of layers, separated by commas"
        raise click.BadParameter(f"{expected}, got {printable(str(value))}", param=param) from error


@group(
    "shroom annotate probe train labelled.jsonl --model ./lm -o my-probe",
    "shroom annotate probe score questions.jsonl --probe my-probe -o scored.jsonl",
    "shroom annotate probe report my-probe --html probe.html",
)
def command() -> None:
    """Predict from a language model's hidden states which questions it can answer.

    A linear probe learns from questions that the model answers all right or all wrong, as
    'shroom annotate run' finds out.
    """


@command.verb(
    "train",
    "shroom annotate probe train labelled.jsonl --model ./lm -o my-probe",
    "shroom annotate probe train labelled.jsonl --model ./lm --layers 1,2 -o two-layers",
)
@click.argument("questions", type=INPUT, nargs=-1, required=True)
@click.option(
    "--model", required=True, help="Causal language model: a folder, or a name on the hub."
)
@click.option("--revision", help="Commit, tag or branch of the model on the hub.")
@click.option(
    "-o", "--output", type=OUTPUT, required=True, help="Write states and probe to this folder."
)
@click.option(
    "--layers",
    callback=_layers,
    help="Numbers of layers, separated by commas: 0 for the embeddings, -1 for the last.  "
    "[default: all]",
)
@click.option(
    "--position",
    type=click.Choice(POSITIONS),
    default=POSITIONS[0],
    help="Read the states at the question's last token, or at the last one before the answer.",
)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    help="Use the chat template, or the plain prompt.  [default: chat if there is a template]",
)
@click.option("--prompt", help="Prompt of the model, with {question} in it, once.")
@click.option(
    "--folds",
    type=click.IntRange(2, 100),
    default=5,
    help="Number of folds of the cross-validation.",
)
@run_options(precision=False)
@click.option("--resume", is_flag=True, help="Use the states that an earlier run has stored.")
@interval_options(1000)
@format_option("text", "json", about="Print a table, or one JSON object.")
def _train(
    *,
    questions: tuple[str, ...],
    output: str,
    run: Run,
    resume: bool,
    intervals: Intervals,
    form: str,
    **settings: Any,
) -> None:
    """Train a probe on QUESTIONS with categories, and report cross-validated figures by layer.

    The folder gets the probe of the best layer.
    """
    from shroom.annotate.probe.train import Plan, make

    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise ShroomError(f"{output}: is not a folder; name one, or a new one")
    with usage_errors():
        plan = Plan(how=intervals, **settings)
    examples = read_questions(*questions)
    with shown_progress("probe") as report:
        run = replace(run, report=lambda done, total: report(done, total, "states"), note=note)

        def fitted(done: int, total: int) -> None:
            report(done, total, "layers")

        with if_interrupted(
            lambda: f"the states read so far are kept in {output}; to go on, add --resume"
        ):
            saved = make(examples, plan, folder, run, fitted, resume=resume)
    say([f"wrote the probe of layer {saved.layer} to {output}"])
    click.echo(saved.render(form), nl=False)


@command.verb(
    "score", "shroom annotate probe score questions.jsonl --probe my-probe -o scored.jsonl"
)
@click.argument("questions", type=INPUT, nargs=-1, required=True)
@click.option(
    "--probe",
    required=True,
    type=INPUT,
    help="Folder that 'train' wrote, or a probe.pt of the program Dreamcatcher.",
)
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    required=True,
    help="Write the questions with probe_score to this file.",
)
@click.option("--model", help="Language model, for a probe.pt, or if it was moved since.")
@click.option("--layer", type=int, help="Layer that a probe.pt reads; by default that in its name.")
@run_options(precision=False)
@click.option("--resume", is_flag=True, help="Continue an interrupted run.")
def _score(
    *,
    questions: tuple[str, ...],
    probe: str,
    output: str,
    model: str | None,
    layer: int | None,
    run: Run,
    resume: bool,
) -> int:
    """Add probe_score, p(the model knows the answer), to each generation of QUESTIONS."""
    from shroom.annotate.run_scorers import Log
    from shroom.annotate.scorers.probe import Probe
    from shroom.datasets.dreamcatcher.reader import write

    if output == "-":
        raise click.BadParameter("the questions go to a file", param_hint="--output")
    log = Log(f"{output}{PARTIAL}", resume=resume).read()
    refuse_overwriting([output, log.path], [*questions, probe])
    scorer = Probe(probe, model, layer)
    rows = read_questions(*questions)
    if resume and has_ended(log.path, [Path(output)], rows, [scorer]):
        return 0
    result = run_scorers([scorer], rows, log, run)
    write_atomically(output, write(result.questions))
    log.remove()
    reasons = {failure.question: failure.reason for failure in result.failed}
    say_alike(f"item {row}: has no probe_score: {reason}" for row, reason in reasons.items())
    say([f"wrote {len(rows)} questions to {output}, {len(rows) - len(reasons)} of them scored"])
    return 1 if reasons else 0


@command.verb(
    "report",
    "shroom annotate probe report my-probe --html probe.html",
    "shroom annotate probe report my-probe -o layers.svg --format json",
)
@click.argument("folder", type=FOLDER)
@format_option("text", "json", about="Print a table, or one JSON object.")
@click.option("--html", type=OUTPUT, help="Also write a self-contained page to this file.")
@click.option(
    "-o", "--output", type=OUTPUT, help="Also write a figure to this .svg, .pdf or .png file."
)
def _report(*, folder: str, form: str, html: str | None, output: str | None) -> None:
    """Show the results of training the probe in FOLDER."""
    from shroom.annotate.probe.saved_probe import SavedProbe
    from shroom.report.figure_files import file

    kind = Path(output or ".svg").suffix.lower().removeprefix(".") or "svg"
    if output is not None and kind not in FORMATS:
        raise click.UsageError(f"{output}: name a file that ends in .svg, .pdf or .png")
    saved = SavedProbe.load(Path(folder))
    targets = [path for path in (html, output) if path]
    refuse_overwriting(targets, [folder])
    refuse_unwritable(Path(path) for path in targets if path != "-")
    if output is not None:
        from shroom.core.extras import require

        require("report", "matplotlib")
        write_atomically(output, file(saved.panels()["layers"], kind))
    if html is not None:
        deliver(saved.render("html"), html)
    click.echo(saved.render(form), nl=False)
