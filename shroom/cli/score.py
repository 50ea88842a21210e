"""``shroom score``."""

from __future__ import annotations

import json
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from shroom.cli import Command
from shroom.cli.edition_choice import (
    EDITION_OR_DATA_SET,
    SHROOM,
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
from shroom.core.problems import ShroomError
from shroom.metrics.intervals import Intervals
from shroom.scoring.editions.files import default
from shroom.scoring.results import Score
from shroom.scoring.scores import score_checked
from shroom.scoring.slices import SLICES

if TYPE_CHECKING:
    from shroom.datasets.felm.scores import NativeScore
    from shroom.scoring.editions.edition import Edition


def _show_schema(ctx: click.Context, param: click.Parameter, value: object) -> None:
    del param
    if value:
        from importlib.resources import files

        deliver((files("shroom.report") / "score.schema.json").read_text(encoding="utf-8"), None)
        ctx.exit()


@click.command(
    cls=Command,
    examples=(
        "shroom score pred.json gold.json",
        "shroom score submission.zip gold/ --by task,model --metrics brier,auroc",
        "shroom score mine/ gold/ --format json -o scores.json",
    ),
)
@click.argument("submission", type=INPUT)
@click.argument("gold", type=INPUT)
@format_option(
    "text",
    "json",
    "markdown",
    "csv",
    "codalab",
    about="Print a table for people, one JSON object, a table in Markdown or csv, or the file that "
    "the platforms read.",
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
@EDITION_OR_DATA_SET
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
    edition: str | None,
    official: bool,
) -> None:
    """Score SUBMISSION against GOLD: accuracy and rho for each track.

    The edition decides the metrics; it is named, lies beside the gold, or is recognised by the
    gold's form.
    """
    refuse_two_pipes(submission, gold)
    if output:
        refuse_overwriting([output], [submission, gold])
    name, rules = form_of_gold(edition, submission, gold)
    if official:
        _score_officially(submission, gold, rules, form, output)
        return
    if name != SHROOM:
        _refuse_with_native(name, form, sliced=bool(metrics) or by != SLICES)
        from shroom.datasets import native_scores

        native = native_scores.score(name, submission, gold, intervals)
        deliver(render(native, form), output)
        say(native.problems)
        return
    from shroom.scoring.check import check

    refuse_unknown_metrics(metrics, rules)
    keys = () if form == "codalab" else by
    checked = check(submission, gold, by=keys, edition=rules)
    chosen = Intervals(0) if form == "codalab" else intervals
    result = score_checked(checked, by=keys, metrics=metrics, intervals=chosen)
    deliver(render(result, form), output)
    say(checked.problems)
    say_alike(f"shroom: {sentence}" for sentence in result.unsliced)
    if form == "codalab":
        from shroom.scoring.platforms import missing_tracks

        say(map(str, missing_tracks(result)))


def _score_officially(
    submission: str, gold: str, edition: Edition, form: str, output: str | None, split: str = ""
) -> None:
    from shroom.scoring.editions import official

    official.refuse_other(edition)
    score = official.score(submission, gold)
    other = next((r.split for r in score.results if split and r.split != split), None)
    if other:
        fix = "leave out --is_val" if split == "val" else "add --is_val to score it"
        raise ShroomError(f"{submission}: is of the {other} split; {fix}")
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


def render(result: Score | NativeScore, form: str) -> str:
    """Return a score in one of the forms."""
    if form == "json":
        return json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"
    if form in ("markdown", "csv"):
        from shroom.report import score_tables

        return (score_tables.markdown if form == "markdown" else score_tables.as_csv)(result)
    if isinstance(result, Score):
        if form == "codalab":
            from shroom.scoring.platforms import scores_txt

            return scores_txt(result)
        from shroom.scoring.display.text import render as as_text

        return as_text(result)
    from shroom.report.native_scores import render as native_as_text

    return native_as_text(result)


@click.command(
    cls=Command,
    epilog=command.epilog,
    help=cleandoc(command.help or "")
    + "\n\nWith OUT, do what the organisers' program of 2024 did.",
    params=[
        *command.params,
        click.Argument(["out"], required=False, type=OUTPUT),
        click.Option(["--is_val"], is_flag=True, help="With OUT: score val.*, not test.* files."),
    ],
)
@click.pass_context
def with_organisers_call(
    ctx: click.Context, /, *, out: str | None, is_val: bool, **settings: Any
) -> None:
    """Score as ``shroom score``, or as the program called SUBMISSION GOLD OUT [--is_val]."""
    if out is None and not is_val:
        ctx.invoke(command, **settings)
        return
    given = (
        name for name in settings if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    )
    if out is None or sum(1 for _ in given) > 2:
        raise click.UsageError("--is_val goes with SUBMISSION GOLD OUT, and no other option does")
    submission, gold = settings["submission"], settings["gold"]
    refuse_two_pipes(submission, gold)
    refuse_overwriting([out], [submission, gold])
    split = "val" if is_val else "test"
    _score_officially(submission, gold, default(), "codalab", out, split)
