"""Scores of predictions for FELM's segments and responses: overall, by domain, source and type."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.paths import Source
from shroom.core.printing import counted
from shroom.core.problem_codes import ERROR
from shroom.core.problems import InvalidInput, Problems
from shroom.core.version import __version__
from shroom.datasets.collection import Collection
from shroom.datasets.felm import reader as felm
from shroom.datasets.felm.predictions import Predictions, floors, read_predictions
from shroom.datasets.felm.rows import Response
from shroom.metrics.intervals import Intervals, Scored, estimates
from shroom.metrics.segment_metrics import scored
from shroom.scoring.display.text import confidence, doubts, how_made, shortened
from shroom.scoring.result import Result
from shroom.scoring.results import TrackScore, flat, records_of
from shroom.scoring.tables import Estimate, Row, Table, score_cells

#: The metrics of the slices by source, which are many and small.
_OF_SOURCES = ("segment_f1", "segment_balanced_accuracy")
#: The most slices that are shown as columns, and the most characters of a slice's name.
_MOST, _LONGEST = 8, 40


@dataclass(frozen=True)
class NativeResult(TrackScore):
    """The scores of a data set, which is named in the place of the track.

    Attributes
    ----------
    counts : dict of int
        How many things were scored; ``n`` is the number of those that are resampled.
    confusion : dict of int
        ``TP``, ``FP``, ``FN`` and ``TN``, how many segments were flagged and are wrong.
    """

    counts: dict[str, int] = field(default_factory=dict)
    confusion: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, for json."""
        return {
            "dataset": self.track,
            **self.counts,
            **self.confusion,
            **self.whole,
            **{f"by_{key}": slices for key, slices in self.slices.items()},
            "floors": self.floors,
            "signature": self.signature,
        }


@dataclass(frozen=True, repr=False)
class NativeScore(Result):
    """The scores of predictions, the warnings, and the settings of the intervals."""

    results: list[NativeResult]
    problems: Problems
    intervals: Intervals

    def __repr__(self) -> str:
        return f"NativeScore({counted(len(self.results), 'result')})"

    def tables(self) -> list[Table]:
        """Return each result's scores beside those of trivial systems, and its slices."""
        tables = []
        for result in self.results:
            counts = ", ".join(f"{name} {count}" for name, count in result.counts.items())
            floors = [score_cells(floor, {}) for floor in result.floors.values()]
            tables += [
                Table(f"{result.track}: {counts}"),
                Table(
                    heads=("", "score", *result.floors),
                    rows=[
                        (name, cell, *(floor.get(name, "") for floor in floors))
                        for name, cell in result.parts[""][1].items()
                    ],
                    ci=confidence(self.intervals),
                ),
                *(_slices(result, key, slices) for key, slices in result.slices.items()),
            ]
        notes = [self.signature]
        if self.intervals.resamples:
            drawn = f"{self.intervals.resamples} bootstrap resamples"
            notes.append(how_made(self.intervals, drawn))
            notes += doubts(pair for result in self.results for pair in result.intervals.items())
        return [*tables, Table(notes=notes)]

    def records(self) -> list[dict[str, Any]]:
        """Return a row for each result, each trivial system and each slice."""
        return records_of(self.results)

    @property
    def signature(self) -> str:
        """The signature of the result."""
        return self.results[0].signature

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for json; floats in full, undefined as ``None``."""
        return {
            "signature": self.signature,
            "results": [result.to_dict() for result in self.results],
            **self.intervals.to_dict(),
            "warnings": [problem.sentence for problem in self.problems],
        }


def _slices(result: NativeResult, key: str, slices: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return a column for each slice, or a row for each where there are more than columns fit."""
    parts = list(slices.values())
    names = [name for name in (*result.counts, *result.scores) if name in parts[0]]
    rows: list[Row] = [(key, *(shortened(value, _LONGEST) for value in slices))]
    for name in names:
        figure = int if name in result.counts else Estimate
        rows.append((name, *(figure(part[name]) for part in parts)))
    head, *rows = zip(*rows) if len(slices) > _MOST else rows
    return Table(heads=[str(cell) for cell in head], rows=rows)


