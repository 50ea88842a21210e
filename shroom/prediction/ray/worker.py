"""What a worker does: it loads the detector once, and judges one shard after the other."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from shroom.core.atomic_writing import encoded
from shroom.core.problems import InvalidInput, Problems, ShroomError
from shroom.core.version import __version__
from shroom.inference.run_settings import RUN
from shroom.prediction.ray.shards import read
from shroom.prediction.submission_rows import (
    check_data,
    check_made,
    made_by,
    remarks,
    training_counts,
    training_notes,
)

if TYPE_CHECKING:
    from shroom.detectors.base import Detector
    from shroom.detectors.recipe import Recipe
    from shroom.inference.run_settings import Run
    from shroom.prediction.ray.shards import Shard


@dataclass(frozen=True)
class Outcome:
    """What has become of a shard.

    Attributes
    ----------
    number : int
        The shard's.
    lines : bytes
        Its predictions as JSON Lines, one for each datapoint in their order.
    rows : int
        How many there are.
    problems : Problems
        What is wrong with its data; with errors, there are no predictions.
    stop : str
        Why no shard can be judged at all, or nothing.
    lost : bool
        Whether it was given up, as one worker after the other was lost over it.
    notes : tuple of str
        What a reader of the predictions should know.
    weights : str or None
        The identity of the detector.
    version : str
        Of the worker's kit.
    pid : int
        Of the worker's process.
    """

    number: int
    lines: bytes = b""
    rows: int = 0
    problems: Problems = field(default_factory=Problems)
    stop: str = ""
    lost: bool = False
    notes: tuple[str, ...] = ()
    weights: str | None = None
    version: str = __version__
    pid: int = field(default_factory=os.getpid)


class Worker:
    """A detector that judges shards.

    Parameters
    ----------
    recipe : Recipe
        What makes the detector.
    run : Run
        How the detector is run; what belongs to one process, the worker does without.

    Examples
    --------
    >>> from shroom.detectors.recipe import Recipe
    >>> from shroom.prediction.ray.shards import shards_of
    >>> (shard,) = shards_of("shroom/sample/val.model-aware.json", ())
    >>> Worker(Recipe.of("unigram")).judge(shard).rows
    60
    """

    def __init__(self, recipe: Recipe, run: Run = RUN) -> None:
        self._recipe, self._run = recipe, run.bare()

    @cached_property
    def detector(self) -> Detector:
        """The detector, made when it is first asked."""
        return self._recipe.make()

    def judge(self, shard: Shard) -> Outcome:
        """Return the predictions for a shard, or why there are none."""
        problems = Problems()
        try:
            return self._judged(shard, problems)
        except InvalidInput as error:
            return Outcome(shard.number, problems=error.problems)
        except ShroomError as error:
            return Outcome(shard.number, stop=str(error))

    def _judged(self, shard: Shard, problems: Problems) -> Outcome:
        file = read(shard, problems)
        # Of a folder, some may be empty, as Spark writes them.
        if problems.codes == {"empty"} and shard.name and shard.submission is None:
            note = "has no datapoints, and so its part has no predictions"
            return Outcome(shard.number, notes=(note,), weights=self.detector.identity)
        if file is not None:
            check_data(file, problems)
        if file is None or problems.errors:
            raise InvalidInput(problems)
        notes = remarks(file)
        training = training_counts(self.detector, [file], self._run)
        notes += training_notes(self.detector, training, len(file.datapoints))
        text = made_by(self.detector, file, replace(self._run, note=notes.append))
        lines = encoded(shard.output, text)
        check_made({shard.output: lines.decode()})
        rows = len(file.datapoints)
        if lines.count(b"\n") != rows:
            raise ShroomError(f"{shard.input}: has {rows} datapoints, and not so many predictions")
        return Outcome(
            shard.number, lines, rows, problems, notes=tuple(notes), weights=self.detector.identity
        )
