"""From datapoints to prompts: the contexts of each hypothesis, and labelled examples."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Callable

import numpy as np

from shroom.core.datapoint import TASKS, Datapoint, Label, Rule, Task, premises
from shroom.core.problems import ShroomError
from shroom.detectors.judge.prompts import Prompt, Template
from shroom.detectors.judge.settings import ContextSettings
from shroom.detectors.pairs import Pairs
from shroom.inference.run_settings import RUN, Run


@dataclass(frozen=True)
class Prompter:
    """Writes the prompts.

    Attributes
    ----------
    templates : dict
        The template of each task.
    settings : ContextSettings
        How contexts are chosen and cut, and where the examples come from. For the organisers'
        baseline, ``Rule.GIVEN`` is the source for PG, else the target.
    """

    templates: dict[str, Template]
    settings: ContextSettings

    def contexts(self, datapoint: Datapoint) -> tuple[str, ...]:
        """Return one context, or two of which either may support the hypothesis."""
        rule = self.settings.reference
        if self.settings.official and rule is Rule.GIVEN:
            rule = Rule.SRC if datapoint.task == Task.PG else Rule.TGT
        return premises(datapoint, multilingual=self.settings.multilingual, rule=rule)

    def prompts(
        self, datapoints: Sequence[Datapoint], run: Run = RUN
    ) -> tuple[list[Prompt], Pairs]:
        """Return a prompt for each pair of a hypothesis and a context, and the pairs.

        Contexts that were cut, and prompts with too few examples, are noted.
        """
        most, count = self.settings.context_chars, self.settings.shots
        prompts, items, owners = [], [], []
        few = Counter[str]()
        for place, point in enumerate(datapoints):
            examples = self._shots.of(point) if self._shots else []
            if len(examples) < count:
                few[point.task.like] += 1
            text = block(examples, lambda example: self.contexts(example)[0][:most])
            others = (("sentence", point.hyp), ("task", point.task.name), ("examples", text))
            for context in self.contexts(point):
                template = self.templates[point.task.like]
                prompts.append(Prompt(template, "context", context[:most], others))
                items.append((point.task.like, context, point.hyp))
                owners.append(place)
        cut = sum(len(context) > most for _, context, _ in items)
        if cut:
            run.note(f"{cut} contexts are longer than {most} characters and were cut to that")
        if few:
            tasks = ", ".join(f"{task}: {n}" for task, n in sorted(few.items()))
            run.note(
                f"{self.settings.examples} has too few other datapoints of the task to give "
                f"{count} examples to each ({tasks}); those get fewer"
            )
        return prompts, Pairs(items, np.array(owners, np.intp), len(datapoints))

    @cached_property
    def _shots(self) -> Shots | None:
        if not self.settings.shots:
            return None
        from shroom.scoring.datapoint_files import read

        source = str(self.settings.examples)
        if not Path(source).exists():
            raise ShroomError(f"examples {source}: there is no such file or folder")
        return Shots(read(source), self.settings.shots, self.settings.seed, source)


class Shots:
    """Draws examples of the same task, balanced over labels, never the datapoint in question.

    Each task has one order, drawn with the seed, so that nearly all prompts of a task have the same
    beginning, which a server can cache.
    """

    def __init__(self, datapoints: Sequence[Datapoint], count: int, seed: int, source: str) -> None:
        labelled = [point for point in datapoints if point.label is not None]
        if not labelled:
            raise ShroomError(
                f"{source}: has no labelled datapoints, so it cannot give examples; name a trial "
                "or val file"
            )
        self.count = count
        self._order = {task: _order(labelled, task, seed) for task in TASKS}

    def of(self, datapoint: Datapoint) -> list[Datapoint]:
        """Return the examples for a datapoint; fewer if the source has too few of its task.

        A datapoint with the same hypothesis is never an example.
        """
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
