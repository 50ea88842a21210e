"""A trained probe as a folder: numbers as safetensors, the rest as JSON, no code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from shroom.annotate.hidden_states import Frame
from shroom.core.atomic_writing import write_atomically
from shroom.core.extras import require
from shroom.core.problems import ShroomError
from shroom.detectors.out_of_fold import UNREADABLE
from shroom.learners.calibrators import Platt
from shroom.learners.logistic import sigmoid
from shroom.metrics.intervals import Intervals, Marked
from shroom.scoring.display.text import confidence, doubts, ends, figure, how_made, within
from shroom.scoring.result import Result, plain
from shroom.scoring.tables import Beside, Estimate, Row, Table

FORMAT = "shroom-probe-3"
ABOUT, NUMBERS = "probe.json", "probe.safetensors"
Floats = NDArray[np.float64]
#: The metrics of ``HEADS`` with their intervals.
Scores = Mapping[str, Estimate]
#: The figures that are plain values.
_PLAIN = ("right", "wrong", "best", "chosen", "floor", "c", "folds")
#: The relative median difference of states that is allowed, because devices round differently.
_ALIKE = 0.05
#: The metrics as heads of columns.
HEADS = {"accuracy": "accuracy", "balanced_accuracy": "balanced", "auroc": "AUROC"}
FLOOR = "floor: majority label"
NESTED = "best, chosen within folds"
_POSITIONS = {
    "last": "at the question's last token",
    "before-answer": "at the last token before the answer",
}


@dataclass(frozen=True)
class Linear:
    """A linear model of the states of one layer."""

    weights: Floats
    intercept: float

    def decide(self, states: NDArray[Any]) -> Floats:
        """Return the decision value of each row, above 0 if the model knows: shape [n]."""
        return np.asarray(np.asarray(states, np.float64) @ self.weights + self.intercept)


def _scores(content: Mapping[str, Any]) -> Scores:
    scores = {}
    for name in HEADS:
        ci, note = content[f"{name}_ci"], content.get(f"{name}_ci_note")
        scores[name] = Estimate(content[name], ci and (Marked(ci, note) if note else tuple(ci)))
    return scores


@dataclass(frozen=True)
class Figures:
    """The figures of a training, all out of fold."""

    right: int
    wrong: int
    best: int
    chosen: Sequence[int]  # the layer that each fold chose
    c: float
    folds: int
    # Of the best layer, which each fold chooses without the questions that it predicts.
    nested: Scores
    layers: Mapping[int, Scores]
    how: Intervals

    @property
    def floor(self) -> dict[str, float]:
        """The figures of the majority label."""
        share = max(self.right, self.wrong) / (self.right + self.wrong)
        return {"accuracy": share, "balanced_accuracy": 0.5, "auroc": 0.5}

    def to_dict(self) -> dict[str, Any]:
        figures = {**{name: getattr(self, name) for name in _PLAIN}, "seed": self.how.seed}
        layers = [{"layer": n, **scores} for n, scores in self.layers.items()]
        values: dict[str, Any] = plain({**figures, "nested": self.nested, "layers": layers})
        return {**values, **self.how.to_dict()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Figures:
        """Return the figures of :meth:`to_dict`; raises KeyError, TypeError, ValueError."""
        settings = content.get("intervals", {"resamples": 0, "seed": content["seed"]})
        return cls(
            **{name: content[name] for name in _PLAIN if name != "floor"},
            nested=_scores(content["nested"]),
            layers={int(row["layer"]): _scores(row) for row in content["layers"]},
            how=Intervals(**{key: it for key, it in settings.items() if key != "shares"}),
        )


@dataclass(frozen=True)
class LinearProbe:
    """A linear probe with everything needed to use it."""

    model: str
    revision: str | None
    layer: int
    frame: Frame
    linear: Linear
    curve: Platt | None  # ``None`` if p is not calibrated
    check: Floats | None  # the model's state after ``CHECK``, if it is stored

    def p(self, states: NDArray[Any]) -> Floats:
        """Return p(knows) of each row of the layer's states: shape [n]."""
        p = sigmoid(self.linear.decide(states))
        return self.curve(p) if self.curve else p

    def refuse_another(self, state: NDArray[Any], name: str) -> None:
        """Raise :class:`ShroomError` if a model's state after ``CHECK`` differs."""
        same = state.shape == self.linear.weights.shape
        if same and self.check is not None:
            apart = np.median(np.abs(state - self.check))
            same = apart <= _ALIKE * np.median(np.abs(self.check))
        if not same:
            raise ShroomError(
                f"{name} is not the model that the probe was trained on ({self.model}), or its "
                "weights or tokenizer have changed; use the original model, or train a new probe"
            )


