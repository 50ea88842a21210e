"""Scores of predictions for FELM: of segments and of responses, whole and by domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shroom.core.problems import Problems
from shroom.datasets.felm import reader as felm
from shroom.datasets.felm.predictions import floors, read_predictions
from shroom.datasets.native_scores import (
    NativeResult,
    NativeScore,
    part_of,
    read_gold,
    signature,
    whole,
)
from shroom.metrics.intervals import USUAL, Intervals, estimates
from shroom.metrics.segment_metrics import scored

if TYPE_CHECKING:
    from shroom.core.paths import Source
    from shroom.datasets.felm.predictions import Predictions
    from shroom.metrics.intervals import Scored


def score(
    predictions: Source, gold: Source, how: Intervals = USUAL, limit: int | None = 20
) -> NativeScore:
    """Return the scores of FELM's segments and responses; see ``native_scores.score``.

    Intervals resample responses.
    """
    problems = Problems(limit)
    records = read_gold(lambda found: felm.read(gold, problems=found), problems)
    predicted = read_predictions(predictions, records, problems)
    segments = felm.Segments.of(records.records)
    n, m = len(records.records), len(segments.wrong)

    def of(one: Predictions) -> Scored:
        return scored(one.wrong, segments.wrong, segments.response, n, one.p)

    found = of(predicted)
    scores, intervals = estimates(found, how)
    sizes = np.bincount(segments.response, minlength=n)
    domains = {}
    for domain in dict.fromkeys(segments.domain.tolist()):
        mask = segments.domain == domain
        counts = {"n": int(mask.sum()), "segments": int(sizes[mask].sum())}
        rows = [(metric, statistics[mask]) for metric, statistics in found]
        domains[domain] = part_of(counts, rows, how)
    labels = ((record.index, record.labels) for record in records.records)
    result = NativeResult(
        felm.NAME,
        part={},
        counts={"n": n, "segments": m},
        scores=scores,
        intervals=intervals,
        slices={"domain": domains},
        floors={name: whole(of(floor)) for name, floor in floors(m).items()},
        signature=signature(felm.NAME, n, labels, "align:index"),
    )
    return NativeScore([result], problems, how)
