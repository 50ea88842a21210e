"""Fitted calibrators, and how good probabilities and labels are before and after them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.learners.calibrators import Calibrator
from shroom.learners.logistic import Floats
from shroom.metrics.accuracy_by_threshold import DEFAULT_THRESHOLD
from shroom.metrics.calibration import brier_decomposition, log_loss
from shroom.metrics.classification import accuracy
from shroom.metrics.cluster_bootstrap import ratio, sums
from shroom.metrics.correlation import rho
from shroom.metrics.discrimination import auroc, average_precision
from shroom.metrics.intervals import DEFAULT_INTERVALS, estimates
from shroom.metrics.reliability import BINS, Reliability, reliability
from shroom.scoring.align import AlignedPair
from shroom.scoring.result import Plain, signature
from shroom.scoring.rows import Rows
from shroom.scoring.tables import Estimate, score_cells

Figures = dict[str, "float | None"]


@dataclass(frozen=True)
class Fitted(Plain):
    """A calibrator and a threshold, and the gold that they were fitted on."""

    #: Maps p to the annotators' proportion.
    calibrator: Calibrator
    #: The label is Hallucination if the calibrated p is greater.
    threshold: float
    #: Number of items.
    n: int = 0
    #: Hash of the gold; see :attr:`shroom.scoring.rows.Rows.hash`.
    gold: str = ""
    #: Hash of the gold in any order; see :func:`rows_hash`.
    rows: str = ""
    keys = ("method", "calibrator", "threshold")

    @property
    def method(self) -> str:
        return self.calibrator.method

    def __call__(self, p: Floats) -> tuple[NDArray[np.bool_], Floats]:
        """Return the labels, True for Hallucination, and the calibrated p."""
        calibrated = self.calibrator(p)
        return calibrated > self.threshold, calibrated

    def was_fitted_on(self, gold: Rows) -> bool:
        """Return whether the calibrator was fitted on this gold, under any name, in any order."""
        return gold.hash == self.gold or rows_hash(gold) == self.rows


def rows_hash(gold: Rows) -> str:
    """Return hexadecimal digits that identify a gold in any order of its rows."""
    none: list[Any] = [None] * gold.n
    ids = none if gold.ids is None else gold.ids.tolist()
    texts = none
    if gold.ids is None and gold.texts is not None:
        texts = [it[:2] for it in gold.texts]
    rows = zip(ids, gold.label.tolist(), (gold.p + 0.0).tolist(), texts)
    digests = sorted(hashlib.sha256(repr(row).encode()).digest() for row in rows)
    return hashlib.sha256(b"".join(digests)).hexdigest()[:12]


@dataclass(frozen=True)
class Quality(Plain):
    """The figures against the gold labels, and against the annotators' proportions."""

    label: Figures
    proportion: Figures
    curve: Reliability = field(repr=False, compare=False)
    #: Squared error of p against the proportion, and whether the label is right: shape [n, 2].
    items: Floats = field(repr=False, compare=False)
    keys = ("label", "proportion")

    def with_order_of(self, other: Quality | None) -> Quality:
        """Return these figures with AUROC, average precision and rho of another, or undefined."""
        label, proportion = (other.label, other.proportion) if other else ({}, {})
        order = {name: label.get(name) for name in ("auroc", "average_precision")}
        rho = {"rho": proportion.get("rho")}
        return replace(self, label=self.label | order, proportion=self.proportion | rho)

    @classmethod
    def of(
        cls, label: NDArray[Any], p: NDArray[Any], gold_label: NDArray[Any], gold_p: NDArray[Any]
    ) -> Quality:
        against_label = {
            **_of_probabilities(p, gold_label),
            "auroc": auroc(p, gold_label),
            "average_precision": average_precision(p, gold_label),
            "accuracy": accuracy(label, gold_label),
            "accuracy_at_half": accuracy(p > DEFAULT_THRESHOLD, gold_label),
        }
        against_proportion = {**_of_probabilities(p, gold_p), "rho": rho(p, gold_p)}
        items = np.column_stack(((p - gold_p) ** 2, label == gold_label))
        curve = reliability(p, gold_label, BINS)
        return cls(_defined(against_label), _defined(against_proportion), curve, items)

    def change_to(self, other: Quality, groups: NDArray[np.intp]) -> dict[str, Estimate]:
        """Return the differences of another's Brier score and accuracy, resampled by group."""
        one = np.ones(len(groups))
        differences = zip(("brier", "accuracy"), (other.items - self.items).T)
        return score_cells(
            *estimates(
                [
                    (ratio(name, (-1, 1)), sums(np.column_stack((values, one)), groups))
                    for name, values in differences
                ],
                DEFAULT_INTERVALS,
            )
        )


@dataclass(frozen=True)
class TrackQuality(Plain):
    """The figures of one track before and after calibration."""

    #: The file of predictions.
    file: str
    track: str
    split: str
    n: int
    fitted: Fitted
    before: Quality
    after: Quality
    #: Of the Brier score against the proportions and of the accuracy, with 95% intervals.
    change: Mapping[str, Estimate]
    signature: str
    in_sample: int = 0
    keys = (
        *("track", "split", "n", "in_sample", "**fitted", "fit"),
        *("before", "after", "change", "signature"),
    )

    @classmethod
    def of(
        cls,
        track: AlignedPair,
        fitted: Fitted,
        fit: str,
        out_of_fold: tuple[NDArray[np.bool_], Floats] | None = None,
        groups: NDArray[np.intp] | None = None,
    ) -> TrackQuality:
        """Return the figures of a track with their signature; ``fit`` is its end."""
        label, p, *golds = track.columns
        before = Quality.of(label == 1, p, *golds)
        after = Quality.of(*(out_of_fold or fitted(p)), *golds)
        if out_of_fold:
            # Each fold has its own curve, so p of different folds cannot be ranked together.
            after = after.with_order_of(before if fitted.calibrator.keeps_order else None)
        parts = f"calibration:{fitted.method}", f"fit:{fit}"
        gold, name = track.gold, track.name
        signed = signature(name.track, gold, track.alignment, track.edition, *parts)
        change = before.change_to(after, np.arange(gold.n) if groups is None else groups)
        figures = (gold.n, fitted, before, after, change, signed, track.in_sample)
        return cls(track.predictions.file, name.track, name.split, *figures)

    @property
    def fit(self) -> str:
        """The end of the signature: how the calibrator of the figures was fitted."""
        return self.signature.rpartition("fit:")[2]


def _of_probabilities(p: NDArray[Any], y: NDArray[Any]) -> dict[str, float]:
    brier = brier_decomposition(p, y, BINS)
    width, mass = (reliability(p, y, BINS, by) for by in ("width", "mass"))
    return {
        "brier": brier.score,
        "reliability": brier.reliability,
        "resolution": brier.resolution,
        "uncertainty": brier.uncertainty,
        "within_bins": brier.within_bins,
        "log_loss": log_loss(p, y),
        "ece": width.expected_error,
        "mce": width.maximum_error,
        "ece_mass": mass.expected_error,
        "mce_mass": mass.maximum_error,
    }


def _defined(figures: dict[str, float]) -> Figures:
    return {name: None if math.isnan(value) else value for name, value in figures.items()}
