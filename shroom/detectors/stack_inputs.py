"""The detectors that a stack is made of: as a recipe names them, and as they are made."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.problems import ShroomError, show
from shroom.detectors.registry import class_of, detector

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shroom.core.datapoint import Datapoint
    from shroom.detectors.base import Detector
    from shroom.inference.run_settings import Run


@dataclass(frozen=True)
class Input:
    """A detector with its settings.

    Attributes
    ----------
    name : str
        Its name in the registry.
    settings : dict
        What its class takes.
    frozen : bool
        Whether it stays as it is although it can be fitted.
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

    def to_dict(self) -> dict[str, Any]:
        """Return it as json could write it."""
        return {"name": self.name, "settings": self.settings, "frozen": self.frozen}


def inputs_of(given: object) -> tuple[Input, ...]:
    """Return the inputs that a setting names.

    Parameters
    ----------
    given : str or list of (str or dict)
        Names, in a string with commas between them; or a list of names and of tables with
        ``name``, any settings of the detector, and perhaps ``frozen = true``.

    Raises
    ------
    ShroomError
        Where it names no detector or an unknown one.

    Examples
    --------
    >>> inputs_of(["lexical", {"name": "nli", "model": "a/model"}])[1].settings
    {'model': 'a/model'}
    >>> [one.name for one in inputs_of("lexical, selfcheck")]
    ['lexical', 'selfcheck']
    """
    listed = given.split(",") if isinstance(given, str) else given
    if not isinstance(listed, (list, tuple)) or not listed:
        raise ShroomError(
            f"detectors: expected a list of names or tables, got {show(given)}; for instance "
            'detectors = ["lexical", {name = "nli", model = "FOLDER"}]'
        )
    return tuple(_input(one, f"detectors: {number}") for number, one in enumerate(listed))


def _input(one: object, where: str) -> Input:
    table = {"name": one.strip()} if isinstance(one, str) else one
    if not isinstance(table, dict) or not isinstance(table.get("name"), str):
        raise ShroomError(f"{where}: expected a name or a table with a name, got {show(one)}")
    frozen = table.get("frozen", False)
    if not isinstance(frozen, bool):
        raise ShroomError(f"{where}: frozen: expected true or false, got {show(frozen)}")
    settings = {key: value for key, value in table.items() if key not in ("name", "frozen")}
    try:
        json.dumps(settings)
    except (TypeError, ValueError) as error:
        raise ShroomError(f"{where}: settings that json cannot write: {error}") from error
    found = Input(table["name"], settings, frozen)
    found.make()  # so that an unknown setting is reported at once
    return found


class Known:
    """What depends on a datapoint alone, computed once for each.

    Parameters
    ----------
    compute : callable
        Takes datapoints and a run, gives an array of shape [n] or [n, k].
    """

    def __init__(self, compute: Callable[[Sequence[Datapoint], Run], NDArray[np.float64]]) -> None:
        self._compute = compute
        self._rows: dict[Datapoint, NDArray[np.float64]] = {}

    def of(self, datapoints: Sequence[Datapoint], run: Run) -> NDArray[np.float64]:
        """Return the values of datapoints: shape [n, k]."""
        # The first time, all of them as they come: samples without ids go by the order.
        new = [d for d in dict.fromkeys(datapoints) if d not in self._rows]
        if len(new) == len(set(datapoints)):
            new = list(datapoints)
        if new:
            self._rows.update(zip(new, self._compute(new, run).reshape(len(new), -1)))
        return np.array([self._rows[point] for point in datapoints])


def restored(path: Path, one: Input, row: dict[str, Any]) -> Detector:
    """Return a detector as the stack's file has it."""
    if not one.trainable:
        return one.make()
    named = str(row["fitted"])
    place = path.parent / named
    if Path(named).is_absolute() or ".." in Path(named).parts or not place.exists():
        raise ShroomError(
            f"{path}: its detector {one.name} should lie beside it, in {named}, and does not; keep "
            "the folder where the file is"
        )
    return one.make(str(place))


def refuse_seen(one: Input, found: Detector, datapoints: Sequence[Datapoint]) -> None:
    """Raise :class:`ShroomError` where a detector that is not fitted anew answers in-sample."""
    seen = int(found.in_sample(datapoints).sum())
    if not seen:
        return
    way = (
        "leave out frozen = true, so that it is fitted out of fold"
        if one.frozen
        else "leave it out, or fit the stack on other data"
    )
    raise ShroomError(
        f"detectors: {one.name} was fitted on {seen} of these {len(datapoints)} datapoints and has "
        "no out-of-fold p of them, so the stack would trust it more than it deserves; fit it with "
        f"--folds, or {way}"
    )
