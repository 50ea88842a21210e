"""Fitted calibrators: applied to a submission, and read from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from shroom.core.paths import Source
from shroom.core.problems import ShroomError
from shroom.detectors.arrays import label_columns
from shroom.learners.calibrators import METHODS, Calibrator
from shroom.learners.logistic import Floats
from shroom.prediction.predictions import PredictionFile, Predictions
from shroom.prediction.submission_files import name_for
from shroom.scoring.align import Pair
from shroom.scoring.result import Plain
from shroom.scoring.verdict import Checked


@dataclass(frozen=True)
class Fitted(Plain):
    """A calibrator and a threshold."""

    calibrator: Calibrator  # maps p to the annotators' proportion
    threshold: float  # the label is Hallucination if the calibrated p is greater
    gold: str = ""  # hash of the gold that it was fitted on
    keys = ("method", "calibrator", "threshold")

    @property
    def method(self) -> str:
        return self.calibrator.method

    def __call__(self, p: Floats) -> tuple[NDArray[np.bool_], Floats]:
        """Return the labels, True for Hallucination, and the calibrated p."""
        calibrated = self.calibrator(p)
        return calibrated > self.threshold, calibrated


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


def applied(fitted: Mapping[str, Fitted], checked: Checked) -> Predictions:
    """Return the calibrated predictions of a submission that has passed the check."""
    files = [
        PredictionFile(
            name_for(track.name, "-", track.predictions.file, checked.edition),
            label_columns(*fitted_for(fitted, track)(track.predictions.p)),
            track.predictions.ids,
            track.in_sample,
        )
        for track in checked.tracks
    ]
    maker, edition = "shroom calibrate --apply", checked.edition
    return Predictions(files, maker=maker, edition=edition, warnings=checked.problems)


class _Track(msgspec.Struct):
    """A track in the file, whose figures are not read."""

    method: str
    calibrator: dict[str, Any]
    threshold: Annotated[float, msgspec.Meta(ge=0, le=1)]
    gold: str


class _File(msgspec.Struct):
    """What ``shroom calibrate`` writes; its number is that of the format."""

    shroom_calibrator: Literal[1]
    tracks: Annotated[dict[str, _Track], msgspec.Meta(min_length=1)]


def calibrators_in(file: Source) -> dict[str, Fitted]:
    """Return the calibrators in a file that ``shroom calibrate`` has written, by track."""
    try:
        tracks = msgspec.json.decode(Path(file).read_bytes(), type=_File).tracks
        return {
            name: Fitted(msgspec.convert(it.calibrator, METHODS[it.method]), it.threshold, it.gold)
            for name, it in tracks.items()
        }
    except (KeyError, msgspec.MsgspecError, RecursionError) as error:
        raise ShroomError(
            f"{file} is not a calibrator written by this version of 'shroom calibrate' ({error}); "
            "repeat the fit"
        ) from error
