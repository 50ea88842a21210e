"""The report of one system on one track: its scores, and its p compared with the gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.evaluation.board import Board
from shroom.metrics.accuracy_by_threshold import AccuracyByThreshold, accuracy_by_threshold
from shroom.metrics.base import Metric
from shroom.metrics.classification import Confusion, confusion
from shroom.metrics.intervals import FEWEST, Intervals
from shroom.metrics.reliability import Reliability, reliability
from shroom.scoring.align import AlignedPair
from shroom.scoring.result import rounded
from shroom.scoring.results import TrackScore
from shroom.scoring.slices import group_of
from shroom.scoring.tables import Estimate

Columns = tuple[NDArray[Any], ...]

#: Number of bins of p, and of the proportions if there are more distinct ones.
_BINS = 20


@dataclass(frozen=True, eq=False)
class BinaryReport:
    """The report of a system's labels and p, for gold with binary labels."""

    confusion: Confusion
    by_label: Reliability = field(repr=False)
    by_share: Reliability = field(repr=False)
    thresholds: AccuracyByThreshold = field(repr=False)
    spread: Spread = field(repr=False)
    #: The edition's words for Hallucination and Not Hallucination.
    words: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, track: AlignedPair) -> BinaryReport:
        label, p, gold_label, gold_p = track.columns
        clipped = np.clip(p, 0.0, 1.0)  # p may leave [0, 1] by a rounding
        return cls(
            confusion(label, gold_label),
            reliability(clipped, gold_label),
            reliability(clipped, gold_p),
            accuracy_by_threshold(clipped, gold_label),
            spread(clipped, gold_p),
            tuple(track.edition.file_labels.values()),
        )


@dataclass(frozen=True, eq=False, repr=False)
class SystemReport:
    name: str
    score: TrackScore
    whole: dict[str, Estimate]
    slices: dict[str, dict[str, tuple[int, dict[str, Estimate]]]]
    binary: BinaryReport | None

    def __repr__(self) -> str:
        scores = rounded({name: cell.value for name, cell in self.whole.items()})
        return f"SystemReport({self.name} on {self.score.title}: {scores})"

    @property
    def in_sample(self) -> int:
        return self.score.in_sample


def portrait(
    name: str,
    score: TrackScore,
    metrics: Sequence[Metric],
    intervals: Intervals,
    board: Board | None = None,
) -> SystemReport:
    is_binary = board is not None and board.edition.annotation.kind == "binary"
    track = board.tracks[name] if board is not None and is_binary else None
    columns = track.columns if track else ()

    def measured(scores: Mapping[str, Any], n: int, rows: Any = slice(None)) -> dict[str, Estimate]:
        measured = {}
        for metric in metrics:
            value, ci, why = scores[metric.name], scores.get(f"{metric.name}_ci"), ""
            if value is None:
                why = _why_undefined(metric.name, tuple(column[rows] for column in columns))
            elif ci is None and intervals.resamples:
                why = _why_no_interval(metric, n, intervals)
            measured[metric.name] = Estimate(value, ci, score.in_sample, why=why)
        return measured

    slices: dict[str, dict[str, tuple[int, dict[str, Estimate]]]] = {}
    for key, parts in score.slices.items():
        group = group_of(board.gold, key) if board else None
        slices[key] = {
            word: (part["n"], measured(part, part["n"], group and group.place == number))
            for number, (word, part) in enumerate(parts.items())
        }
    binary = BinaryReport.of(track) if track else None
    return SystemReport(name, score, measured(score.whole, score.n), slices, binary)


def _why_no_interval(metric: Metric, n: int, intervals: Intervals) -> str:
    if metric.is_biased:
        return "the metric is biased on resamples"
    if n < FEWEST or metric.share is not None or intervals.unit:
        return f"fewer than {FEWEST} {'units' if intervals.unit else 'items'}"
    return "the score is undefined on every resample"


def _why_undefined(metric: str, columns: Columns) -> str:
    if columns:
        _, p, gold_label, gold_p = columns
        if len(p) < 2:
            return "there is only one item" if len(p) else "there are no items"
        if metric == "rho" and np.ptp(p) == 0:
            return "p is constant"
        if metric == "rho" and np.ptp(gold_p) == 0:
            return "p in the gold is constant"
        if np.ptp(gold_label) == 0:
            return "all gold labels are the same"
    return "not defined on these items"


@dataclass(frozen=True, eq=False)
class Spread:
    """Distribution of p, in twentieths, at each of the annotators' proportions."""

    shares: NDArray[np.float64]
    counts: NDArray[np.int64]
    mean_p: NDArray[np.float64]


def spread(p: NDArray[Any], gold_p: NDArray[Any]) -> Spread:
    shares, place = np.unique(np.round(gold_p, 3), return_inverse=True)
    if len(shares) > _BINS:
        middles = (np.arange(_BINS) + 0.5) / _BINS
        bins = np.minimum((gold_p * _BINS).astype(np.intp), _BINS - 1)
        occupied, place = np.unique(bins, return_inverse=True)
        shares = middles[occupied]
    column = np.minimum((p * _BINS).astype(np.intp), _BINS - 1)
    count = len(shares)
    counts = np.bincount(place * _BINS + column, minlength=count * _BINS).reshape(count, _BINS)
    mean_p = np.bincount(place, weights=p, minlength=count) / counts.sum(axis=1)
    return Spread(shares, counts, mean_p)
