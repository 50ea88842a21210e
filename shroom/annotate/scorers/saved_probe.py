"""A trained probe as a folder: numbers as safetensors, the rest as JSON, no code."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from shroom.annotate.scorers.hidden_states import QUESTION, Frame
from shroom.annotate.scorers.probe_fitting import Figures, Probe
from shroom.core.atomic_writing import write_atomically
from shroom.core.extras import require
from shroom.core.printing import counted
from shroom.core.problems import ShroomError
from shroom.core.version import __version__
from shroom.detectors.out_of_fold import UNREADABLE
from shroom.inference import hub
from shroom.learners.calibrators import Platt
from shroom.learners.logistic import sigmoid
from shroom.scoring.display.text import confidence, doubts, ends, figure, how_made, within
from shroom.scoring.result import Result
from shroom.scoring.tables import Beside, Estimate, Row, Table

FORMAT = "shroom-probe-2"
ABOUT, NUMBERS = "probe.json", "probe.safetensors"
_VECTORS = ("mean", "scale", "weights", "check")
#: The relative median difference of states that is allowed, because devices round differently.
_ALIKE = 0.05
#: The metrics as heads of columns.
HEADS = {"accuracy": "accuracy", "balanced_accuracy": "balanced", "auroc": "AUROC"}
FLOOR = "floor: majority label"
NESTED = "best, chosen within folds"
#: Endings of PyTorch files, and where the source's notebook writes the layer.
TORCH, _LAYER = (".pt", ".pth", ".bin"), re.compile(r"layer_?(\d+)")
_POSITIONS = {
    "last": "at the question's last token",
    "before-answer": "at the last token before the answer",
}


@dataclass(frozen=True, repr=False)
class SavedProbe(Result):
    """A probe with everything needed to use it, and the figures of its training."""

    model: str
    revision: str | None
    layer: int
    frame: Frame
    probe: Probe
    curve: Platt
    check: NDArray[np.float64]
    figures: Figures
    left_out: Mapping[str, int]
    keys = ("**about", "**figures")
    panels_by = "of_probe"
    figures_after = 0
    heading = "Knowledge probe"

    def __repr__(self) -> str:
        auroc = self.figures.nested["auroc"]
        return (
            f"SavedProbe({self.name}, layer {self.layer}, AUROC {auroc} {auroc.ends}".strip() + ")"
        )

    @property
    def verdict(self) -> str:
        """Whether the probe beats chance, and whether its labels beat the majority label."""
        figures = self.figures
        auroc, accuracy = (figures.nested[name] for name in ("auroc", "accuracy"))
        n = figures.right + figures.wrong
        if auroc.ci is None:
            return (
                f"The probe cannot be judged: its AUROC of {auroc} has no confidence interval "
                f"(n = {n})."
            )
        effect = {1: "better than", -1: "worse than", 0: "not significantly better than"}
        chance, majority = (
            effect[compared(figures.nested[name].ci, figures.floor[name])]
            for name in ("auroc", "accuracy")
        )
        return (
            f"The probe is {chance} chance at predicting which questions {self.name} can answer: "
            f"its cross-validated AUROC is {figure(auroc.value)} ({within(auroc.ci, figures.how)}, "
            f"n = {n}). Its accuracy of {figure(accuracy.value)} ({ends(accuracy.ci)}) is "
            f"{majority} the majority label's {figure(figures.floor['accuracy'])}."
        )

    @property
    def name(self) -> str:
        place = Path(self.model)
        return place.name if place.is_absolute() else self.model

    def tables(self) -> list[Table]:
        """Return the scores of all layers, of the best layer within folds, and of the floor."""
        figures = self.figures
        rows: list[Row | None] = [
            (f"layer {n}{' *' if n == figures.best else ''}", *scores.values())
            for n, scores in figures.layers.items()
        ]
        floor = Beside((FLOOR, *(Estimate(figures.floor[name]) for name in HEADS)))
        rows += [None, Beside((NESTED, *figures.nested.values())), floor]
        scores = Table(heads=("", *HEADS.values()), rows=rows, ci=confidence(figures.how))
        return [scores, Table(notes=[f"- {note}" for note in self._notes()])]

    def _notes(self) -> Iterator[str]:
        figures, how = self.figures, self.figures.how
        out = f"; {describe_left_out(self.left_out)}" if self.left_out else ""
        counts = ", ".join(
            f"layer {n} in {counted(k, 'fold')}" for n, k in Counter(figures.chosen).items()
        )
        n = figures.right + figures.wrong
        yield f"{n} questions: {figures.right} 'all-right', {figures.wrong} 'all-wrong'{out}"
        yield f"{self.frame.mode} mode, hidden states {_POSITIONS[self.frame.position]}"
        yield f"cross-validated: {figures.folds} folds, seed {how.seed}, C chosen in each fold"
        yield (
            f"* layer {figures.best} was chosen because its AUROC is the highest, so this AUROC "
            f"is too optimistic; the row '{NESTED}' is unbiased ({counts})"
        )
        if how.resamples:
            made = how_made(how, f"{how.resamples} bootstrap resamples of the questions")
            yield f"{made}; the probe is not refitted"
            parts = {NESTED: figures.nested}
            parts |= {f"layer {n}": scores for n, scores in figures.layers.items()}
            yield from doubts(
                (f"{part}, {name}", it.ci)
                for part, scores in parts.items()
                for name, it in scores.items()
            )
        if not self.curve.rises:
            yield "in cross-validation, the best probe does not beat chance, so its p is constant"

    def p(self, states: NDArray[Any]) -> NDArray[np.float64]:
        """Return the calibrated p(knows) of each row of the layer's states: shape [n]."""
        return self.curve(sigmoid(self.probe.decide(states)))

    def refuse_another(self, state: NDArray[Any], name: str) -> None:
        """Raise :class:`ShroomError` if a model's state of :attr:`check` differs."""
        same = state.shape == self.check.shape
        apart = np.median(np.abs(state - self.check)) if same else np.inf
        if not apart <= _ALIKE * np.median(np.abs(self.check)):
            raise ShroomError(
                f"{name} is not the model that the probe was trained on ({self.model}), or its "
                "weights or tokenizer have changed; use the original model, or train a new probe"
            )

    @property
    def about(self) -> dict[str, Any]:
        """The model and the settings of the probe, as plain values for JSON."""
        return {
            "model": self.model,
            "revision": self.revision,
            "layer": self.layer,
            "frame": asdict(self.frame),
            "calibration": asdict(self.curve),
            "left_out": dict(self.left_out),
        }

    def save(self, folder: Path) -> None:
        from safetensors.numpy import save

        vectors = (self.probe.mean, self.probe.scale, self.probe.weights, self.check)
        numbers = save(dict(zip(_VECTORS, map(np.ascontiguousarray, vectors))))
        about = {
            "format": FORMAT,
            "kit": __version__,
            **self.about,
            "intercept": self.probe.intercept,
            "numbers": digest(numbers),
            "figures": self.figures.to_dict(),
        }
        write_atomically(folder / NUMBERS, numbers)
        text = json.dumps(about, indent=1, ensure_ascii=False, allow_nan=False)
        write_atomically(folder / ABOUT, text + "\n")

    @classmethod
    def load(cls, folder: Path) -> SavedProbe:
        """Return the probe that :meth:`save` wrote."""
        require("models", "safetensors", "scikit-learn")
        from safetensors import SafetensorError
        from safetensors.numpy import load

        if not (folder / ABOUT).is_file():
            raise ShroomError(
                f"{folder} contains no {ABOUT}, so it is not a probe; to train a probe, use "
                "'shroom annotate probe train'"
            )
        try:
            about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
            data = (folder / NUMBERS).read_bytes()
            if about["format"] != FORMAT or about["numbers"] != digest(data):
                raise ValueError("they do not belong together")
            return cls._of(about, load(data))
        except (*UNREADABLE, SafetensorError) as error:
            raise ShroomError(
                f"{folder} is damaged, or was written by another version of the kit; train the "
                "probe again"
            ) from error

    @classmethod
    def _of(cls, about: Mapping[str, Any], numbers: Mapping[str, NDArray[Any]]) -> SavedProbe:
        mean, scale, weights, check = (np.asarray(numbers[key], np.float64) for key in _VECTORS)
        slope, height = (float(about["calibration"][key]) for key in ("slope", "intercept"))
        intercept = float(about["intercept"])
        sound = mean.ndim == 1 and mean.shape == scale.shape == weights.shape
        values = [*mean, *scale, *weights, *check, slope, height, intercept]
        if not sound or not np.isfinite(values).all() or not (scale > 0).all():
            raise ValueError("numbers are missing, or not finite")
        return cls(
            model=str(about["model"]),
            revision=about["revision"],
            layer=int(about["layer"]),
            frame=msgspec.convert(about["frame"], Frame),
            probe=Probe(mean, scale, weights, intercept),
            curve=Platt(slope, height),
            check=check,
            figures=Figures.from_dict(about["figures"]),
            left_out=dict(about["left_out"]),
        )


