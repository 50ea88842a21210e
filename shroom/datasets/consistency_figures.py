"""Counts, means and shares of the judgements of factual consistency."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.datasets.groups import Row
from shroom.metrics.cluster_bootstrap import places, ratio, sums
from shroom.metrics.intervals import Intervals, estimates
from shroom.scoring.results import flat

#: The metrics of the first three columns; the mean is not a share, so it has no Wilson interval.
_METRICS = (
    ratio("mean_correctness"),
    ratio("hallucinated_share", share=np.asarray),
    ratio("verifiable_share", share=np.asarray),
)


def figures(records: Sequence[Any], intervals: Intervals, *, verifiable_only: bool = False) -> Row:
    """Return counts, means and shares of responses; intervals resample dialogues."""
    counted = np.array([record.verifiable is True or not verifiable_only for record in records])
    judgements = ("correctness", "hallucination", "verifiable", "given_correctness")
    columns = {key: _column(records, key) for key in judgements}
    columns |= {
        key: np.where(counted, column, np.nan)
        for key, column in columns.items()
        if key != "verifiable"
    }
    units = places([record.dialogue for record in records])
    scored = [
        (metric, sums(np.stack([np.nan_to_num(column), ~np.isnan(column)], axis=1), units))
        for metric, column in zip(_METRICS, columns.values())
    ]
    values = columns["given_correctness"][~np.isnan(columns["given_correctness"])]
    with np.errstate(over="ignore"):  # if values are far out of range
        mean = float(values.mean()) if len(values) else np.nan
    return {
        "rows": len(records),
        "verifiable": int(np.nansum(columns["verifiable"])),
        "judged": int(np.count_nonzero(~np.isnan(columns["hallucination"]))),
        "hallucinated": int(np.nansum(columns["hallucination"])),
        "dialogues": len(set(units.tolist())),
        **flat(*estimates(scored, intervals)),
        "mean_correctness_as_given": mean if math.isfinite(mean) else None,
    }


def _column(records: Sequence[Any], key: str) -> NDArray[np.float64]:
    """Return the values of a field, with ``nan`` for ``None``."""
    values = (getattr(record, key) for record in records)
    return np.array([np.nan if value is None else float(value) for value in values], np.float64)
