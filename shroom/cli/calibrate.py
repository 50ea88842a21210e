"""``shroom calibrate``."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import flag, format_option, is_given, option, refuse_two_pipes
from shroom.cli.output import deliver, say, write_predictions
from shroom.cli.parameter_types import FILE, INPUT, OUTPUT
from shroom.core.atomic_writing import refuse_overwriting
from shroom.core.problems import printable
from shroom.learners.calibrators import METHODS

#: The options of a fit.
_FITTING = ("method", "threshold", "folds", "seed")


@verb(options_metavar="[OPTIONS]")
@click.argument("submission", type=INPUT)
@click.argument("gold", type=INPUT, required=False)
@option("-o --output", "Write the calibrator, or the calibrated submission, to this path.", OUTPUT)
@option(
    "--apply calibrator",
    "Apply this calibrator, instead of fitting one.",
    FILE,
    metavar="CALIBRATOR",
)
@option("--method", "Kind of curve to fit; none leaves p as it is.", METHODS, "platt")
@flag(
    "--threshold/--no-threshold",
    "Fit a threshold for the labels, or leave it at 0.5.",
    default=True,
)
@option("--folds", "Number of folds of the cross-validation.", click.IntRange(2, 1000), 10)
@option("--seed", "Seed of the folds.", click.IntRange(0), 0)
@flag(
    "--in-sample",
    "Allow scoring on gold that the calibrator or the detector was fitted on, with a mark.",
)
@format_option("text", "json", about="Print tables, or one JSON object.")
@edition_option("gold")
def command(submission: str, gold: str | None, **options: Any) -> None:
    """Fit a calibrator and a threshold on SUBMISSION and GOLD, or --apply them to a SUBMISSION.

    Figures for the data that were fitted on are cross-validated.

    Examples
    --------
    shroom calibrate mine/ gold/ -o calibrator.json
    shroom calibrate --apply calibrator.json submission.zip -o calibrated.zip
    shroom calibrate mine/ gold/ --method isotonic --no-threshold -o isotonic.json
    """
    given = SimpleNamespace(**options)
    fits = given.calibrator is None
    refuse_two_pipes(submission, gold)
    if fits and gold is None:
        raise click.UsageError("expected SUBMISSION and GOLD, got 1 argument")
    if given.output is None:
        what = "calibrator" if fits else "calibrated submission"
        raise click.UsageError(f"missing option '-o': name a file for the {what}")
    if gold is not None and fits:
        if given.method == "none" and not given.threshold:
            raise click.UsageError("with --method none and --no-threshold nothing is fitted")
        _fit(submission, gold, given=given)
        return
    for name in filter(is_given, _FITTING):
        raise click.UsageError(f"--{name} belongs to fitting, not to --apply")
    if given.in_sample and gold is None:
        raise click.UsageError("--in-sample is about scores; name the GOLD to score against")
    _apply(submission, gold, given=given)


def _fit(submission: str, gold: str, *, given: SimpleNamespace) -> None:
    from shroom.prediction.calibration.calibrate import calibrate
    from shroom.prediction.calibration.calibrator_file import text_of

    refuse_overwriting([given.output], [submission, gold])
    settings = {name: getattr(given, name) for name in (*_FITTING, "edition", "in_sample")}
    calibration = calibrate(submission, gold, **settings)
    deliver(text_of(calibration.results), given.output)
    _show(calibration, given)
    say(calibration.warnings)
    if not given.in_sample:
        say(_notes(calibration))
    tracks = " and ".join(result.track or "the data" for result in calibration.results)
    say([f"wrote the calibrator of {tracks} to {given.output}"])


def _notes(calibration: Any) -> Iterator[str]:
    """Yield a line for each threshold that lowers the out-of-fold accuracy."""
    for file, result in zip(calibration.files, calibration.results):
        label = result.after.label
        fitted, half = label["accuracy"], label["accuracy_at_half"]
        if fitted is not None and half is not None and fitted < half:
            yield (
                f"note: {printable(file)}: out of fold, labels by the fitted threshold are right "
                f"in {fitted:.3f}, and p > 0.5 in {half:.3f}; see --no-threshold"
            )


def _apply(submission: str, gold: str | None, *, given: SimpleNamespace) -> None:
    from shroom.prediction.calibration import calibration as calibrations
    from shroom.prediction.calibration.calibrator_file import calibrators_in, fitted_for

    fitted = calibrators_in(given.calibrator)
    checked = calibrations.checked_with_texts(submission, gold, given.edition)
    predictions = calibrations.applied(fitted, checked)
    results = [
        calibrations.figures(fitted_for(fitted, track), track, in_sample=given.in_sample)
        for track in checked.aligned
    ]
    write_predictions(predictions, given.output, [given.calibrator, submission, gold])
    if results:
        _show(calibrations.Calibration(results), given)


def _show(figures: Any, given: SimpleNamespace) -> None:
    """Write figures to stdout; to stderr if the result itself has gone to stdout."""
    click.echo(figures.render(given.form), nl=False, err=given.output == "-")
