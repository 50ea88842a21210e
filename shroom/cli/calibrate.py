"""``shroom calibrate``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from shroom.cli.edition_choice import (
    edition_option,
)
from shroom.cli.options import (
    COLUMNS_OPTION,
    format_option,
    refuse_two_pipes,
)
from shroom.cli.output import deliver, note, say
from shroom.cli.parameter_types import FILE, INPUT, OUTPUT
from shroom.core.atomic_writing import prepare, refuse_overwriting, write_files
from shroom.core.problems import ShroomError, printable
from shroom.learners.calibrators import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shroom.prediction.calibration.calibrate import FitSettings
    from shroom.prediction.calibration.quality import Calibration
    from shroom.scoring.check import Checked
    from shroom.scoring.editions.edition import Edition

EXAMPLES = """\b
Examples:
  shroom calibrate val.model-aware.json gold.json -o calibrator.json
  shroom calibrate val_submission/ gold/ --method isotonic -o calibrator.json
  shroom calibrate --apply calibrator.json test_submission.zip -o calibrated.zip
  shroom calibrate --apply calibrator.json test.model-aware.json gold.json -o out.json
"""

#: Options of fitting only.
_FITTING = ("method", "threshold", "folds", "seed")


@click.command(epilog=EXAMPLES, options_metavar="[OPTIONS]")
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
    show_default=True,
    help="Kind of curve to fit; none leaves p as it is.",
)
@click.option(
    "--threshold/--no-threshold",
    default=True,
    help="Fit a threshold for the labels (the default), or leave it at 0.5.",
)
@click.option(
    "--folds",
    type=click.IntRange(2, 1000),
    default=10,
    show_default=True,
    help="Number of folds of the cross-validation.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the folds."
)
@click.option(
    "--in-sample",
    is_flag=True,
    help="Allow scoring on gold that the calibrator or the detector was fitted on, with a mark.",
)
@format_option("text", "json", about="Print tables, or one JSON object.")
@edition_option("arguments")
@COLUMNS_OPTION
@click.pass_context
def command(
    ctx: click.Context,
    *,
    arguments: tuple[str, ...],
    output: str | None,
    calibrator: str | None,
    method: str,
    threshold: bool,
    folds: int,
    seed: int,
    in_sample: bool,
    form: str,
    edition: Edition,
) -> None:
    """Fit a calibrator and a threshold on SUBMISSION and GOLD, or --apply them to SUBMISSION.

    Fitting needs GOLD, takes each track by itself, and shows figures from cross-validation.
    Applying writes SUBMISSION anew, with other p and labels; with GOLD, which must not be the one
    that was fitted on, it shows figures before and after.
    """
    from shroom.prediction.calibration.calibrate import FitSettings

    submission, gold = _submission_and_gold(arguments, fitting=calibrator is None)
    if output is None:
        what = "calibrator" if calibrator is None else "calibrated submission"
        raise click.UsageError(f"missing option '-o': name a file for the {what}")
    if calibrator is None:
        if method == "none" and not threshold:
            raise click.UsageError("with --method none and --no-threshold nothing is fitted")
        assert gold is not None  # noqa: S101 - for mypy
        settings = FitSettings(method, threshold, folds, seed, in_sample)
        _fit(submission, gold, output, settings, form, edition)
        return
    for name in _FITTING:
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} belongs to fitting, not to --apply")
    if in_sample and gold is None:
        raise click.UsageError("--in-sample is about scores; name the GOLD to score against")
    _apply(calibrator, submission, gold, output, form, edition, in_sample=in_sample)


def _submission_and_gold(arguments: tuple[str, ...], *, fitting: bool) -> tuple[str, str | None]:
    counts = (2,) if fitting else (1, 2)
    if len(arguments) not in counts:
        expected = "SUBMISSION and GOLD" if fitting else "SUBMISSION, and perhaps GOLD"
        raise click.UsageError(f"expected {expected}, got {len(arguments)} arguments")
    first, *rest = (INPUT.convert(path, None, None) for path in arguments)
    refuse_two_pipes(first, *rest)
    return first, rest[0] if rest else None


def _fit(
    submission: str, gold: str, output: str, settings: FitSettings, form: str, edition: Edition
) -> None:
    from shroom.prediction.calibration.calibrate import fit
    from shroom.prediction.calibration.calibrator_file import text_of

    refuse_overwriting([output], [submission, gold])
    checked = _checked(submission, gold, edition)
    _, figures = fit(checked.aligned, settings)
    deliver(text_of(figures), output)
    _show(figures, form, output)
    say(checked.problems)
    if not settings.in_sample:
        say(_notes(checked, figures))
    tracks = " and ".join(result.track or "the data" for result in figures.results)
    say([f"wrote the calibrator of {tracks} to {output}"])


def _notes(checked: Checked, figures: Calibration) -> Iterator[str]:
    """Yield a line for each threshold that lowers the out-of-fold accuracy."""
    for track, result in zip(checked.tracks, figures.results):
        label = result.after.label
        fitted, half = label["accuracy"], label["accuracy_at_half"]
        if fitted is not None and half is not None and fitted < half:
            yield (
                f"note: {printable(track.predictions.file)}: out of fold, labels by the fitted "
                f"threshold are right in {fitted:.3f}, and p > 0.5 in {half:.3f}; see "
                "--no-threshold"
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
    from shroom.prediction.calibration.calibrate import apply
    from shroom.prediction.calibration.calibrator_file import fitted_for, fitted_in
    from shroom.prediction.calibration.quality import Calibration
    from shroom.prediction.run_record import mark_in_sample, record_path
    from shroom.prediction.submission_rows import check_output, name_for, text_of

    try:
        fitted = fitted_in(Path(calibrator).read_text(encoding="utf-8-sig"), calibrator)
    except UnicodeDecodeError as error:
        raise ShroomError(
            f"{calibrator}: is not a calibrator of `shroom calibrate`: not text"
        ) from error
    checked = _checked(submission, gold, edition)
    inputs = [calibrator, submission, gold]
    contents: dict[str, str] = {}
    marks: dict[str, int] = {}
    for track in checked.tracks:
        predictions = track.predictions
        label, p = fitted_for(fitted, track)(predictions.p)
        name = name_for(track.name, output, predictions.file, edition)
        text = text_of(label, p, predictions.ids, id_key=edition.item.id_key)
        contents[name], marks[name] = text, track.in_sample
    results = [
        apply(fitted_for(fitted, track), track, in_sample=in_sample) for track in checked.aligned
    ]
    prepare(output, list(contents), inputs)
    record_path(output)  # refuses a file of the user's
    check_output(contents, edition)
    write_files(output, contents, inputs)
    if warning := mark_in_sample(output, "shroom calibrate --apply", marks):
        note(warning)
    if results:
        _show(Calibration(results), form, output)
    say(checked.problems)
    say([f"wrote {sum(track.predictions.n for track in checked.tracks)} predictions to {output}"])


def _checked(submission: str, gold: str | None, edition: Edition) -> Checked:
    """Return a submission that has passed the check, its gold's texts read where they matter."""
    from shroom.core.problems import Problems
    from shroom.scoring.check import check, read_table
    from shroom.scoring.input_files import documents
    from shroom.scoring.table import Role

    checked = check(submission, gold, edition=edition)
    checked.raise_for_errors()
    if gold is None or gold == "-":
        return checked
    # Without ids, texts distinguish gold from other gold whose rows are in another order.
    for document in documents(gold, Problems(), edition):
        for track in checked.tracks:
            if track.gold and track.gold.file == document.file and track.gold.ids is None:
                table = read_table(document, Role.GOLD, Problems(), edition, texts=True)
                track.gold.texts = table.texts if table else None
    return checked


def _show(figures: Calibration, form: str, output: str) -> None:
    """Write figures to stdout; to stderr where the result itself has gone to stdout."""
    if form == "json":
        text = json.dumps(figures.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"
    else:
        from shroom.report.calibration import render

        text = render(figures)
    if output == "-":
        click.echo(text, nl=False, err=True)
    else:
        deliver(text, None)
