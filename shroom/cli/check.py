"""``shroom check``."""

from __future__ import annotations

import click

from shroom.cli import verb
from shroom.cli.edition_choice import EDITION_OR_DATA_SET, SHROOM, form_of_gold
from shroom.cli.options import COLUMNS_OPTION, LABELS_OPTION, format_option, refuse_two_pipes
from shroom.cli.output import json_text, note, say
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.core.printing import counted, printable
from shroom.core.problems import Problems, ShroomError
from shroom.scoring.align import AlignedTrack
from shroom.scoring.check import check
from shroom.scoring.editions.edition import Edition
from shroom.scoring.verdict import Checked


@verb(
    "shroom check submission.zip",
    "shroom check mine/ --gold gold/",
    "shroom check other-names.csv --columns p=score,label=verdict --fix fixed.json",
)
@click.argument("submissions", metavar="SUBMISSION...", type=INPUT, nargs=-1, required=True)
@click.option(
    "--gold", type=INPUT, help="Labelled data, to check ids, count, order and direction against."
)
@click.option("--data", type=INPUT, help="Unlabelled data, to check ids, count and order against.")
@click.option(
    "--fix",
    "out",
    type=OUTPUT,
    help="Write the fixed submission to this file, folder or zip, unless errors remain.",
)
@EDITION_OR_DATA_SET
@COLUMNS_OPTION
@LABELS_OPTION
@click.option("--official", is_flag=True, help="Check what the organisers' programs accept.")
@format_option("text", "json", about="Print one line for each problem, or one JSON object.")
def command(
    *,
    submissions: tuple[str, ...],
    gold: str | None,
    data: str | None,
    out: str | None,
    edition: str | None,
    official: bool,
    form: str,
) -> int:
    """Report everything that is wrong with SUBMISSION, and how to fix it.

    With --fix, correct every unambiguous mistake and write the result as JSON.
    """
    refuse_two_pipes(*submissions, gold, data)
    if gold and data:
        raise click.UsageError("give --gold or --data, not both")
    if official and (data or out):
        raise click.UsageError("--official goes with --gold alone")
    if official and gold and "-" in submissions:
        raise click.UsageError("--official with --gold reads twice, so nothing can be a pipe")
    if len(submissions) > 1 and (out or form == "json"):
        raise click.UsageError("--fix and --format json go with one SUBMISSION")
    codes = []
    for submission in submissions:
        if len(submissions) > 1:
            click.echo(f"{printable(submission)}: ", nl=False)
        sources = submission, gold, data
        codes.append(_check(*sources, out, edition, form, official=official))
    return max(codes)


def _check(
    submission: str,
    gold: str | None,
    data: str | None,
    out: str | None,
    named: str | None,
    form: str,
    *,
    official: bool,
) -> int:
    """Check one submission, and return the exit code."""
    name, edition = form_of_gold(named, submission, gold, data)
    if official:
        who = "checker and scorer accept" if gold else "checker accepts"
        return _report(
            _official(submission, gold, name if name != SHROOM else edition.name),
            form,
            f"the organisers' {who} it",
        )
    if name != SHROOM:
        if gold is None or data or out:
            raise click.UsageError(f"predictions for {name} are checked with --gold, without --fix")
        from shroom.datasets import native_scores

        return _report(native_scores.check(name, submission, gold), form, f"for {name}")
    if out is not None:
        return _fix(submission, gold, data, out, form, edition)
    checked = check(submission, gold, data=data, edition=edition)
    code = _report(checked.problems, form, _summary(checked))
    if checked.problems.codes and "-" not in (submission, gold, data):
        _offer_to_fix(checked.problems.codes, submission, gold, data, edition)
    return code


def _report(problems: Problems, form: str, summary: str, *, aside: bool = False) -> int:
    """Print problems and verdict, to stderr if ``aside``, and return the exit code."""
    say(problems)
    if form == "json":
        click.echo(json_text(problems.to_dict()), nl=False, err=aside)
    else:
        counts = f"{counted(problems.errors, 'error')}, {counted(problems.warnings, 'warning')}"
        verdict = "not valid: " if problems.errors else f"valid: {summary}; "
        click.echo(verdict + counts, err=aside)
    return 1 if problems.errors else 0


def _offer_to_fix(
    codes: set[str], submission: str, gold: str | None, data: str | None, edition: Edition
) -> None:
    """Say what --fix would correct, if it would write."""
    from shroom.scoring.fix import FIXABLE, fix_submission

    if codes.isdisjoint(FIXABLE):
        return
    fixed = fix_submission(submission, gold, data=data, edition=edition)
    corrected = sorted(codes - fixed.checked.problems.codes)
    if corrected and not fixed.obstacle:
        note(f"--fix FILE writes a copy without {', '.join(corrected)}")


def _summary(checked: Checked) -> str:
    """Return the tracks of a submission, and why one without a split was taken for its track."""
    parts = []
    for track in checked.tracks:
        size = counted(track.predictions.n, "item")
        if isinstance(track, AlignedTrack) and not track.is_order_shown:
            size += ", aligned by order only"
        key = next((t.rows_have for t in checked.edition.tracks if t.rows_have), "")
        if not track.name.split and key:
            titles = {t.name for t in checked.edition.tracks if t.rows_have}
            names = "each item names" if track.name.track in titles else "no item names"
            size += f"; taken for this track, as {names} a {key}"
        parts.append(f"{str(track.name) or 'the file'} ({size})")
    return ", ".join(parts) or "no predictions"


def _official(submission: str, gold: str | None, edition: str) -> Problems:
    from shroom.core.problems import InvalidInput
    from shroom.scoring.editions import official

    official.refuse_other(edition)
    problems = official.check(submission)
    if gold is None or problems.errors:
        return problems
    try:
        official.score(submission, gold)
    except InvalidInput as error:
        return error.problems
    return problems


def _fix(
    submission: str, gold: str | None, data: str | None, out: str, form: str, edition: Edition
) -> int:
    from shroom.scoring.fix import fix_submission, write

    if "-" in (gold, data):
        raise click.UsageError("--fix reads gold and data more than once, so they cannot be a pipe")
    fixed = fix_submission(submission, gold, data=data, edition=edition)
    problems = fixed.checked.problems
    try:
        write(fixed, out, submission, gold, data)
    except ShroomError:
        if fixed.checked.ok:  # what is not written is not called valid
            say(problems)
        else:
            _report(problems, form, "")
        raise
    say(fixed.changes)
    summary = f"{_summary(fixed.checked)}, written to {out}"
    return _report(problems, form, summary, aside=out == "-")
