"""``shroom calibrate``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import FILE, INPUT, ON_DISK, flag, is_given, option
from shroom.cli.output import deliver, write_predictions
from shroom.cli.result_options import Outcome, result_options
from shroom.core.atomic_writing import check_targets
from shroom.learners.calibrators import METHODS

#: The options of a fit.
_FITTING = ("method", "threshold", "folds", "seed")


@verb(options_metavar="[OPTIONS]")
@click.argument("submission", type=INPUT)
@click.argument("gold", type=INPUT, required=False)
@option(
    "-o --output",
    "Write the calibrator (with --apply: the calibrated submission) to this path.",
    ON_DISK,
    required=True,
)
@option(
    "--apply calibrator",
    "Apply this calibrator instead of fitting one.",
    FILE,
    metavar="CALIBRATOR",
)
@option("--method", "Curve to fit; with 'none', p stays unchanged.", METHODS, "platt")
@flag("--threshold/--no-threshold", "Fit the label threshold, or leave it at 0.5.", default=True)
@option("--folds", "Number of cross-validation folds.", click.IntRange(2, 1000), 10)
@option("--seed", "Random seed for the folds.", click.IntRange(0), 0)
@flag(
    "--in-sample",
    "Accept gold that the calibrator or detector was fitted on, and mark the resulting scores "
    "with a star.",
)
@edition_option("gold")
@result_options("submission", "gold", output=False)
def command(submission: str, gold: str | None, **options: Any) -> Outcome | None:
    """Fit a calibrator on SUBMISSION and GOLD, or (with --apply) apply a fitted calibrator.

    After fitting, the command prints cross-validated scores.

    Examples
    --------
    shroom calibrate mine/ gold/ -o calibrator.json
    shroom calibrate --apply calibrator.json submission.zip -o calibrated.zip
    shroom calibrate mine/ gold/ --method isotonic --no-threshold -o isotonic.json
    """
    given = SimpleNamespace(**options)
    if given.calibrator is None:
        if gold is None:
            raise click.UsageError("expected SUBMISSION and GOLD, got 1 argument")
        return _fit(submission, gold, given=given)
    for name in filter(is_given, _FITTING):
        raise click.UsageError(f"--{name} cannot be combined with --apply")
    return _apply(submission, gold, given=given)


def _fit(submission: str, gold: str, *, given: SimpleNamespace) -> Outcome:
    from shroom.prediction.calibration import calibrate, calibrator_text

    check_targets([given.output], [submission, gold])
    settings = {name: getattr(given, name) for name in (*_FITTING, "edition", "in_sample")}
    calibration = calibrate(submission, gold, **settings)
    deliver(calibrator_text(calibration.results), given.output)
    tracks = " and ".join(result.track or "the data" for result in calibration.results)
    note = f"wrote the calibrator for {tracks} to {given.output}"
    return Outcome(calibration, [calibration.warnings, [note]])


def _apply(submission: str, gold: str | None, *, given: SimpleNamespace) -> Outcome | None:
    from shroom.prediction.calibration import Calibration
    from shroom.prediction.calibration_quality import TrackQuality
    from shroom.prediction.fitted_calibrators import applied, calibrators_in, fitted_for
    from shroom.scoring.check import check

    fitted = calibrators_in(given.calibrator)
    checked = check(submission, gold, edition=given.edition, texts=True)
    checked.raise_for_errors()
    predictions = applied(fitted, checked)
    results = [
        TrackQuality.elsewhere(track, fitted_for(fitted, track), in_sample=given.in_sample)
        for track in checked.aligned
    ]
    write_predictions(predictions, given.output, [given.calibrator, submission, gold])
    return Outcome(Calibration(results)) if results else None
