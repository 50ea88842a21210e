"""Scores of predictions in a data set's own form, by its own metrics: those of FELM."""

from __future__ import annotations

from shroom.core.paths import Source
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.datasets.felm.scores import NativeScore
from shroom.metrics.intervals import DEFAULT_INTERVALS, NO_INTERVALS, Intervals

#: The data sets whose predictions have a form of their own.
SCORED = ("felm",)


def score(
    name: str, predictions: Source, gold: Source, how: Intervals = DEFAULT_INTERVALS
) -> NativeScore:
    """Return the scores of predictions in a data set's own form.

    Parameters
    ----------
    name : str
        The data set's.
    predictions, gold : path
        Each a file, a folder or a zip; one of them may be ``"-"`` for a pipe.
    how : Intervals
        How to make intervals.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors.
    ShroomError
        Where the data set has no form of predictions.
    """
    if name not in SCORED:
        raise ShroomError(
            f"{name} has no predictions of a form of its own, as {' and '.join(SCORED)} has; "
            f"'shroom datasets convert {name} {gold} -o gold.json' makes SHROOM's gold of it, "
            f"for submissions in SHROOM's form"
        )
    from shroom.datasets.felm.scores import score as of_felm

    return of_felm(predictions, gold, how)


def check(name: str, predictions: Source, gold: Source) -> Problems:
    """Return everything that is wrong with predictions: what this passes, :func:`score` scores."""
    try:
        return score(name, predictions, gold, NO_INTERVALS).problems
    except InvalidInput as error:
        return error.problems
