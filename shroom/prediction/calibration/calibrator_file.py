"""The file of fitted calibrators: JSON with their parameters, training gold and quality."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from shroom.core.paths import Source
from shroom.core.problems import ShroomError, show
from shroom.core.version import __version__
from shroom.learners.calibrators import METHODS
from shroom.prediction.calibration.quality import Fitted, TrackQuality
from shroom.scoring.align import Pair

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


def text_of(results: Sequence[TrackQuality]) -> str:
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
        raise ShroomError(f"{file} is damaged ({error}); fit it again") from error


class _Track(msgspec.Struct):
    """A track in the file, whose figures are not read."""

    method: str
    calibrator: dict[str, Any]
    threshold: Annotated[float, msgspec.Meta(ge=0, le=1)]
    n: int
    gold: str
    rows: str


Tracks = Annotated[dict[str, _Track], msgspec.Meta(min_length=1)]
