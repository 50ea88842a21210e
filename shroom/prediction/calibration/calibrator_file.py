"""The file of fitted calibrators: JSON with their parameters, training gold and quality."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.paths import Source
from shroom.core.problems import ShroomError, show
from shroom.core.version import __version__
from shroom.learners.calibrators import METHODS
from shroom.prediction.calibration.quality import Fitted, TrackQuality
from shroom.scoring.align import Pair

Floats = NDArray[np.float64]

#: The key that identifies the file, and the form that this version writes and reads.
KEY, FORM = "shroom_calibrator", 1


def fitted_for(fitted: Mapping[str, Fitted], track: Pair) -> Fitted:
    """Return the calibrator of a track.

    If neither a file's name nor gold shows the track, the calibrator of the only track is used.

    Raises
    ------
    ShroomError
        If there is none for the track, or the track is not known.
    """
    file, name, names = track.predictions.file, track.name.track, " and ".join(fitted)
    if not track.name.split and track.gold is None:
        if len(fitted) == 1:
            return next(iter(fitted.values()))
        expected = track.edition.expected_name(track.edition.submitted)
        raise ShroomError(
            f"{file}: its name does not show the track, and the calibrator has {names}; call it "
            f"{expected}"
        )
    if name not in fitted:
        raise ShroomError(
            f"{file}: is of {name}, and the calibrator was fitted on {names}; fit one on {name}"
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
    """Return the calibrators in a file that ``shroom calibrate`` has written, by track.

    Raises
    ------
    ShroomError
        If it is not such a file, or cannot be used.
    """
    try:
        content = json.loads(Path(file).read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        kind = "text" if isinstance(error, UnicodeDecodeError) else "json"
        message = f"{file}: is not a calibrator of `shroom calibrate`: not {kind}"
        raise ShroomError(message) from error
    if not isinstance(content, dict) or KEY not in content:
        raise ShroomError(f"{file}: is not a calibrator of `shroom calibrate`")
    if content[KEY] != FORM:
        raise ShroomError(
            f"{file}: is a calibrator of form {show(content[KEY])}, and this version reads form "
            f"{FORM}; fit it again"
        )
    tracks = content.get("tracks")
    if not isinstance(tracks, dict) or not tracks:
        raise ShroomError(f"{file}: has no calibrator of any track; fit it again")
    return {name: _fitted(entry, f"{file}: {name}") for name, entry in tracks.items()}


def _fitted(content: Any, place: str) -> Fitted:
    try:
        kind = METHODS[content["method"]]
        return Fitted(
            calibrator=kind.from_dict(content["calibrator"]),
            threshold=_share(content["threshold"]),
            n=int(content["n"]),
            gold=str(content["gold"]),
            rows=str(content["rows"]),
        )
    except KeyError as error:
        why = f"{error.args[0]} is missing or unknown"
    except (TypeError, ValueError, OverflowError) as error:
        why = str(error)
    raise ShroomError(f"{place}: is damaged ({why}); fit it again")


def _share(number: Any) -> float:
    if not 0 <= float(number) <= 1:  # nan is not, either
        raise ValueError("the threshold is not in [0, 1]")
    return float(number)
