"""Few-shot examples: labelled datapoints before the question."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from shroom.core.datapoint import Datapoint, Label, Task
from shroom.core.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Shots:
    """Draws examples of the same task, balanced over labels, never the datapoint in question.

    Each task has one order, drawn with the seed, so that nearly all prompts of a task have the same
    beginning, which a server can cache.

    Parameters
    ----------
    datapoints : sequence of Datapoint
        Those without a label are ignored.
    count : int
        Number of examples in a prompt.
    seed : int
        Seed of the draw, together with the task.
    source : str
        Name of the file in messages.

    Raises
    ------
    ShroomError
        If no datapoint has a label.
    """

    def __init__(self, datapoints: Sequence[Datapoint], count: int, seed: int, source: str) -> None:
        labelled = [point for point in datapoints if point.label is not None]
        if not labelled:
            raise ShroomError(
                f"{source}: has no labelled datapoints, so it cannot give examples; name a trial "
                "or val file"
            )
        self.count, self.source = count, source
        self._order = {task: _order(labelled, task, seed) for task in Task}

    def of(self, datapoint: Datapoint) -> list[Datapoint]:
        """Return the examples for a datapoint; fewer if the source has too few of its task.

        A datapoint with the same hypothesis is never an example.
        """
        hyp = datapoint.hyp.strip()
        others = [point for point in self._order[datapoint.task] if point.hyp.strip() != hyp]
        return others[: self.count]


def _order(labelled: Sequence[Datapoint], task: Task, seed: int) -> list[Datapoint]:
    """Return the datapoints of a task, alternating between the labels while both last."""
    # A string as seed gives the same draw in every version of Python.
    draw = random.Random(f"{seed} {task.value}")  # noqa: S311 - no secret
    sides = []
    for label in Label:
        side = [point for point in labelled if point.task is task and point.label is label]
        draw.shuffle(side)
        sides.append(side)
    draw.shuffle(sides)
    shorter, longer = sorted(sides, key=len)
    pairs = zip(*sides)
    return [point for pair in pairs for point in pair] + longer[len(shorter) :]


def block(examples: Sequence[Datapoint], context: Callable[[Datapoint], str]) -> str:
    r"""Return the examples as text, with a blank line after each.

    Examples
    --------
    >>> point = Datapoint("A pet.", "", "A cat.", Task.DM, label=Label.NOT_HALLUCINATION)
    >>> block([point], lambda point: point.tgt)
    'Context: A cat.\nSentence: A pet.\nAnswer: yes\n\n'
    """
    answers = {Label.HALLUCINATION: "no", Label.NOT_HALLUCINATION: "yes", None: ""}
    return "".join(
        f"Context: {context(point)}\nSentence: {point.hyp}\nAnswer: {answers[point.label]}\n\n"
        for point in examples
    )
