"""``shroom ensemble``."""

from __future__ import annotations

from typing import Any

import click

from shroom.cli import verb
from shroom.cli.edition_choice import edition_option
from shroom.cli.options import INPUT, OUTPUT, option, usage_errors
from shroom.cli.output import write_predictions
from shroom.prediction.ensemble import LOGISTIC, check_arguments, ensemble
from shroom.prediction.ensemble_methods import METHODS
from shroom.scoring.input_files import is_pipe


@verb()
@click.argument("preds", nargs=-1, required=True, type=INPUT, metavar="SUBMISSION...")
@option("-o --output", "Write to this .json file, .zip file or folder.", OUTPUT, required=True)
@option(
    "--method",
    "Use the mean p, the mean rank, the share of Hallucination labels, or fitted weights.",
    (*METHODS, LOGISTIC),
    "mean",
)
@option(
    "--train",
    "With --method logistic: predictions for the training gold. Repeat this option for each "
    "SUBMISSION, in the same order.",
    INPUT,
    multiple=True,
    metavar="SUBMISSION",
)
@option("--train-gold", "With --method logistic: labelled data for fitting the weights.", INPUT)
@option("--data", "The data for which the predictions were made; labels are not required.", INPUT)
@edition_option("data", "train_gold")
def command(preds: tuple[str, ...], output: str, **settings: Any) -> None:
    """Combine several SUBMISSIONS into one.

    Only --method logistic requires gold labels, because it fits weights.

    Examples
    --------
    shroom ensemble a.zip b.zip -o both.zip
    shroom ensemble a.zip b.zip --method vote -o vote.zip
    shroom ensemble mine/ baseline/ --method rank -o ranks/
    """
    method, train, train_gold = (settings[name] for name in ("method", "train", "train_gold"))
    inputs = [*preds, *train, train_gold, settings["data"]]
    if any(is_pipe(path) for path in inputs if path):
        raise click.UsageError("all inputs are read twice, so no input can be a pipe")
    with usage_errors():
        check_arguments(preds, method, train, train_gold)
    write_predictions(ensemble(preds, **settings), output, inputs)
