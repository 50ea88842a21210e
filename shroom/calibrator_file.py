"""What was fitted for a track, and its file: json that tells on what, and what it is worth."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shroom.calibrators import METHODS
from shroom.problems import ShroomError, show
from shroom.signature import gold_hash
from shroom.submission import TRACKS
from shroom.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from shroom.align import Track
    from shroom.calibration_quality import Calibration
    from shroom.calibrators import Calibrator
    from shroom.table import Table

    Floats = NDArray[np.float64]

#: The key that tells what the file is, and the form that this version writes and reads.
KEY, FORM = "shroom_calibrator", 1


@dataclass(frozen=True)
class Fitted:
    """A calibrator and a threshold, and what they were fitted on.

    Attributes
    ----------
    calibrator : Calibrator
        From p to the annotators' proportion.
    threshold : float
        The label is Hallucination where the calibrated p is greater.
    n : int
        The number of items.
    gold : str
        Their gold's hash; see :func:`shroom.signature.gold_hash`.
    rows : str
        Their gold's hash whatever its order; see :func:`rows_hash`.
    """

    calibrator: Calibrator
    threshold: float
    n: int
    gold: str
    rows: str

    def __call__(self, p: Floats) -> tuple[NDArray[np.bool_], Floats]:
        """Return the labels, True for Hallucination, and the calibrated p."""
        calibrated = self.calibrator(p)
        return calibrated > self.threshold, calibrated

    def was_fitted_on(self, gold: Table) -> bool:
        """Whether a gold is the one that was fitted on, under whatever name and in any order."""
        return gold_hash(gold) == self.gold or rows_hash(gold) == self.rows


def fitted_for(fitted: Mapping[str, Fitted], track: Track) -> Fitted:
    """Return what calibrates a track.

    Where neither a file's name nor gold tells the track, a calibrator of one track serves.

    Raises
    ------
    ShroomError
        Where there is none for it, or the track cannot be told.
    """
    file, wanted, known = track.predictions.file, track.name.track, " and ".join(fitted)
    if not track.name.split and track.gold is None:
        if len(fitted) == 1:
            return next(iter(fitted.values()))
        raise ShroomError(
            f"{file}: its name does not tell the track, and the calibrator holds {known}; call it "
            "test.model-aware.json or the like"
        )
    if wanted not in fitted:
        raise ShroomError(
            f"{file}: is of {wanted}, and the calibrator was fitted on {known}; fit one on {wanted}"
        )
    return fitted[wanted]


def rows_hash(gold: Table) -> str:
    """Return hexadecimal digits that tell one gold from another, whatever the order of its rows.

    They depend on ids, labels and p, and on the texts where they have been read.
    """
    ids = [None] * gold.n if gold.ids is None else gold.ids.tolist()
    texts = [None] * gold.n if gold.texts is None else gold.texts
    rows = zip(ids, gold.label.tolist(), (gold.p + 0.0).tolist(), texts)
    digests = sorted(hashlib.sha256(repr(row).encode()).digest() for row in rows)
    return hashlib.sha256(b"".join(digests)).hexdigest()[:12]


def text_of(calibration: Calibration) -> str:
    """Return the file's text for what was fitted, with its figures."""
    tracks = {
        result.track: {
            **result.to_dict(),
            "gold": result.fitted.gold,
            "rows": result.fitted.rows,
        }
        for result in calibration.results
    }
    content = {KEY: FORM, "shroom": __version__, "tracks": tracks}
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def fitted_in(text: str, file: str) -> dict[str, Fitted]:
    """Return what a file holds, by track.

    Parameters
    ----------
    text : str
        What stands in the file.
    file : str
        How messages name it.

    Raises
    ------
    ShroomError
        Where it is no calibrator, or one that cannot be used.

    Examples
    --------
    >>> fitted_in("[]", "x.json")
    Traceback (most recent call last):
    shroom.problems.ShroomError: x.json: is no calibrator of `shroom calibrate`
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ShroomError(f"{file}: is no calibrator of `shroom calibrate`: not json") from error
    if not isinstance(content, dict) or KEY not in content:
        raise ShroomError(f"{file}: is no calibrator of `shroom calibrate`")
    if content[KEY] != FORM:
        raise ShroomError(
            f"{file}: is a calibrator of form {show(content[KEY])}, and this version reads form "
            f"{FORM}; fit it again"
        )
    tracks = content.get("tracks")
    if not isinstance(tracks, dict) or not tracks or not set(tracks) <= set(TRACKS):
        raise ShroomError(f"{file}: holds no calibrators of {' and '.join(TRACKS)}; fit it again")
    return {name: _fitted(one, f"{file}: {name}") for name, one in tracks.items()}


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
