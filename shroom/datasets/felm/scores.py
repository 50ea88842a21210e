"""Scores of predictions for FELM's segments and responses: overall, by domain, source and type."""

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
    point_scores,
    read_gold,
    signature,
)
from shroom.metrics.intervals import DEFAULT_INTERVALS, Intervals, estimates
from shroom.metrics.segment_metrics import scored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shroom.core.paths import Source
    from shroom.datasets.felm.predictions import Predictions
    from shroom.metrics.intervals import Scored

#: The metrics of the slices by source, which are many and small.
_OF_SOURCES = ("segment_f1", "segment_balanced_accuracy")


def score(
    predictions: Source,
    gold: Source,
    settings: Intervals = DEFAULT_INTERVALS,
) -> NativeScore:
    """Return the scores of FELM's segments and responses; see ``native_scores.score``.

    Intervals resample responses. A type of error has only a recall, since the segments that are
    labelled factual have no type.
    """
    problems = Problems()
    records = read_gold(lambda gold_problems: felm.read(gold, problems=gold_problems), problems)
    predicted = read_predictions(predictions, records, problems)
    segments = felm.Segments.of(records.records)
    n, m = len(records.records), len(segments.wrong)

    def of(answers: Predictions, mask: slice | NDArray[np.bool_] = slice(None)) -> Scored:
        p = None if answers.p is None else answers.p[mask]
        return scored(answers.wrong[mask], segments.wrong[mask], segments.response[mask], n, p)

    columns = of(predicted)
    scores, intervals = estimates(columns, settings)
    sizes = np.bincount(segments.response, minlength=n)
    slices: dict[str, dict[str, dict[str, object]]] = {"domain": {}, "source": {}, "type": {}}
    for key in ("domain", "source"):
        values = np.array([getattr(record, key) for record in records.records], np.str_)
        for value in dict.fromkeys(values.tolist()):
            mask = values == value
            counts = {"n": int(mask.sum()), "segments": int(sizes[mask].sum())}
            rows = [
                (metric, statistics[mask])
                for metric, statistics in columns
                if key == "domain" or metric.name in _OF_SOURCES
            ]
            slices[key][value] = part_of(counts, rows, settings)
    for kind in dict.fromkeys(sorted(segments.kind[segments.wrong].tolist())):
        mask = segments.wrong & (segments.kind == kind)
        there = np.bincount(segments.response[mask], minlength=n) > 0
        counts = {"n": int(there.sum()), "segments": int(mask.sum())}
        rows = [
            (metric, statistics[there])
            for metric, statistics in of(predicted, mask)
            if metric.name == "segment_recall"
        ]
        slices["type"][kind] = part_of(counts, rows, settings)
    labels = ((record.index, record.labels) for record in records.records)
    result = NativeResult(
        felm.NAME,
        part={},
        counts={"n": n, "segments": m},
        scores=scores,
        intervals=intervals,
        slices={key: parts for key, parts in slices.items() if parts},
        floors={name: point_scores(of(floor)) for name, floor in floors(m).items()},
        signature=signature(felm.NAME, n, labels, "align:index"),
    )
    return NativeScore([result], problems, settings)