@dataclass(frozen=True, repr=False)
class SavedProbe(LinearProbe, Result):
    """A probe that this kit has trained, and the figures of its training."""

    figures: Figures
    left_out: int
    keys = ("**about", "**figures")
    panels_by = "of_probe"
    figures_after = 0
    heading = "Knowledge probe"

    @property
    def verdict(self) -> str:
        """Whether the probe beats chance, and whether its labels beat the majority label."""
        figures, nested, effects = self.figures, self.figures.nested, []
        auroc, accuracy = nested["auroc"], nested["accuracy"]
        n = figures.right + figures.wrong
        if auroc.ci is None:
            return (
                f"The probe cannot be judged: its AUROC of {auroc} has no confidence interval "
                f"(n = {n})."
            )
        for name in ("auroc", "accuracy"):
            low, high = nested[name].ci or (0.0, 1.0)
            worse = "worse than" if high < figures.floor[name] else "not significantly better than"
            effects.append("better than" if low > figures.floor[name] else worse)
        return (
            f"The probe is {effects[0]} chance at predicting which questions {self.name} can "
            f"answer: its cross-validated AUROC is {figure(auroc.value)} "
            f"({within(auroc.ci, figures.how)}, n = {n}). Its accuracy of "
            f"{figure(accuracy.value)} ({ends(accuracy.ci)}) is {effects[1]} the majority label's "
            f"{figure(figures.floor['accuracy'])}."
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
        out = f"; left out: {self.left_out}" if self.left_out else ""
        n = figures.right + figures.wrong
        yield f"{n} questions: {figures.right} 'all-right', {figures.wrong} 'all-wrong'{out}"
        yield f"{self.frame.mode} mode, hidden states {_POSITIONS[self.frame.position]}"
        yield f"cross-validated: {figures.folds} folds, seed {how.seed}, C chosen in each fold"
        yield (
            f"* layer {figures.best} was chosen because its AUROC is the highest, so this AUROC "
            f"is too optimistic; the row '{NESTED}' is unbiased"
        )
        if how.resamples:
            made = how_made(how, f"{how.resamples} bootstrap resamples of the questions")
            yield f"{made}; the probe is not refitted"
            rows = [(f"layer {n}", scores) for n, scores in figures.layers.items()]
            yield from doubts(
                (f"{row}, {name}", it.ci)
                for row, scores in [(NESTED, figures.nested), *rows]
                for name, it in scores.items()
            )
        if self.curve and not self.curve.rises:
            yield "in cross-validation, the best probe does not beat chance, so its p is constant"

    @property
    def about(self) -> dict[str, Any]:
        """The model and the settings of the probe, as plain values for JSON."""
        return {
            "model": self.model,
            "revision": self.revision,
            "layer": self.layer,
            "frame": asdict(self.frame),
            "calibration": self.curve and asdict(self.curve),
            "left_out": self.left_out,
        }

    def save(self, folder: Path) -> None:
        from safetensors.numpy import save

        numbers = save({"weights": self.linear.weights, "check": np.asarray(self.check)})
        about = {
            "format": FORMAT,
            **self.about,
            "intercept": self.linear.intercept,
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
                raise ValueError("the two files do not match")
            vectors = load(data)
            return cls(
                model=about["model"],
                revision=about["revision"],
                layer=about["layer"],
                frame=msgspec.convert(about["frame"], Frame),
                linear=Linear(vectors["weights"], about["intercept"]),
                curve=Platt(**about["calibration"]),
                check=vectors["check"],
                figures=Figures.from_dict(about["figures"]),
                left_out=about["left_out"],
            )
        except (*UNREADABLE, SafetensorError) as error:
            raise ShroomError(
                f"{folder} is damaged, or was written by another version of the kit; train the "
                "probe again"
            ) from error


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
