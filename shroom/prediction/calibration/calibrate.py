"""Calibrating a submission: a calibrator and a threshold for each track, fitted and applied.

A calibrator is not scored on the data that it was fitted on, unless the user asks for that: the
figures on these data are those of p that was calibrated out of fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.problems import ShroomError
from shroom.learners.calibrators import METHODS
from shroom.metrics.accuracy_by_threshold import DEFAULT_THRESHOLD, accuracy_by_threshold
from shroom.prediction.calibration.quality import (
    Calibration,
    Fitted,
    Quality,
    TrackQuality,
    rows_hash,
)
from shroom.scoring.in_sample import refuse
from shroom.scoring.signature import gold_hash, signature

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shroom.learners.calibrators import Calibrator
    from shroom.scoring.align import AlignedTrack

    Floats = NDArray[np.float64]

#: How the calibrator of a figure was fitted, as in signatures.
IN_SAMPLE = "in-sample"
ELSEWHERE = "other-gold"


@dataclass(frozen=True)
class FitSettings:
    """Settings of a fit.

    Attributes
    ----------
    method : str
        One of ``METHODS``.
    threshold : bool
        Whether to fit a threshold as well; it is 0.5 otherwise.
    folds : int
        Number of folds of the cross-validation; fewer if there are fewer items.
    seed : int
        Seed of the division into folds.
    in_sample : bool
        Whether to score on the data of the fit, instead of out of fold.
    """

    method: str = "platt"
    threshold: bool = True
    folds: int = 10
    seed: int = 0
    in_sample: bool = False


def fit(
    tracks: Sequence[AlignedTrack], settings: FitSettings = FitSettings()
) -> tuple[dict[str, Fitted], Calibration]:
    """Return the calibrator of each track, and its figures on unseen items.

    Parameters
    ----------
    tracks : sequence of AlignedTrack
        Tracks that passed the check; one of each kind.
    settings : FitSettings
        Settings of the fit.

    Returns
    -------
    fitted : dict of Fitted
        Calibrator and threshold of each track.
    figures : Calibration
        Figures out of fold, unless ``settings`` are in-sample.

    Raises
    ------
    ShroomError
        If two files are of one track, p does not rise with the gold, or the detector was fitted on
        these items and ``settings`` are not in-sample.

    Examples
    --------
    >>> from shroom.scoring.check import check
    >>> fitted, figures = fit(check("shroom/sample", "shroom/sample").aligned)
    >>> sorted(fitted)
    ['model-agnostic', 'model-aware']
    >>> figures.results[0].fit
    'out-of-fold.10'
    """
    names = [track.name.track for track in tracks]
    if len(set(names)) < len(names):
        listed = ", ".join(str(track.name) for track in tracks)
        raise ShroomError(
            f"a calibrator is fitted on one file for each track, and these are {listed}; name "
            "those of one split"
        )
    if not settings.in_sample:
        refuse(tracks, "a calibrator", ", or say --in-sample")
    results = [_fit_track(track, settings) for track in tracks]
    return {result.track: result.fitted for result in results}, Calibration(results)


def apply(fitted: Fitted, track: AlignedTrack, *, in_sample: bool = False) -> TrackQuality:
    """Return the figures of a track before and after calibration.

    Parameters
    ----------
    fitted : Fitted
        Calibrator and threshold.
    track : AlignedTrack
        A track that passed the check.
    in_sample : bool
        Whether to score also on the gold of the fit.

    Raises
    ------
    ShroomError
        If it was fitted on this gold, and ``in_sample`` is not set.
    """
    seen = fitted.was_fitted_on(track.gold)
    if seen and not in_sample:
        raise ShroomError(
            f"{track.gold.file}: is the gold that the calibrator was fitted on "
            f"({fitted.gold}), so a score on it says little; fitting it has shown cross-validated "
            "figures; give other gold or none, or say --in-sample"
        )
    label, p, gold_label, gold_p = track.columns
    before = Quality.of(label == 1, p, gold_label, gold_p)
    after = Quality.of(*fitted(p), gold_label, gold_p)
    return _quality(track, fitted, before, after, IN_SAMPLE if seen else ELSEWHERE)


def fitted_on(
    p: Floats, y: Floats, gold_label: NDArray[Any], settings: FitSettings
) -> tuple[Calibrator, float]:
    """Return a calibrator and a threshold.

    Parameters
    ----------
    p, y : array, shape [n]
        A system's p, and the annotators' proportions, to which the calibrator is fitted.
    gold_label : array, shape [n]
        The annotators' majority, to which the threshold is fitted, for the calibrated p.
    settings : FitSettings
        Settings of the fit.

    Examples
    --------
    >>> p, y = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.0, 0.2, 0.8, 1.0])
    >>> fitted_on(p, y, y > 0.5, FitSettings("none"))
    (Unchanged(), 0.25)
    """
    calibrator: Calibrator = METHODS[settings.method].fitted(p, y)
    if not settings.threshold:
        return calibrator, DEFAULT_THRESHOLD
    return calibrator, accuracy_by_threshold(calibrator(p), gold_label).best_threshold


def out_of_fold(
    p: Floats, y: Floats, gold_label: NDArray[Any], settings: FitSettings
) -> tuple[NDArray[np.bool_], Floats]:
    """Return labels and p, each from the calibrator that was fitted on the other folds.

    Parameters
    ----------
    p, y, gold_label, settings
        As for :func:`fitted_on`, with at least two items.

    Returns
    -------
    label, p : array, shape [n]
    """
    folds = np.arange(len(p)) % min(settings.folds, len(p))
    folds = np.random.default_rng(settings.seed).permutation(folds)
    label, calibrated = np.empty(len(p), bool), np.empty(len(p))
    for fold in range(int(folds.max()) + 1):
        held, rest = folds == fold, folds != fold
        calibrator, threshold = fitted_on(p[rest], y[rest], gold_label[rest], settings)
        calibrated[held] = calibrator(p[held])
        label[held] = calibrated[held] > threshold
    return label, calibrated


def _fit_track(track: AlignedTrack, settings: FitSettings) -> TrackQuality:
    gold = track.gold
    label, p, gold_label, y = track.columns
    file = track.predictions.file
    calibrator, threshold = fitted_on(p, y, gold_label, settings)
    if settings.method != "none" and (why := _why_flat(p, y, calibrator)):
        raise ShroomError(f"{file}: {why}")
    fitted = Fitted(calibrator, threshold, gold.n, gold_hash(gold), rows_hash(gold))
    before = Quality.of(label == 1, p, gold_label, y)
    if settings.in_sample:
        return _quality(track, fitted, before, Quality.of(*fitted(p), gold_label, y), IN_SAMPLE)
    if gold.n < 2:
        raise ShroomError(f"{file}: one item cannot be cross-validated; give more items")
    unseen = Quality.of(*out_of_fold(p, y, gold_label, settings), gold_label, y)
    # Each fold has a curve of its own, and p from several curves has no order of one system.
    after = unseen.with_order_of(before if calibrator.keeps_order else None)
    kind = f"out-of-fold.{min(settings.folds, gold.n)}"
    return _quality(track, fitted, before, after, kind)


def _why_flat(p: Floats, y: Floats, calibrator: Calibrator) -> str:
    """Return why a calibrator is useless; an empty text if it is not."""
    if np.ptp(p) == 0:
        return "p is the same everywhere, so there is nothing to calibrate; give each item its own"
    if np.ptp(y) == 0:
        return "the annotators' proportion is the same everywhere, so there is nothing to fit to"
    if calibrator.rises:
        return ""
    return (
        "p does not rise with the annotators' proportion, and a calibrator never turns p round; "
        "check that p is that of Hallucination (if it is not, use 1 - p) and that the gold is right"
    )


def _quality(
    track: AlignedTrack, fitted: Fitted, before: Quality, after: Quality, kind: str
) -> TrackQuality:
    gold = track.gold
    parts = f"calibration:{fitted.calibrator.method}", f"fit:{kind}"
    signed = signature(track.name.track, gold, track.alignment, track.edition, *parts)
    name, seen = track.name, track.in_sample
    return TrackQuality(name.track, name.split, gold.n, fitted, before, after, signed, seen)
