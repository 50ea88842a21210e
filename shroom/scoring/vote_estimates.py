"""Figures of annotators' votes, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shroom.metrics.agreement import Share, bootstrap_votes, value_of
from shroom.metrics.intervals import FEWEST, Intervals, resampled_interval, wilson_interval
from shroom.scoring.tables import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from shroom.metrics.agreement import Figure
    from shroom.metrics.bootstrap import Floats

    Votes = NDArray[np.int8]


def estimated(
    figures: Mapping[str, Figure], votes: Votes, intervals: Intervals
) -> dict[str, Estimate]:
    """Return figures of votes, each with its interval: of items, not of votes."""
    drawn = bootstrap_votes(figures, votes, resamples(votes, intervals), intervals.seed)
    estimates = {}
    for name, figure in figures.items():
        value = value_of(figure, votes)
        parts = np.column_stack(figure.parts(votes)) if isinstance(figure, Share) else None
        defined = None if np.isnan(value) else value
        estimates[name] = estimate(defined, drawn[name], intervals, parts)
    return estimates


def resamples(votes: Votes, intervals: Intervals) -> int:
    """Return how many resamples of the items to draw."""
    return intervals.resamples if len(votes) >= FEWEST else 0


def estimate(
    value: float | None, drawn: Floats, intervals: Intervals, parts: Floats | None = None
) -> Estimate:
    """Return a figure with its interval: Wilson's if it is a share, with ``parts``."""
    if value is None or not len(drawn):
        return Estimate(value)
    if parts is None:
        return Estimate(value, resampled_interval(drawn, intervals.confidence))
    return Estimate(value, wilson_interval(parts, intervals.confidence))
