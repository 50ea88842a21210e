"""One system on one track, as a report shows it: its scores, and its p beside the gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.evaluation.board import Board
from shroom.metrics.accuracy_by_threshold import AccuracyByThreshold, accuracy_by_threshold
from shroom.metrics.base import Metric
from shroom.metrics.classification import Confusion, confusion
from shroom.metrics.intervals import FEWEST, Intervals
from shroom.metrics.reliability import Reliability, reliability
from shroom.scoring.results import TrackScore
from shroom.scoring.slices import group_of
from shroom.scoring.tables import Estimate

Columns = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]
Place = tuple[int, "tuple[int, int] | None"]


#: Proportions and p are counted in so many bins, where there are more distinct ones.
_BINS = 20


@dataclass(frozen=True, eq=False)
class BinaryReport:
    """What a report shows of a system's labels and p, where items are labelled so.

    Attributes
    ----------
    confusion : Confusion
        Of its labels.
    by_label, by_share : Reliability
        Of its p, beside the majority's labels and beside the annotators' proportions.
    thresholds : AccuracyByThreshold
        Of its p.
    spread : Spread
        Of its p.
    """

    confusion: Confusion
    by_label: Reliability
    by_share: Reliability
    thresholds: AccuracyByThreshold
    spread: Spread

    @classmethod
    def of(cls, columns: Columns) -> BinaryReport:
        """Return the report of labels and p beside the gold's."""
        label, p, gold_label, gold_p = columns
        clipped = np.clip(p, 0.0, 1.0)  # p may leave [0, 1] by a rounding
        return cls(
            confusion=confusion(label, gold_label),
            by_label=reliability(clipped, gold_label),
            by_share=reliability(clipped, gold_p),
            thresholds=accuracy_by_threshold(clipped, gold_label),
            spread=spread(clipped, gold_p),
        )


@dataclass(frozen=True, eq=False)
class SystemReport:
    """One system on one track.

    Attributes
    ----------
    name : str
        The system.
    score : TrackScore
        Its scores.
    whole : dict of Estimate
        By metric, each with the reason if it or its interval is undefined.
    slices : dict
        ``{"task": {"DM": (n, {"accuracy": Estimate, …}), …}, …}``.
    binary : BinaryReport or None
        Its labels and p; ``None`` where something else is annotated.
    rank : int or None
        By the edition's metrics; ``None`` for a system alone.
    rank_ci : tuple of int or None
        Its interval.
    """

    name: str
    score: TrackScore
    whole: dict[str, Estimate]
    slices: dict[str, dict[str, tuple[int, dict[str, Estimate]]]]
    binary: BinaryReport | None
    rank: int | None = None
    rank_ci: tuple[int, int] | None = None

    @property
    def in_sample(self) -> int:
        """How many of the items its detector was fitted on."""
        return self.score.in_sample


def portrait(
    name: str,
    score: TrackScore,
    board: Board,
    metrics: Sequence[Metric],
    intervals: Intervals,
    place: Place | None = None,
) -> SystemReport:
    """Return the report of one system."""
    columns = board.tracks[name].columns
    is_binary = board.edition.annotation.kind == "binary"
    slices = {}
    for key, parts in score.slices.items():
        group = group_of(board.gold, key)
        assert group is not None  # noqa: S101 - for mypy; it was sliced by it
        slices[key] = {
            word: (
                part["n"],
                _measured(
                    part,
                    metrics,
                    intervals,
                    part["n"],
                    _some(columns, group.place == number) if is_binary else None,
                    score.in_sample,
                ),
            )
            for number, (word, part) in enumerate(parts.items())
        }
    return SystemReport(
        name=name,
        score=score,
        whole=_measured(
            score.whole,
            metrics,
            intervals,
            score.n,
            columns if is_binary else None,
            score.in_sample,
        ),
        slices=slices,
        binary=BinaryReport.of(columns) if is_binary else None,
        rank=place and place[0],
        rank_ci=place and place[1],
    )


def of_mean(
    name: str, score: TrackScore, metrics: Sequence[Metric], intervals: Intervals
) -> SystemReport:
    """Return the report of one system's mean over tracks, which has neither slices nor items."""
    whole = _measured(score.whole, metrics, intervals, score.n, None, score.in_sample)
    return SystemReport(name, score, whole, {}, None)


def _some(columns: Columns, mask: NDArray[np.bool_]) -> Columns:
    label, p, gold_label, gold_p = columns
    return label[mask], p[mask], gold_label[mask], gold_p[mask]


def _measured(
    scores: Mapping[str, Any],
    metrics: Sequence[Metric],
    intervals: Intervals,
    n: int,
    columns: Columns | None,
    in_sample: int,
) -> dict[str, Estimate]:
    """Return each score with its interval, and why one of them is undefined."""
    measured = {}
    for metric in metrics:
        value, ci = scores[metric.name], scores.get(f"{metric.name}_ci")
        why = ""
        if value is None:
            why = why_undefined(metric.name, columns) if columns else "not defined on these items"
        elif ci is None and intervals.resamples:
            if metric.is_biased:
                why = "the score of a sample tends to be worse than the true one"
            elif n < FEWEST or metric.share is not None or intervals.unit:
                why = f"fewer than {FEWEST} {'units' if intervals.unit else 'items'}"
            else:
                why = "undefined on every resample"
        measured[metric.name] = Estimate(value, ci, in_sample, why=why)
    return measured


def why_undefined(metric: str, columns: Columns) -> str:
    """Return why a metric is undefined on items.

    Examples
    --------
    >>> half, one = np.array([0.5, 0.5]), np.array([1, 1])
    >>> why_undefined("rho", (one, half, one, half)), why_undefined("auroc", (one, half, one, half))
    ('p is constant', 'the gold has one class only')
    """
    _, p, gold_label, gold_p = columns
    if len(p) < 2:
        return "one item alone" if len(p) else "no items"
    if metric == "rho" and np.ptp(p) == 0:
        return "p is constant"
    if metric == "rho" and np.ptp(gold_p) == 0:
        return "the annotators' proportion is constant"
    if np.ptp(gold_label) == 0:
        return "the gold has one class only"
    return "not defined on these items"


@dataclass(frozen=True, eq=False)
class Spread:
    """Distribution of p at each of the annotators' proportions.

    Attributes
    ----------
    shares : array, shape [k]
        The proportions that occur, rising; the middles of bins where there are many.
    counts : array of int, shape [k, 20]
        How many items have p in each twentieth, p = 1 in the last.
    mean_p : array, shape [k]
        Their mean p.
    """

    shares: NDArray[np.float64]
    counts: NDArray[np.int64]
    mean_p: NDArray[np.float64]


def spread(p: NDArray[Any], gold_p: NDArray[Any]) -> Spread:
    """Return how p is spread at each of the annotators' proportions.

    Examples
    --------
    >>> found = spread(np.array([0.0, 0.5, 1.0]), np.array([0.2, 0.8, 0.8]))
    >>> found.shares.tolist(), found.mean_p.tolist(), found.counts.sum(axis=1).tolist()
    ([0.2, 0.8], [0.0, 0.75], [1, 2])
    """
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
