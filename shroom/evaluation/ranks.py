"""Ranks of the systems of a contest, and how sure they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shroom.metrics.rank_intervals import rank_intervals, ranks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from shroom.evaluation.systems import Contest
    from shroom.metrics.base import Metric


def places(
    contest: Contest,
    metrics: Sequence[Metric],
    resampled: Mapping[str, NDArray[np.float64]],
    confidence: float,
) -> list[tuple[int, tuple[int, int] | None]]:
    """Return each system's rank, and the interval of it.

    Parameters
    ----------
    contest : Contest
        The systems.
    metrics : sequence of Metric
        Two: what is ranked by, and what breaks ties.
    resampled : mapping of array, shape [systems, b]
        Of :meth:`~shroom.evaluation.systems.Contest.resampled`; empty for no intervals.
    confidence : float
        In (0, 1).
    """
    scores = (
        np.array([metric(rows) for rows in contest.statistics(metric)], np.float64)
        for metric in metrics
    )
    rank = ranks(*scores).tolist()
    if not resampled:
        return [(place, None) for place in rank]
    first, second = (resampled[metric.name].T for metric in metrics)
    bounds = rank_intervals(first, second, confidence)
    return [(place, (low, high)) for place, (low, high) in zip(rank, bounds.tolist())]
