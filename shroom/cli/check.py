"""``shroom check``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import EDITION_OR_DATA_SET, SHROOM, form_of_gold
from shroom.cli.options import (
    INPUT,
    NAMES_OPTIONS,
    OUTPUT,
    flag,
    format_option,
    option,
    refuse_two_pipes,
)
from shroom.cli.output import json_text, note, say
from shroom.core.printing import printable
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.scoring.check import check
from shroom.scoring.editions.edition import Edition

#: With more rows, trying --fix only to offer it would take too long.
MAX_TRIED = 100_000


@verb()
@click.argument("submissions", metavar="SUBMISSION...", type=INPUT, nargs=-1, required=True)
@option(
    "--gold",
    "Check that the ids and their order match this file or folder of labelled data, and that "
    "labels and p are not inverted.",
    INPUT,
)
@option("--data", "Check that the ids and their order match this unlabelled data.", INPUT)
@option("--fix out", "Write a corrected copy to this file, folder or zip.", OUTPUT)
@EDITION_OR_DATA_SET
@NAMES_OPTIONS
@flag("--official", "Apply only the rules of the organisers' 2024 programs.")
@format_option("text", "json", about="Print one line for each problem, or one JSON object.")
def command(submissions: tuple[str, ...], **options: Any) -> int:
    """Report the problems in SUBMISSION and how to fix them.

    With --fix, correct every unambiguous mistake and write a copy as JSON.

    Examples
    --------
    shroom check submission.zip
    shroom check mine/ --gold gold/
    shroom check other-names.csv --columns p=score,label=verdict --fix fixed.json
    """
    given = SimpleNamespace(**options)
    refuse_two_pipes(*submissions, given.gold, given.data)
    if given.gold and given.data:
        raise click.UsageError("use either --gold or --data, not both")
    if given.official and (given.data or given.out):
        raise click.UsageError("--official cannot be combined with --data or --fix")
    if len(submissions) > 1 and (given.out or given.form == "json"):
        raise click.UsageError("--fix and --format json require a single SUBMISSION")
    codes = []
    for submission in submissions:
        if len(submissions) > 1:
            click.echo(f"{printable(submission)}: ", nl=False)
        codes.append(_check(submission, given))
    return max(codes)


def _check(submission: str, given: SimpleNamespace) -> int:
    gold, data = given.gold, given.data
    name, edition = form_of_gold(given.edition, submission, gold, data)
    if given.official:
        accepted = "accepted by the organisers' checker" + " and scorer" * bool(gold)
        problems = _official(submission, gold, name if name != SHROOM else edition.name)
        return _report(problems, given.form, problems.verdict(accepted))
    if name != SHROOM:
        if gold is None or data or given.out:
            raise click.UsageError(
                f"to check predictions for {name}, use --gold, and omit --fix and --data"
            )
        from shroom.datasets import native_scores

        problems = native_scores.check(name, submission, gold)
        return _report(problems, given.form, problems.verdict(f"for {name}"))
    if given.out is not None:
        return _fix(submission, given, edition)
    files = {"data": data, "edition": edition, **given.names}
    checked = check(submission, gold, **files)
    code = _report(checked.problems, given.form, checked.verdict)
    codes, rows = checked.problems.codes, sum(track.predictions.n for track in checked.tracks)
    if codes and rows <= MAX_TRIED and "-" not in (submission, gold, data):
        from shroom.scoring.fix import FIXABLE, fix_submission

        if not codes.isdisjoint(FIXABLE):
            fixed = fix_submission(submission, gold, **files)
            corrected = sorted(codes - fixed.checked.problems.codes)
            if corrected and not fixed.obstacle:
                note(f"use --fix FILE to correct [{'], ['.join(corrected)}]")
    return code


def _fix(submission: str, given: SimpleNamespace, edition: Edition) -> int:
    from shroom.scoring.fix import fix_submission, write

    gold, data = given.gold, given.data
    if "-" in (gold, data):
        raise click.UsageError(
            "--fix reads gold and data more than once, so they cannot come from stdin"
        )
    fixed = fix_submission(submission, gold, data=data, edition=edition, **given.names)
    checked = fixed.checked
    try:
        write(fixed, given.out, submission, gold, data)
    except ShroomError:
        if checked.ok:  # what is not written is not called valid
            say(checked.problems)
        else:
            _report(checked.problems, given.form, checked.verdict)
        raise
    say(fixed.changes)
    verdict = f"{checked.verdict}; written to {given.out}"
    return _report(checked.problems, given.form, verdict, aside=given.out == "-")


def _report(problems: Problems, form: str, verdict: str, *, aside: bool = False) -> int:
    """Print problems and verdict, to stderr if ``aside``, and return the exit code."""
    say(problems)
    is_json = form == "json"
    text = json_text({"verdict": verdict, **problems.to_dict()}) if is_json else f"{verdict}\n"
    click.echo(text, nl=False, err=aside)
    return 1 if problems.errors else 0


def _official(submission: str, gold: str | None, edition: str) -> Problems:
    from shroom.scoring.editions import official

    official.refuse_other(edition)
    problems = official.check(submission)
    if gold is not None and not problems.errors:
        try:
            official.score(submission, gold)
        except InvalidInput as error:
            return error.problems
    return problems
