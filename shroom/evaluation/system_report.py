"""The report of one system on one track: its scores, and its p compared with the gold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.accuracy_by_threshold import AccuracyByThreshold, accuracy_by_threshold
from shroom.metrics.classification import Confusion, confusion
from shroom.metrics.reliability import Reliability, reliability
from shroom.scoring.align import AlignedPair
from shroom.scoring.result import rounded
from shroom.scoring.results import TrackScore
from shroom.scoring.tables import Estimate

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
    """A system's scores of all items and of slices; ``binary`` if the gold has binary labels."""

    name: str
    score: TrackScore
    binary: BinaryReport | None

    def __repr__(self) -> str:
        return f"SystemReport({self.name} on {self.score.title}: {rounded(self.score.scores)})"

    @property
    def in_sample(self) -> int:
        return self.score.in_sample

    @property
    def whole(self) -> dict[str, Estimate]:
        return self.score.parts[""][1]


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
