"""The templates of the judge, and the labelled examples in its prompts."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Callable

from shroom.core.datapoint import TASKS, Datapoint, Label
from shroom.core.problems import ShroomError
from shroom.inference.language_model.model import TemplateKind
from shroom.scoring.datapoint_files import read

_FOLDER = Path(__file__).parent / "templates"
#: The detector's templates, with a variant for each task.
SUPPORT = TemplateKind(
    {
        "support": _FOLDER / "support",
        "official": _FOLDER / "official.txt",
        "official-chat": _FOLDER / "official-chat.txt",
    },
    variants=tuple(TASKS),
    places=("context", "sentence", "task", "examples"),
    needed=("context", "sentence"),
)


class Shots:
    """Examples of the same task, balanced over labels, never the datapoint in question."""

    # A task has one order, so that its prompts have the same beginning, which a server can cache.

    def __init__(self, source: str, count: int, seed: int) -> None:
        if not Path(source).exists():
            raise ShroomError(f"examples: {source}: no such file or folder")
        labelled = [point for point in read(source) if point.label is not None]
        if not labelled:
            raise ShroomError(
                f"{source}: no labelled datapoints to use as examples; specify a trial or val file"
            )
        self.count = count
        self._order = {task: _order(labelled, task, seed) for task in TASKS}

    def of(self, datapoint: Datapoint) -> list[Datapoint]:
        """Return examples for a datapoint, without its hypothesis; there may be too few."""
        hyp = datapoint.hyp.strip()
        others = [point for point in self._order[datapoint.task.like] if point.hyp.strip() != hyp]
        return others[: self.count]


def _order(labelled: Sequence[Datapoint], task: str, seed: int) -> list[Datapoint]:
    """Return the datapoints of a task, alternating between the labels while both last."""
    # A string as seed gives the same draw in every version of Python.
    draw = random.Random(f"{seed} {task}")  # noqa: S311 - no secret
    sides = []
    for label in Label:
        side = [point for point in labelled if point.task.like == task and point.label is label]
        draw.shuffle(side)
        sides.append(side)
    draw.shuffle(sides)
    shorter, longer = sorted(sides, key=len)
    pairs = zip(*sides)
    return [point for pair in pairs for point in pair] + longer[len(shorter) :]


def block(examples: Sequence[Datapoint], context: Callable[[Datapoint], str]) -> str:
    """Return the examples as text, with a blank line after each."""
    answers = {Label.HALLUCINATION: "no", Label.NOT_HALLUCINATION: "yes", None: ""}
    return "".join(
        f"Context: {context(point)}\nSentence: {point.hyp}\nAnswer: {answers[point.label]}\n\n"
        for point in examples
    )
