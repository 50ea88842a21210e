"""``shroom ensemble``."""

from __future__ import annotations

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.output import note, say
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.prediction.ensemble.combine import METHODS
from shroom.prediction.ensemble.ensemble import LOGISTIC, ensemble
from shroom.scoring.editions.edition import Edition
from shroom.scoring.input_files import is_pipe


@verb(
    "shroom ensemble a.zip b.zip -o both.zip",
    "shroom ensemble a.zip b.zip --method vote -o vote.zip",
    "shroom ensemble mine/ baseline/ --method rank -o ranks/",
)
@click.argument("preds", nargs=-1, required=True, type=INPUT, metavar="SUBMISSION...")
@click.option(
    "-o",
    "--output",
    type=OUTPUT,
    required=True,
    help="Write to this .json file, .zip file or folder.",
)
@click.option(
    "--method",
    type=click.Choice([*METHODS, LOGISTIC]),
    default="mean",
    help="Combine by mean p, mean rank, share of labels, or fitted weights.",
)
@click.option(
    "--train",
    multiple=True,
    type=INPUT,
    metavar="SUBMISSION",
    help="For logistic: a submission of the same system for the training gold, in the order of "
    "SUBMISSIONS.",
)
@click.option("--train-gold", type=INPUT, help="For logistic: labelled data to fit on.")
@click.option("--data", type=INPUT, help="Data that the submissions are for, labelled or not.")
@edition_option("data", "train_gold")
def command(
    *,
    preds: tuple[str, ...],
    output: str,
    method: str,
    train: tuple[str, ...],
    train_gold: str | None,
    data: str | None,
    edition: Edition,
) -> None:
    """Combine several SUBMISSIONS into one.

    Means, ranks and votes need no gold; --method logistic fits weights on gold.
    """
    _refuse_misuse(preds, method, train, train_gold, data)
    inputs = [*preds, *train, train_gold, data]
    result = ensemble(
        preds, method=method, train=train, train_gold=train_gold, data=data, edition=edition
    )
    warning = result.write(output, inputs)
    say(result.warnings)
    say(result.notes)
    if warning:
        note(warning)
    say([f"wrote {result.n} predictions to {output}"])


def _refuse_misuse(
    preds: tuple[str, ...],
    method: str,
    train: tuple[str, ...],
    train_gold: str | None,
    data: str | None,
) -> None:
    """Raise a usage error for inputs and options that do not fit together."""
    if any(is_pipe(path) for path in (*preds, *train, train_gold, data) if path):
        raise click.UsageError("an ensemble reads its inputs more than once, so none can be a pipe")
    if method != LOGISTIC and (train or train_gold):
        raise click.UsageError(f"--train and --train-gold are for --method logistic, not {method}")
    if method == LOGISTIC and not (train and train_gold):
        raise click.UsageError(
            "--method logistic needs --train, once for each SUBMISSION, and --train-gold"
        )
    if method == LOGISTIC and len(train) != len(preds):
        raise click.UsageError(
            f"expected --train once for each of {len(preds)} submissions, got it {len(train)} times"
        )
