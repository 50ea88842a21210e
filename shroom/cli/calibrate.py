"""``shroom calibrate``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import format_option, refuse_two_pipes
from shroom.cli.output import deliver, note, say
from shroom.cli.parameter_types import FILE, INPUT, OUTPUT
from shroom.core.atomic_writing import refuse_overwriting
from shroom.core.printing import counted
from shroom.core.problems import printable
from shroom.learners.calibrators import METHODS
from shroom.scoring.editions.edition import Edition

if TYPE_CHECKING:
    from shroom.prediction.calibration.calibration import Calibration


@verb(
    "shroom calibrate mine/ gold/ -o calibrator.json",
    "shroom calibrate --apply calibrator.json submission.zip -o calibrated.zip",
    "shroom calibrate mine/ gold/ --method isotonic --no-threshold -o isotonic.json",
    options_metavar="[OPTIONS]",
)
@click.argument("arguments", nargs=-1, required=True, metavar="SUBMISSION [GOLD]")
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    help="Write the calibrator, or the calibrated submission, to this path.",
)
@click.option(
    "--apply",
    "calibrator",
    type=FILE,
    metavar="CALIBRATOR",
    help="Apply this calibrator, instead of fitting one.",
)
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="platt",
    help="Kind of curve to fit; none leaves p as it is.",
)
@click.option(
    "--threshold/--no-threshold",
    default=True,
    help="Fit a threshold for the labels, or leave it at 0.5.",
)
@click.option(
    "--folds",
    type=click.IntRange(2, 1000),
    default=10,
    help="Number of folds of the cross-validation.",
)
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed of the folds.")
@click.option(
    "--in-sample",
    is_flag=True,
    help="Allow scoring on gold that the calibrator or the detector was fitted on, with a mark.",
)
@format_option("text", "json", about="Print tables, or one JSON object.")
@edition_option("arguments", after=1)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    arguments: tuple[str, ...],
    output: str | None,
    calibrator: str | None,
    in_sample: bool,
    form: str,
    edition: Edition,
    **fitting: Any,
) -> None:
    """Fit a calibrator and a threshold on SUBMISSION and GOLD, or --apply them to a SUBMISSION.

    Figures for the data that were fitted on are cross-validated.
    """
    submission, gold = _submission_and_gold(arguments, fitting=calibrator is None)
    if output is None:
        what = "calibrator" if calibrator is None else "calibrated submission"
        raise click.UsageError(f"missing option '-o': name a file for the {what}")
    if calibrator is None:
        if fitting["method"] == "none" and not fitting["threshold"]:
            raise click.UsageError("with --method none and --no-threshold nothing is fitted")
        fitting |= {"edition": edition, "in_sample": in_sample}
        _fit(submission, str(gold), output, form, fitting)
        return
    for name in fitting:
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} belongs to fitting, not to --apply")
    if in_sample and gold is None:
        raise click.UsageError("--in-sample is about scores; name the GOLD to score against")
    _apply(calibrator, submission, gold, output, form, edition, in_sample=in_sample)


def _submission_and_gold(arguments: tuple[str, ...], *, fitting: bool) -> tuple[str, str | None]:
    counts = (2,) if fitting else (1, 2)
    if len(arguments) not in counts:
        expected = "SUBMISSION and GOLD" if fitting else "SUBMISSION, and perhaps GOLD"
        raise click.UsageError(f"expected {expected}, got {counted(len(arguments), 'argument')}")
    first, *rest = (INPUT.convert(path, None, None) for path in arguments)
    refuse_two_pipes(first, *rest)
    return first, rest[0] if rest else None


def _fit(submission: str, gold: str, output: str, form: str, settings: dict[str, Any]) -> None:
    from shroom.prediction.calibration.calibrate import calibrate
    from shroom.prediction.calibration.calibrator_file import text_of

    refuse_overwriting([output], [submission, gold])
    calibration = calibrate(submission, gold, **settings)
    deliver(text_of(calibration.results), output)
    _show(calibration, form, output)
    say(calibration.warnings)
    if not settings["in_sample"]:
        say(_notes(calibration))
    tracks = " and ".join(result.track or "the data" for result in calibration.results)
    say([f"wrote the calibrator of {tracks} to {output}"])


def _notes(calibration: Calibration) -> Iterator[str]:
    """Yield a line for each threshold that lowers the out-of-fold accuracy."""
    for file, result in zip(calibration.files, calibration.results):
        label = result.after.label
        fitted, half = label["accuracy"], label["accuracy_at_half"]
        if fitted is not None and half is not None and fitted < half:
            yield (
                f"note: {printable(file)}: out of fold, labels by the fitted threshold are right "
                f"in {fitted:.3f}, and p > 0.5 in {half:.3f}; see --no-threshold"
            )


def _apply(
    calibrator: str,
    submission: str,
    gold: str | None,
    output: str,
    form: str,
    edition: Edition,
    *,
    in_sample: bool,
) -> None:
    from shroom.prediction.calibration import calibration as calibrations
    from shroom.prediction.calibration.calibrator_file import calibrators_in, fitted_for

    fitted = calibrators_in(calibrator)
    checked = calibrations.with_texts(submission, gold, edition)
    predictions = calibrations.applied(fitted, checked)
    results = [
        calibrations.figures(fitted_for(fitted, track), track, in_sample=in_sample)
        for track in checked.aligned
    ]
    if warning := predictions.write(output, [calibrator, submission, gold]):
        note(warning)
    if results:
        _show(calibrations.Calibration(results), form, output)
    say(checked.problems)
    say([f"wrote {predictions.n} predictions to {output}"])


def _show(figures: Calibration, form: str, output: str) -> None:
    """Write figures to stdout; to stderr where the result itself has gone to stdout."""
    text = figures.render(form)
    if output == "-":
        click.echo(text, nl=False, err=True)
    else:
        deliver(text, None)
