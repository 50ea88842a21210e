"""What fitting leaves of a stack, in a file and in memory."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.atomic_writing import write_atomically
from shroom.core.problems import ShroomError
from shroom.detectors.lexical import FEATURES
from shroom.detectors.out_of_fold import UNREADABLE, TrainingItems
from shroom.detectors.stack_inputs import inputs_of, restored
from shroom.learners.logistic import Logistic

if TYPE_CHECKING:
    from shroom.detectors.base import Detector
    from shroom.detectors.stack_inputs import Input

#: The kind of model that weighs the detectors.
LEARNER = "logistic"


@dataclass(frozen=True)
class State:
    """What fitting leaves.

    Attributes
    ----------
    inputs : tuple of Input
        What was asked for.
    detectors : list of detector
        What was made of it.
    combined : Logistic
        The model that weighs them.
    features : bool
        Whether the lexical measures are columns, too.
    threshold, thresholds : float, dict of float
        The label is Hallucination where p is greater; by task, where it has one of its own.
    items : TrainingItems
        What it was fitted on.
    digest : str or None
        Of its file, where it was read from one.
    """

    inputs: tuple[Input, ...]
    detectors: list[Detector]
    combined: Logistic
    features: bool
    threshold: float
    thresholds: dict[str, float]
    items: TrainingItems = field(default_factory=TrainingItems)
    digest: str | None = None

    @classmethod
    def load(cls, path: Path) -> State:
        """Return what a file of :meth:`save` holds."""
        try:
            data = path.read_bytes()
            content = json.loads(data)
            measures = tuple(content["features"])
            if measures not in ((), FEATURES):
                raise ShroomError(f"{path}: a stack on other features; fit it again")
            inputs = inputs_of(
                [
                    {**row["settings"], "name": row["name"], "frozen": row["frozen"]}
                    for row in content["inputs"]
                ]
            )
            if content["learner"] != LEARNER:
                raise ShroomError(f"{path}: a stack of another kind than {LEARNER}; fit it again")
            columns = len(inputs) + len(measures)
            return cls(
                inputs,
                [restored(path, one, row) for one, row in zip(inputs, content["inputs"])],
                Logistic.from_dict(content["combined"], columns),
                bool(measures),
                _threshold(content["threshold"]),
                {task: _threshold(own) for task, own in content["thresholds"].items()},
                TrainingItems.from_dict(content["training_items"]),
                hashlib.sha256(data).hexdigest(),
            )
        except UNREADABLE as error:
            raise ShroomError(
                f"{path}: not a model of the stack ({error}); make one with: "
                "shroom fit stack DATA -o MODEL"
            ) from error

    def save(self, path: str | Path, **about: Any) -> None:
        """Write it as json, and beside it a folder with the detectors that were fitted.

        Parameters
        ----------
        path : path
            The file.
        **about
            What else to note.
        """
        target = Path(path)
        content = {
            "detector": "stack",
            "learner": LEARNER,
            "features": list(FEATURES) if self.features else [],
            "combined": self.combined.to_dict(),
            "threshold": self.threshold,
            "thresholds": self.thresholds,
            **about,
        }
        # A name of its own for each state: what an older file relies on is never overwritten.
        digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:8]
        folder = target.parent / f"{target.stem}.inputs-{digest}"
        listed = []
        for number, (one, found) in enumerate(zip(self.inputs, self.detectors)):
            row = one.to_dict()
            if one.trainable:
                folder.mkdir(parents=True, exist_ok=True)
                place = folder / f"{number}-{one.name}"
                found.save(str(place))
                row["fitted"] = f"{folder.name}/{place.name}"
            listed.append(row)
        write_atomically(target, self.items.beside({**content, "inputs": listed}))


def _threshold(value: Any) -> float:
    number = float(value)
    if not 0 <= number <= 1:
        raise ValueError(f"a threshold of {value}")
    return number
