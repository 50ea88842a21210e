"""``shroom ensemble``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click
import numpy as np

from shroom.cli.edition_choice import (
    edition_option,
)
from shroom.cli.options import (
    COLUMNS_OPTION,
)
from shroom.cli.output import note, say
from shroom.cli.parameter_types import INPUT, OUTPUT
from shroom.core.atomic_writing import prepare, write_files
from shroom.core.problems import Problems
from shroom.metrics.classification import accuracy
from shroom.metrics.correlation import rho
from shroom.prediction.ensemble.columns import Columns
from shroom.prediction.ensemble.combine import FOLDS, METHODS, Training, Weighted, out_of_fold
from shroom.prediction.ensemble.members import groups, read, refuse_seen
from shroom.prediction.run_record import mark_in_sample, record_path
from shroom.prediction.submission_rows import check_output, name_for, text_of
from shroom.scoring.display.text import align, number
from shroom.scoring.input_files import is_pipe

if TYPE_CHECKING:
    from shroom.prediction.ensemble.combine import Combined
    from shroom.prediction.ensemble.members import Members
    from shroom.scoring.editions.edition import Edition

LOGISTIC = "logistic"

EXAMPLES = """\b
Examples:
  shroom ensemble a.json b.json c.json -o mean.json
  shroom ensemble a/ b/ c/ -o submission.zip --method vote
  shroom ensemble a/ b/ -o out/ --method logistic --train a_val/ --train b_val/ \\
      --train-gold val_folder --data test_folder
"""


@click.command(epilog=EXAMPLES)
@click.argument("preds", nargs=-1, required=True, type=INPUT, metavar="PRED...")
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
    show_default=True,
    help="Combine by mean p, mean rank, share of labels, or fitted weights.",
)
@click.option(
    "--train",
    multiple=True,
    type=INPUT,
    metavar="TRAIN_PRED",
    help="For logistic: predictions of each PRED's system on TRAIN_GOLD, in the order of PREDs.",
)
@click.option("--train-gold", type=INPUT, help="For logistic: labelled data to fit on.")
@click.option(
    "--data", type=INPUT, help="Data that the PREDs are predictions for, labelled or not."
)
@edition_option("data", "train_gold", "preds")
@COLUMNS_OPTION
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
    """Make one submission out of several.

    Each PRED is a file, a zip, or a folder with both tracks; of folders, weights are fitted on the
    tracks pooled. With --data, the weights differ by task and know the texts' overlap and lengths.
    The figures that logistic prints are out of fold, on TRAIN_GOLD.
    """
    _refuse_misuse(preds, method, train, train_gold, data)
    problems = Problems()
    judged = read(preds, problems, data=data, edition=edition)
    names = [name_for(members.name, output, members.file, edition) for members in judged]
    inputs = [*preds, *train, train_gold, data]
    prepare(output, names, inputs)
    record_path(output)  # refuses a file of the user's
    if method == LOGISTIC and train_gold is not None:
        trained = read(train, problems, gold=train_gold, edition=edition)
        say(problems)
        combined = _weighted(trained, judged)
    else:
        say(problems)
        if len(preds) == 1:
            note(f"{preds[0]} is the only submission, so there is nothing to combine")
        combined = [METHODS[method](members.p, members.label) for members in judged]
    contents = {
        name: text_of(result.label, result.p, members.against.ids, id_key=edition.item.id_key)
        for name, members, result in zip(names, judged, combined)
    }
    check_output(contents, edition)
    write_files(output, contents, inputs)
    in_sample = {name: members.in_sample for name, members in zip(names, judged)}
    if warning := mark_in_sample(output, "shroom ensemble", in_sample):
        note(warning)
    say([f"wrote {sum(len(result.p) for result in combined)} predictions to {output}"])


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
        raise click.UsageError("--method logistic needs --train, once per PRED, and --train-gold")
    if method == LOGISTIC and len(train) != len(preds):
        raise click.UsageError(
            f"expected --train once for each of {len(preds)} PREDs, got it {len(train)} times"
        )


def _weighted(trained: list[Members], judged: list[Members]) -> list[Combined]:
    """Return the predictions of fitted weights for each track, and show their figures."""
    doubled = refuse_seen(trained, judged)
    if doubled:
        note(f"{doubled} of the datapoints to judge are in the training gold, too")
    columns = Columns(trained, judged)
    data = Training(
        columns.of(trained),
        columns.tasks(trained),
        np.concatenate([members.against.p for members in trained]),
        np.concatenate([members.against.label == 1 for members in trained]),
        groups(trained),
    )
    data.refuse_too_little()
    say(_figures(trained, out_of_fold(data)))
    fitted = Weighted.fit(data)
    say(_choices(fitted))
    return [fitted.predict(columns.of([members]), columns.tasks([members])) for members in judged]


def _figures(trained: list[Members], predictions: Combined) -> list[str]:
    rows: list[tuple[str, ...] | None] = [
        (f"out of fold ({FOLDS} folds)", "n", "accuracy", "rho"),
        None,
    ]
    start = 0
    for members in trained:
        gold, here = members.against, slice(start, start + members.against.n)
        start += gold.n
        value = rho(predictions.p[here], gold.p)
        shown = (
            accuracy(predictions.label[here], gold.label == 1),
            None if math.isnan(value) else value,
        )
        rows.append((str(members.name), str(gold.n), *map(number, shown)))
    return align(rows)


def _choices(fitted: Weighted) -> list[str]:
    by_task = "".join(f", {task} {value:g}" for task, value in fitted.thresholds.items())
    return [f"inverse penalty {fitted.c:g}; Hallucination where p > {fitted.threshold:g}{by_task}"]
