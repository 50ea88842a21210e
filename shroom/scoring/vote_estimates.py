"""Figures of annotators' votes, with intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shroom.metrics.agreement import bootstrap_votes
from shroom.metrics.intervals import Intervals, interval
from shroom.scoring.tables import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from shroom.metrics.base import Metric

    Votes = NDArray[np.int8]


def estimated(
    figures: Mapping[str, Metric], votes: Votes, intervals: Intervals
) -> dict[str, Estimate]:
    """Return figures of votes with intervals; items are resampled, not votes."""
    settings = replace(intervals, method="percentile")
    drawn = bootstrap_votes(figures, votes, intervals.resamples, intervals.seed)
    estimates = {}
    for name, figure in figures.items():
        value = figure(votes)
        ci = interval(figure, votes, value, drawn[name], settings) if intervals.resamples else None
        estimates[name] = Estimate(value, ci)
    return estimates
