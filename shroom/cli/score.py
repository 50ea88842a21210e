"""``shroom score``."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from shroom.cli import show_all_warnings
from shroom.cli.edition_choice import (
    DATASET_OPTION,
    SHROOM,
    edition_option,
    form_of_gold,
    refuse_unknown_metrics,
)
from shroom.cli.options import (
    BY_OPTION,
    COLUMNS_OPTION,
    METRICS_OPTION,
    format_option,
    interval_options,
    refuse_two_pipes,
)
from shroom.cli.output import deliver, say, say_alike
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.core.atomic_writing import refuse_overwriting
from shroom.core.problems import ShroomError, UnknownName
from shroom.metrics.intervals import Intervals
from shroom.scoring.scores import score_checked
from shroom.scoring.slices import SLICES, needs_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shroom.datasets.native_scores import NativeScore
    from shroom.scoring.editions.edition import Edition
    from shroom.scoring.results import Score

EXAMPLES = """\b
Examples:
  shroom score val.model-agnostic.json gold.json
  shroom score submission.zip gold_folder --by task,length,script
  shroom score submission/ gold/ --metrics brier,auroc --interval bca --confidence 0.9
  shroom score submission/ gold/ --format json -o scores.json
  shroom score submission/ gold/ --format junit -o scores.xml
  shroom score pred.jsonl mushroom.de-tst.v1.jsonl --dataset mushroom2025
  gunzip -c val.model-aware.json.gz | shroom score - gold.json
"""


def _show_schema(ctx: click.Context, param: click.Parameter, value: object) -> None:
    del param
    if value:
        from importlib.resources import files

        deliver((files("shroom.report") / "score.schema.json").read_text(encoding="utf-8"), None)
        ctx.exit()


@click.command(epilog=EXAMPLES)
@click.argument("submission", type=INPUT)
@click.argument("gold", type=INPUT)
@format_option(
    "text",
    "json",
    "codalab",
    "junit",
    about="Print a table, one JSON object, the file that the platforms read, or tests for CI.",
)
@click.option(
    "--json-schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_schema,
    help="Print the JSON Schema of what --format json writes, and exit.",
)
@click.option("-o", "--output", type=OUTPUT, help="Write to this file instead of stdout.")
@BY_OPTION
@METRICS_OPTION
@interval_options(1000)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    callback=show_all_warnings,
    help="Show every problem, not only one warning of a kind and 20 errors of a code.",
)
@DATASET_OPTION
@edition_option("gold", any_kind=True)
@COLUMNS_OPTION
@click.option("--official", is_flag=True, help="Score as the organisers' own program does.")
def command(
    *,
    submission: str,
    gold: str,
    form: str,
    output: str | None,
    by: tuple[str, ...],
    metrics: list[str],
    intervals: Intervals,
    everything: bool,
    dataset: str | None,
    edition: Edition | None,
    official: bool,
) -> None:
    """Score SUBMISSION against GOLD: accuracy and rho for each track.

    Each is a file (.json, .jsonl, .gz), a folder or a zip; one of them may be - for a pipe.
    Predictions for Mu-SHROOM and FELM are scored by their own metrics.
    """
    refuse_two_pipes(submission, gold)
    if output:
        refuse_overwriting([output], [submission, gold])
    limit = None if everything else 20
    with _failures_in(form, output):
        name, edition = form_of_gold(dataset, submission, gold, edition)
        if official:
            _score_officially(submission, gold, edition, form, output)
            return
        if name != SHROOM:
            _refuse_with_native(name, form, sliced=bool(metrics) or by != SLICES)
            from shroom.datasets import native_scores

            native = native_scores.score(name, submission, gold, intervals, limit)
            deliver(render_native(native, form), output)
            say(native.problems)
            return
        from shroom.scoring.check import check

        refuse_unknown_metrics(metrics, edition)
        keys = () if form == "codalab" else by
        checked = check(submission, gold, texts=needs_texts(keys), limit=limit, edition=edition)
        chosen = Intervals(0) if form == "codalab" else intervals
        result = score_checked(checked, by=keys, metrics=metrics, intervals=chosen)
    deliver(render(result, form), output)
    say(checked.problems)
    say_alike(f"shroom: {sentence}" for sentence in result.unsliced)
    if form == "codalab":
        from shroom.scoring.platforms import missing_tracks

        say(map(str, missing_tracks(result)))


@contextmanager
def _failures_in(form: str, output: str | None) -> Iterator[None]:
    """Have JUnit's XML of what is wrong with the input written as well, where it is asked for."""
    try:
        yield
    except UnknownName:  # on the command line
        raise
    except ShroomError as error:
        if form == "junit":
            from shroom.report import junit

            deliver(junit.failed(str(error)), output)
        raise


def _score_officially(
    submission: str, gold: str, edition: Edition, form: str, output: str | None
) -> None:
    from shroom.scoring.editions import official

    official.refuse_other(edition)
    score = official.score(submission, gold)
    text = official.scores_txt(score) if form == "codalab" else render(score, form)
    deliver(text, output)
    say(map(str, score.warnings))


def _refuse_with_native(name: str, form: str, *, sliced: bool) -> None:
    """Refuse the options that SHROOM's own scores alone have."""
    for is_given, option in (
        (form == "codalab", "--format codalab"),
        (sliced, "--by or --metrics"),
    ):
        if is_given:
            raise click.UsageError(f"{option} is for {SHROOM}, and the gold is {name}")


def render_native(result: NativeScore, form: str) -> str:
    """Return the scores of another data set in one of the forms."""
    if form in _FOR_PROGRAMS:
        return _FOR_PROGRAMS[form](result)
    from shroom.report.native_scores import render as as_text

    return as_text(result)


def _as_json(result: Score | NativeScore) -> str:
    return json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"


def _as_junit(result: Score | NativeScore) -> str:
    from shroom.report.junit import passed

    return passed(result)


#: The forms that the scores of every data set have.
_FOR_PROGRAMS = {"json": _as_json, "junit": _as_junit}


def render(result: Score, form: str) -> str:
    """Return a score in one of the forms."""
    if form in _FOR_PROGRAMS:
        return _FOR_PROGRAMS[form](result)
    if form == "codalab":
        from shroom.scoring.platforms import scores_txt

        return scores_txt(result)
    from shroom.scoring.display.text import render as as_text

    return as_text(result)