@dataclass(frozen=True)
class LinearProbe:
    """A probe of the source's program: a linear layer with a sigmoid, on the raw state."""

    # Its layer may be negative, and its identity is a digest of the file, the model and the layer.

    model: str
    layer: int
    weights: NDArray[np.float64]
    bias: float
    identity: str
    frame: ClassVar[Frame] = Frame("completion", QUESTION, "last", "", "")
    revision: ClassVar[str | None] = None

    @classmethod
    def load(cls, path: Path, model: str | None, layer: int | None) -> LinearProbe:
        """Return the probe whose ``state_dict`` is in a PyTorch file."""
        named = _LAYER.findall(path.stem)
        if model is None:
            raise ShroomError(f"{path} contains only weights; specify the model of the probe")
        if layer is None and not named:
            raise ShroomError(f"{path} contains only weights; specify the layer of the probe")
        number = int(named[-1]) if layer is None else layer
        require("models", "torch")
        import torch

        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
            (weights,) = np.asarray(state.pop("linear.weight").double().numpy())
            (bias,) = np.asarray(state.pop("linear.bias").double().numpy())
        except OSError as error:
            raise ShroomError(f"{path}: cannot be read: {error.strerror or error}") from error
        except Exception as error:  # a file can make the library raise anything
            raise _unreadable(path) from error
        if state or weights.ndim != 1 or not np.isfinite([*weights, bias]).all():
            raise _unreadable(path)
        about = f"{digest(path.read_bytes())} {hub.identity(model)} layer {number}"
        return cls(model, number, weights, float(bias), about)

    def p(self, states: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(sigmoid(np.asarray(states, np.float64) @ self.weights + self.bias))

    def refuse_another(self, state: NDArray[Any], name: str) -> None:
        """Raise :class:`ShroomError` if states and probe have different sizes."""
        if state.shape != self.weights.shape:
            sizes = f"its states have {len(state)} values, but the probe has {len(self.weights)}"
            raise ShroomError(f"{name} is not the model that the probe was trained on: {sizes}")


def _unreadable(path: Path) -> ShroomError:
    return ShroomError(
        f"{path} is not the state_dict of a linear probe (linear.weight and linear.bias); only "
        "weights are read, never pickled objects"
    )


def compared(ci: tuple[float, float] | None, floor: float) -> int:
    """Return 1 if an interval is above a floor, -1 if it is below, 0 if neither."""
    low, high = ci or (floor, floor)
    return int(low > floor) - int(high < floor)


def describe_left_out(left_out: Mapping[str, int]) -> str:
    """Return a description of the questions that were left out."""
    return "left out: " + ", ".join(f"{n} {why}" for why, n in left_out.items())


def identity(folder: Path) -> str:
    return digest((folder / ABOUT).read_bytes())


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
