"""``shroom score``."""

from __future__ import annotations

from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import (
    EDITION_OR_DATA_SET,
    SHROOM,
    form_of_gold,
)
from shroom.cli.options import (
    BY_OPTION,
    INPUT,
    METRICS_OPTION,
    NAMES_OPTIONS,
    OUTPUT,
    flag,
    interval_options,
    is_given,
    refuse_two_pipes,
)
from shroom.cli.output import deliver
from shroom.cli.result_options import Outcome, Targets, result_options
from shroom.core.problems import ShroomError, printable
from shroom.metrics.intervals import Intervals
from shroom.scoring.rows import SLICES


def _show_schema(is_wanted: object) -> None:
    if is_wanted:
        from importlib.resources import files

        deliver((files("shroom.report") / "score.schema.json").read_text(encoding="utf-8"), None)
        click.get_current_context().exit()


@verb()
@click.argument("submission", type=INPUT)
@click.argument("gold", type=INPUT)
@flag(
    "--json-schema",
    "Print the JSON Schema of the output of --format json, and exit.",
    parse=_show_schema,
    is_eager=True,
    expose_value=False,
)
@BY_OPTION
@METRICS_OPTION
@interval_options(1000)
@EDITION_OR_DATA_SET
@NAMES_OPTIONS
@flag("--official", "Compute the scores as the organisers' 2024 program does.")
@result_options(
    "submission",
    "gold",
    about="Print tables, one JSON object, a table in Markdown or CSV, or the score file for "
    "Codabench and CodaLab.",
    forms=("markdown", "csv", "codalab"),
)
@click.pass_obj
def command(
    targets: Targets, /, submission: str, gold: str, *, official: bool, **settings: Any
) -> Outcome:
    """Score SUBMISSION against GOLD.

    The metrics are those of the edition (see --edition): for SHROOM, accuracy and rho.

    Examples
    --------
    shroom score pred.json gold.json
    shroom score submission.zip gold/ --by task,model --metrics brier,auroc
    shroom score mine/ gold/ --format json -o scores.json
    """
    by, metrics = settings["by"], settings["metrics"]
    is_codalab = targets.form == "codalab"
    name, rules = form_of_gold(settings["edition"], submission, gold)
    if official:
        return _official(submission, gold, name if name != SHROOM else rules.name)
    if name != SHROOM:
        if is_codalab or metrics or by != SLICES:
            option = "--format codalab" if is_codalab else "--by or --metrics"
            raise click.UsageError(f"{option} cannot be used for {name}, which has its own scores")
        from shroom.datasets import native_scores

        native = native_scores.score(name, submission, gold, settings["intervals"])
        return Outcome(native, [native.warnings])
    from shroom.scoring import platforms
    from shroom.scoring.check import check
    from shroom.scoring.scores import score_checked

    keys, intervals = ((), Intervals(0)) if is_codalab else (by, settings["intervals"])
    checked = check(submission, gold, by=keys, edition=rules, **settings["names"])
    result = score_checked(checked, by=keys, metrics=metrics, intervals=intervals)
    notes: list[str] = []
    if is_codalab:
        notes = [*map(str, platforms.missing_tracks(result, gold))]
    elif targets.form == "text":  # the other forms have the signature
        why = "is aligned by order only, because the two files share neither ids nor texts"
        notes = [f"note: {printable(file)} {why}" for file in checked.by_order]
    return Outcome(
        result,
        [checked.problems, notes],
        alike=[f"shroom: {sentence}" for sentence in result.unsliced],
        forms={"codalab": lambda score: platforms.as_yaml(platforms.platform_scores(score))},
    )


def _official(submission: str, gold: str, edition: str, split: str = "") -> Outcome:
    from shroom.scoring.editions import official

    official.refuse_other(edition)
    score = official.score(submission, gold)
    for result in score.results:
        if split and result.split != split:
            fix = "omit --is_val" if split == "val" else "add --is_val to score them"
            where = f"for the {result.split} split"
            raise ShroomError(f"{submission}: these are predictions {where}; {fix}")
    return Outcome(score, [map(str, score.warnings)], forms={"codalab": official.scores_txt})


@verb(
    reads_data=False,  # its parameters have --all
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=command.epilog,
    help=f"{command.help}\n\nWith OUT, write the scores as the organisers' 2024 program does.",
    params=[
        *command.params,
        click.Argument(["out"], required=False, type=OUTPUT),
        click.Option(
            ["--is_val"],
            is_flag=True,
            help="With OUT: score the val.* files instead of the test.* files.",
        ),
    ],
)
def with_organisers_call(*, out: str | None, is_val: bool, **settings: Any) -> None:
    """Score as ``shroom score``, or as the organisers' program: SUBMISSION GOLD OUT [--is_val]."""
    if out is None and not is_val:
        click.get_current_context().invoke(command, **settings)
        return
    if out is None or sum(map(is_given, settings)) > 2:
        raise click.UsageError(
            "--is_val requires OUT, and no other option can be combined with OUT"
        )
    submission, gold = settings["submission"], settings["gold"]
    refuse_two_pipes(submission, gold)
    targets = Targets("codalab", out, None, [submission, gold])
    targets.write(_official(submission, gold, SHROOM, "val" if is_val else "test"))
