"""The detectors of a stack as a recipe names them, and its fitted state in a file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shroom.core.atomic_writing import write_atomically
from shroom.core.problems import ShroomError, show
from shroom.detectors import settings
from shroom.detectors.fitted import state_from
from shroom.detectors.lexical import FEATURES
from shroom.detectors.out_of_fold import TrainingItems
from shroom.detectors.registry import class_of, detector
from shroom.learners.logistic import Logistic

if TYPE_CHECKING:
    from shroom.detectors.base import Detector

#: The kind of model that weighs the detectors.
LEARNER = "logistic"


@dataclass(frozen=True)
class Input:
    """A detector with its settings.

    Attributes
    ----------
    name : str
        Its name in the registry.
    settings : dict
        Arguments of its class.
    frozen : bool
        Whether it is not fitted, although it is trainable.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    frozen: bool = False

    @property
    def trainable(self) -> bool:
        """Whether it is fitted together with the stack."""
        return not self.frozen and class_of(self.name).trainable

    def make(self, model: str | None = None) -> Detector:
        """Return the detector: not fitted, or from a model file."""
        return detector(self.name, **{**self.settings, **({"model": model} if model else {})})


def inputs_of(value: object) -> tuple[Input, ...]:
    """Return the inputs that a setting names.

    Parameters
    ----------
    value : str or list of (str or dict)
        Names, in a string with commas between them; or a list of names and of tables with
        ``name``, any settings of the detector, and perhaps ``frozen = true``.

    Raises
    ------
    ShroomError
        If it names no detector or an unknown one.

    Examples
    --------
    >>> inputs_of(["lexical", {"name": "nli", "model": "a/model"}])[1].settings
    {'model': 'a/model'}
    >>> [one.name for one in inputs_of("lexical, selfcheck")]
    ['lexical', 'selfcheck']
    """
    entries = value.split(",") if isinstance(value, str) else value
    if not isinstance(entries, (list, tuple)) or not entries:
        raise ShroomError(
            f"detectors: expected a list of names or tables, got {show(value)}; for instance "
            'detectors = ["lexical", {name = "nli", model = "FOLDER"}]'
        )
    return tuple(_input(entry, f"detectors: {place}") for place, entry in enumerate(entries))


def _input(entry: object, place: str) -> Input:
    table = {"name": entry.strip()} if isinstance(entry, str) else entry
    if not isinstance(table, dict) or not isinstance(table.get("name"), str):
        raise ShroomError(f"{place}: expected a name or a table with a name, got {show(entry)}")
    frozen = settings.flag(f"{place}: frozen", table.get("frozen", False))
    values = {key: value for key, value in table.items() if key not in ("name", "frozen")}
    try:
        json.dumps(values)
    except (TypeError, ValueError) as error:
        raise ShroomError(f"{place}: settings that json cannot write: {error}") from error
    entry_input = Input(table["name"], values, frozen)
    entry_input.make()  # so that an unknown setting is reported at once
    return entry_input


@dataclass(frozen=True)
class State:
    """The fitted state of a stack.

    Attributes
    ----------
    inputs : tuple of Input
        The detectors with their settings.
    detectors : list of detector
        The detectors themselves.
    combined : Logistic
        The model that weighs them.
    features : bool
        Whether the lexical features are columns as well.
    threshold, thresholds : float, dict of float
        The label is Hallucination where p is greater; the latter for tasks with their own.
    items : TrainingItems
        The training items.
    digest : str or None
        Digest of the file, if it was read from one.
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
        """Return the state that :meth:`save` wrote to a file."""

        def parsed(data: bytes) -> State:
            content = json.loads(data)
            measures, learner = tuple(content["features"]), content["learner"]
            if measures not in ((), FEATURES) or learner != LEARNER:
                raise ShroomError(f"{path}: a stack of another kind; fit it again")
            rows = content["inputs"]
            inputs = inputs_of(
                [{**row["settings"], "name": row["name"], "frozen": row["frozen"]} for row in rows]
            )
            return cls(
                inputs,
                [_restored(path, entry, row) for entry, row in zip(inputs, rows)],
                Logistic.from_dict(content["combined"], len(inputs) + len(measures)),
                bool(measures),
                settings.share("threshold", content["threshold"]),
                {
                    task: settings.share(task, value)
                    for task, value in content["thresholds"].items()
                },
                TrainingItems.from_dict(content["training_items"]),
                hashlib.sha256(data).hexdigest(),
            )

        return state_from(path, parsed, "stack")

    def save(self, path: str | Path, **about: Any) -> None:
        """Write it as JSON, and beside it a folder with the detectors that were fitted."""
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
        for number, (entry, fitted) in enumerate(zip(self.inputs, self.detectors)):
            row = asdict(entry)
            if entry.trainable:
                folder.mkdir(parents=True, exist_ok=True)
                place = folder / f"{number}-{entry.name.replace(':', '.')}"
                fitted.save(str(place))
                row["fitted"] = f"{folder.name}/{place.name}"
            listed.append(row)
        write_atomically(target, self.items.beside({**content, "inputs": listed}))


def _restored(path: Path, entry: Input, row: dict[str, Any]) -> Detector:
    """Return a detector of a stack's file, fitted as it was."""
    if not entry.trainable:
        return entry.make()
    name = str(row["fitted"])
    place = path.parent / name
    if Path(name).is_absolute() or ".." in Path(name).parts or not place.exists():
        raise ShroomError(
            f"{path}: its detector {entry.name} is missing: expected {name} beside the file; "
            "keep the folder with the file"
        )
    return entry.make(str(place))
