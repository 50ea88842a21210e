"""The data sets whose own predictions can be scored, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.core.problems import InvalidInput, ShroomError
from shroom.core.registry import Entry, Registry
from shroom.metrics.intervals import NO_INTERVALS, USUAL, Intervals

if TYPE_CHECKING:
    from shroom.core.paths import Source
    from shroom.core.problems import Problems
    from shroom.datasets.native_scores import NativeScore

#: Their functions ``score``.
SCORED = Registry(
    "data set",
    {name: Entry(f"shroom.datasets.{name}.scores:score") for name in ("mushroom2025", "felm")},
)


def score(
    name: str,
    predictions: Source,
    gold: Source,
    how: Intervals = USUAL,
    limit: int | None = 20,
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
    limit : int or None
        How many problems of each code to keep.

    Raises
    ------
    InvalidInput
        With every problem, where there are errors.
    ShroomError
        Where the data set has no form of predictions.
    """
    if name not in SCORED:
        raise ShroomError(
            f"{name} has no predictions of a form of its own, as {' and '.join(SCORED)} have; "
            f"'shroom datasets convert {name} {gold} -o gold.json' makes SHROOM's gold of it, "
            f"for submissions in SHROOM's form"
        )
    found: NativeScore = SCORED.load(name)(predictions, gold, how, limit)
    return found


def check(name: str, predictions: Source, gold: Source, limit: int | None = 20) -> Problems:
    """Return everything that is wrong with predictions: what this passes, :func:`score` scores."""
    try:
        return score(name, predictions, gold, NO_INTERVALS, limit).problems
    except InvalidInput as error:
        return error.problems
