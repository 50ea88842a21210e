"""Fitted calibrators, their figures before and after, and their file."""

from __future__ import annotations

import hashlib
import json
import math
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from shroom.core.paths import Source
from shroom.core.problems import ShroomError, show
from shroom.core.version import __version__
from shroom.learners.calibrators import METHODS, Calibrator
from shroom.learners.logistic import Floats
from shroom.metrics.accuracy_by_threshold import DEFAULT_THRESHOLD
from shroom.metrics.calibration import brier_decomposition, log_loss
from shroom.metrics.classification import accuracy
from shroom.metrics.cluster_bootstrap import ratio, sums
from shroom.metrics.correlation import rho
from shroom.metrics.discrimination import auroc, average_precision
from shroom.metrics.intervals import DEFAULT_INTERVALS, estimates
from shroom.metrics.reliability import BINS, Reliability, reliability
from shroom.scoring.align import AlignedPair, Pair
from shroom.scoring.result import Plain, signature
from shroom.scoring.rows import Rows
from shroom.scoring.tables import Estimate, score_cells

Figures = dict[str, "float | None"]


@dataclass(frozen=True)
class Fitted(Plain):
    """A calibrator and a threshold, and the gold that they were fitted on."""

    calibrator: Calibrator  # maps p to the annotators' proportion
    threshold: float  # the label is Hallucination if the calibrated p is greater
    n: int = 0  # the number of items
    gold: str = ""  # hash of the gold; see shroom.scoring.rows.Rows.hash
    rows: str = ""  # hash of the gold in any order
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

    file: str  # of predictions
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


#: The key that identifies the file, and the format that this version writes and reads.
KEY, FORM = "shroom_calibrator", 1


def fitted_for(fitted: Mapping[str, Fitted], track: Pair) -> Fitted:
    """Return the calibrator of a track, or the only calibrator if the track is unknown."""
    file, name, names = track.predictions.file, track.name.track, " and ".join(fitted)
    if not track.name.split and track.gold is None:
        if len(fitted) == 1:
            return next(iter(fitted.values()))
        expected = track.edition.expected_name(track.edition.submitted)
        raise ShroomError(
            f"{file}: the name does not show the track, and there are calibrators for {names}; "
            f"rename the file to {expected}"
        )
    if name not in fitted:
        raise ShroomError(
            f"{file} belongs to {name}, but the calibrator was fitted on {names}; fit a "
            f"calibrator on {name}"
        )
    return fitted[name]


def calibrator_text(results: Sequence[TrackQuality]) -> str:
    """Return the text of the file for fitted calibrators and their figures."""
    tracks = {
        result.track: {**result.to_dict(), "gold": result.fitted.gold, "rows": result.fitted.rows}
        for result in results
    }
    content = {KEY: FORM, "shroom": __version__, "tracks": tracks}
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def calibrators_in(file: Source) -> dict[str, Fitted]:
    """Return the calibrators in a file that ``shroom calibrate`` has written, by track."""
    try:
        content = msgspec.json.decode(Path(file).read_bytes().removeprefix(BOM_UTF8))
    except (msgspec.DecodeError, RecursionError) as error:
        message = (
            f"{file} is not a calibrator written by 'shroom calibrate', because it is not JSON"
        )
        raise ShroomError(message) from error
    if not isinstance(content, dict) or KEY not in content:
        raise ShroomError(f"{file} is not a calibrator written by 'shroom calibrate'")
    if content[KEY] != FORM:
        raise ShroomError(
            f"{file}: this version of the kit reads format {FORM}, but the calibrator has format "
            f"{show(content[KEY])}; fit it again"
        )
    try:
        tracks = msgspec.convert(content.get("tracks"), Tracks)
        return {
            name: Fitted(
                METHODS[it.method].from_dict(it.calibrator), it.threshold, it.n, it.gold, it.rows
            )
            for name, it in tracks.items()
        }
    except (KeyError, msgspec.ValidationError) as error:
        raise ShroomError(f"{file} is damaged ({error}); repeat the fit") from error


class _Track(msgspec.Struct):
    """A track in the file, whose figures are not read."""

    method: str
    calibrator: dict[str, Any]
    threshold: Annotated[float, msgspec.Meta(ge=0, le=1)]
    n: int
    gold: str
    rows: str


Tracks = Annotated[dict[str, _Track], msgspec.Meta(min_length=1)]
