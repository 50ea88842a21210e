"""A trained probe as a folder: numbers in safetensors, all else in json, no code."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.annotate.probe.hidden_states import Frame
from shroom.annotate.probe.site_search import Figures, Probe
from shroom.annotate.probe.sites import KINDS, Site
from shroom.annotate.probe.state_store import of_head
from shroom.core.atomic_writing import write_atomically
from shroom.core.extras import require
from shroom.core.problems import ShroomError
from shroom.core.version import __version__
from shroom.detectors.out_of_fold import UNREADABLE
from shroom.learners.calibrators import Platt
from shroom.learners.curves import sigmoid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

FORMAT = "shroom-probe-1"
ABOUT, NUMBERS = "probe.json", "probe.safetensors"
_VECTORS = ("mean", "scale", "weights", "check")
#: A question of no data set: the last block's state after it identifies a model.
CHECK = "Which of the two was there before the other?"
#: By what part that may differ, number by number in the middle: devices round, each in its way.
_ALIKE = 0.05


@dataclass(frozen=True)
class SavedProbe:
    """A probe, with everything needed to use it and the figures of its training.

    Attributes
    ----------
    model, revision : str
        Whose states it judges; as for :func:`shroom.inference.hub.model`.
    site : Site
        Where.
    heads : int
        How many attention heads share a layer's states.
    frame : Frame
        The prompt around a question.
    probe : Probe
        From a state to a decision.
    curve : Platt
        From there to p.
    check : array, shape [width]
        The state of ``CHECK`` after the last block.
    figures : Figures
        Of training.
    left_out : dict of int
        How many questions were left out of it, by why.
    """

    model: str
    revision: str | None
    site: Site
    heads: int
    frame: Frame
    probe: Probe
    curve: Platt
    check: NDArray[np.float64]
    figures: Figures
    left_out: Mapping[str, int]

    @property
    def name(self) -> str:
        """The name of the model, or of its folder."""
        place = Path(self.model)
        return place.name if place.is_absolute() else self.model

    def site_in(self, depth: int) -> Site:
        """Return the place that the probe reads; for one head, all heads of its layer."""
        del depth
        return replace(self.site, head=None)

    def p(self, states: NDArray[Any]) -> NDArray[np.float64]:
        """Return the calibrated p(knows) of each row of states at the place: shape [n].

        Parameters
        ----------
        states : array, shape [n, width]
            Of all heads, where the place is one of them.
        """
        return self.curve(sigmoid(self.probe.decide(of_head(states, self.site, self.heads))))

    def refuse_another(self, state: NDArray[Any], name: str) -> None:
        """Raise :class:`ShroomError` if the last block's state of ``CHECK`` differs."""
        same = state.shape == self.check.shape
        apart = np.median(np.abs(state - self.check)) if same else np.inf
        if not apart <= _ALIKE * np.median(np.abs(self.check)):
            raise ShroomError(
                f"{name}: is not the model that the probe was trained on ({self.model}), or its "
                "weights or tokenizer have changed; name that one, or train a probe of this one"
            )

    def about(self) -> dict[str, Any]:
        """Return plain values for json."""
        return {
            "model": self.model,
            "revision": self.revision,
            "site": vars(self.site),
            "heads": self.heads,
            "frame": self.frame.to_dict(),
            "calibration": self.curve.to_dict(),
            "left_out": dict(self.left_out),
        }

    def save(self, folder: Path) -> None:
        """Write the probe."""
        from safetensors.numpy import save

        vectors = (self.probe.mean, self.probe.scale, self.probe.weights, self.check)
        numbers = save(dict(zip(_VECTORS, map(np.ascontiguousarray, vectors))))
        about = {
            "format": FORMAT,
            "kit": __version__,
            **self.about(),
            "intercept": self.probe.intercept,
            "numbers": digest(numbers),
            "figures": self.figures.to_dict(),
        }
        write_atomically(folder / NUMBERS, numbers)
        text = json.dumps(about, indent=1, ensure_ascii=False, allow_nan=False)
        write_atomically(folder / ABOUT, text + "\n")

    @classmethod
    def load(cls, folder: Path) -> SavedProbe:
        """Return the probe that :meth:`save` wrote.

        Raises
        ------
        ShroomError
            Where it is not there, or damaged.
        """
        require("models", "safetensors", "scikit-learn")
        from safetensors import SafetensorError
        from safetensors.numpy import load

        if not (folder / ABOUT).is_file():
            raise ShroomError(
                f"{folder}: has no {ABOUT}, so it is not a probe; 'shroom probe train' makes one"
            )
        try:
            about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
            data = (folder / NUMBERS).read_bytes()
            if about["format"] != FORMAT or about["numbers"] != digest(data):
                raise ValueError("they do not belong together")
            return cls._of(about, load(data))
        except (*UNREADABLE, SafetensorError) as error:
            raise ShroomError(
                f"{folder}: is not a probe that this version of the kit can read, or is damaged; "
                "train it again"
            ) from error

    @classmethod
    def _of(cls, about: Mapping[str, Any], numbers: Mapping[str, NDArray[Any]]) -> SavedProbe:
        mean, scale, weights, check = (np.asarray(numbers[key], np.float64) for key in _VECTORS)
        site = Site(about["site"]["kind"], int(about["site"]["layer"]), about["site"]["head"])
        slope, height = (float(about["calibration"][key]) for key in ("slope", "intercept"))
        intercept = float(about["intercept"])
        sound = site.kind in KINDS and mean.ndim == 1 and mean.shape == scale.shape == weights.shape
        values = [*mean, *scale, *weights, *check, slope, height, intercept]
        if not sound or not np.isfinite(values).all() or not (scale > 0).all():
            raise ValueError("numbers are missing, or not finite")
        return cls(
            model=str(about["model"]),
            revision=about["revision"],
            site=site,
            heads=int(about["heads"]),
            frame=Frame.from_dict(about["frame"]),
            probe=Probe(mean, scale, weights, intercept),
            curve=Platt(slope, height),
            check=check,
            figures=Figures.from_dict(about["figures"]),
            left_out=dict(about["left_out"]),
        )


def identity(folder: Path) -> str:
    """Return an identifier of a probe."""
    return digest((folder / ABOUT).read_bytes())


def digest(data: bytes) -> str:
    """Return a digest of the content of a file."""
    return hashlib.sha256(data).hexdigest()[:16]