def score(predictions: Source, gold: Source, settings: Intervals) -> NativeScore:
    """Return the scores of FELM's segments and responses; see ``native_scores.score``.

    Intervals resample responses. A type of error has only a recall, since the segments that are
    labelled factual have no type.
    """
    problems = Problems()
    collection = _gold(gold, problems)
    records = collection.records
    predicted = read_predictions(predictions, collection, problems)
    segments = felm.Segments.of(records)
    n, m = len(records), len(segments.wrong)

    def of(answers: Predictions, mask: slice | NDArray[np.bool_] = slice(None)) -> Scored:
        p = None if answers.p is None else answers.p[mask]
        return scored(answers.wrong[mask], segments.wrong[mask], segments.response[mask], n, p)

    def part(n: int, m: int, scored: Scored) -> dict[str, Any]:
        return {"n": n, "segments": m, **flat(*estimates(scored, settings))}

    def confusion(mask: slice | NDArray[np.bool_] = slice(None)) -> dict[str, int]:
        of_segments = columns[0][1][mask].sum(axis=0).tolist()
        return dict(zip(("TP", "FP", "FN", "TN"), of_segments))

    columns = of(predicted)
    scores, intervals = estimates(columns, settings)
    sizes = np.bincount(segments.response, minlength=n)
    slices: dict[str, dict[str, dict[str, object]]] = {"domain": {}, "source": {}, "type": {}}
    for key in ("domain", "source"):
        values = np.array([getattr(record, key) for record in records], np.str_)
        for value in dict.fromkeys(values.tolist()):
            mask = values == value
            rows = [
                (metric, statistics[mask])
                for metric, statistics in columns
                if key == "domain" or metric.name in _OF_SOURCES
            ]
            slices[key][value] = part(int(mask.sum()), int(sizes[mask].sum()), rows)
            slices[key][value] |= confusion(mask)
    for kind in dict.fromkeys(sorted(segments.kind[segments.wrong].tolist())):
        mask = segments.wrong & (segments.kind == kind)
        there = np.bincount(segments.response[mask], minlength=n) > 0
        rows = [
            (metric, statistics[there])
            for metric, statistics in of(predicted, mask)
            if metric.name == "segment_recall"
        ]
        slices["type"][kind] = part(int(there.sum()), int(mask.sum()), rows)
    result = NativeResult(
        track=felm.NAME,
        split="",
        n=n,
        counts={"n": n, "segments": m},
        confusion=confusion(),
        scores=scores,
        intervals=intervals,
        slices={key: parts for key, parts in slices.items() if parts},
        floors={
            name: {metric.name: metric(rows) for metric, rows in of(floor)}
            for name, floor in floors(m).items()
        },
        signature=_signature(records),
    )
    return NativeScore([result], problems, settings)


def _gold(source: Source, problems: Problems) -> Collection[Response]:
    """Return the gold, and report the problems in it that affect scores."""
    of_gold = Problems(limit=None)
    gold = None
    with suppress(InvalidInput):
        gold = felm.read(source, problems=of_gold)
    for problem in of_gold:
        if problem.severity == ERROR or problem.code == "row-value":
            problems.add(**vars(problem))
    if gold is None:
        raise InvalidInput(problems)
    return gold


def _signature(records: Sequence[Response]) -> str:
    """Return the signature of a score; the order of the responses does not matter."""
    rows = sorted(json.dumps((record.index, record.labels)) for record in records)
    digest = hashlib.sha256("\n".join(rows).encode()).hexdigest()[:6]
    return f"shroom|v:{__version__}|edition:felm|align:index|n:{len(rows)}|gold:{digest}"
