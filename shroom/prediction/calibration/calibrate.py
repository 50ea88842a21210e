"""Calibrating a submission, with cross-validated figures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.paths import Source
from shroom.core.problems import ShroomError, UnknownName
from shroom.learners.calibrators import METHODS, Calibrator
from shroom.learners.folds import Places, linked, out_of_fold, random_splits
from shroom.learners.logistic import Floats
from shroom.metrics.accuracy_by_threshold import DEFAULT_THRESHOLD, accuracy_by_threshold
from shroom.prediction.calibration.calibration import IN_SAMPLE, Calibration, checked_with_texts
from shroom.prediction.calibration.fitted_calibrators import Fitted, TrackQuality, rows_hash
from shroom.prediction.input_data import datapoints_by_file
from shroom.scoring.align import AlignedPair
from shroom.scoring.editions.edition import Edition
from shroom.scoring.in_memory import Data, as_source
from shroom.scoring.in_sample import refuse


@dataclass(frozen=True)
class FitSettings:
    method: str = "platt"
    threshold: bool = True
    folds: int = 10
    seed: int = 0
    in_sample: bool = False


def calibrate(
    submission: Data, gold: Data, *, edition: Edition | Source | None = None, **settings: Any
) -> Calibration:
    """Return a calibrator and a threshold for each track, with cross-validated figures.

    Parameters
    ----------
    submission, gold : path, rows or data frame
        As for :func:`shroom.scoring.scores.score`, with one file for each track. Items that share a
        hypothesis or a target are in the same fold, unless the gold is a pipe or has no texts.
    edition : Edition, str or path, optional
        The shared task; see :func:`shroom.scoring.check.check`.
    **settings
        The fields of :class:`FitSettings`: ``method``, ``threshold``, ``folds``, ``seed`` and
        ``in_sample``.

    Returns
    -------
    Calibration
        Its figures are cross-validated, unless ``in_sample`` is set.

    Raises
    ------
    InvalidInput
        With every problem, if the check finds errors.
    ShroomError
        If a setting is not valid, if two files belong to one track, if p does not increase with
        the gold, or if the detector was fitted on these items and ``in_sample`` is not set.

    Examples
    --------
    >>> calibration = calibrate("shroom/sample", "shroom/sample")
    >>> [result.track for result in calibration.results]
    ['model-agnostic', 'model-aware']
    >>> calibration.results[0].fit
    'out-of-fold.10'
    """
    chosen = FitSettings(**settings)
    if chosen.method not in METHODS:
        raise UnknownName(f"no method '{chosen.method}'; choose from {', '.join(METHODS)}")
    if chosen.folds < 2:
        raise ShroomError(f"folds: expected at least 2 folds, got {chosen.folds}")
    gold = as_source(gold, "gold")
    checked = checked_with_texts(submission, gold, edition)
    tracks = checked.aligned
    names = [track.name.track for track in tracks]
    if len(set(names)) < len(names):
        listed = ", ".join(str(track.name) for track in tracks)
        raise ShroomError(
            "a calibrator is fitted to the files of one split, with one file for each track; got "
            f"{listed}"
        )
    if not chosen.in_sample:
        refuse(tracks, "a calibrator", ", or add --in-sample")
    points = datapoints_by_file(gold, [track.gold.file for track in tracks], checked.edition)
    results = []
    for track in tracks:
        groups = linked(points.get(track.gold.file, []))
        groups = groups if len(groups) == track.gold.n else np.arange(track.gold.n)
        results.append(_fit_track(track, chosen, groups))
    return Calibration(results, checked.problems)


def fitted_on(p: Floats, y: Floats, gold_label: NDArray[Any], settings: FitSettings) -> Fitted:
    """Return a calibrator fitted to the proportions, and a threshold fitted to the labels."""
    calibrator: Calibrator = METHODS[settings.method].fitted(p, y)
    if not settings.threshold:
        return Fitted(calibrator, DEFAULT_THRESHOLD)
    return Fitted(calibrator, accuracy_by_threshold(calibrator(p), gold_label).best_threshold)


def cross_validated(
    p: Floats, y: Floats, gold_label: NDArray[Any], settings: FitSettings, groups: NDArray[np.intp]
) -> tuple[NDArray[np.bool_], Floats]:
    """Return out-of-fold labels and p; a group is never split among folds."""

    def predict(train: Places, test: Places) -> Floats:
        fitted = fitted_on(p[train], y[train], gold_label[train], settings)
        return np.column_stack(fitted(p[test]))

    splits = random_splits(groups, settings.folds, settings.seed)
    label, calibrated = np.array(out_of_fold(predict, splits)).T
    return label == 1, calibrated


def _fit_track(track: AlignedPair, settings: FitSettings, groups: NDArray[np.intp]) -> TrackQuality:
    gold = track.gold
    _, p, gold_label, y = track.columns
    file = track.predictions.file
    fitted = fitted_on(p, y, gold_label, settings)
    if settings.method != "none" and (why := _why_flat(p, y, fitted.calibrator)):
        raise ShroomError(f"{file}: {why}")
    fitted = replace(fitted, n=gold.n, gold=gold.hash, rows=rows_hash(gold))
    if settings.in_sample:
        return TrackQuality.of(track, fitted, IN_SAMPLE)
    n = int(groups.max()) + 1
    if n < 2:
        raise ShroomError(
            f"{file}: all items are linked by shared hypotheses or targets, so cross-validation is "
            "impossible; use other items"
        )
    unseen = cross_validated(p, y, gold_label, settings, groups)
    return TrackQuality.of(track, fitted, f"out-of-fold.{min(settings.folds, n)}", unseen, groups)


def _why_flat(p: Floats, y: Floats, calibrator: Calibrator) -> str:
    """Return why nothing can be calibrated; an empty text if it can."""
    if np.ptp(p) == 0:
        return "p is the same for all items, so there is nothing to calibrate; check the submission"
    if np.ptp(y) == 0:
        return (
            "the share of votes for Hallucination is the same for all items, so there is nothing "
            "to fit; use other gold labels"
        )
    if calibrator.rises:
        return ""
    return (
        "p does not increase with the share of annotators who chose Hallucination, and a "
        "calibrator never inverts p; check the gold; if p is the probability of Not "
        "Hallucination, replace it with 1 - p"
    )
