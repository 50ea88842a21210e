"""From datapoints to prompts: the contexts of each hypothesis, and the examples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from shroom.core.datapoint import Rule, Task, premises
from shroom.detectors.judge.prompts import Prompt
from shroom.detectors.judge.shots import block
from shroom.detectors.pairs import Pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shroom.core.datapoint import Datapoint
    from shroom.detectors.judge.prompts import Template
    from shroom.detectors.judge.settings import ContextSettings
    from shroom.detectors.judge.shots import Shots


@dataclass(frozen=True)
class Prompter:
    """Writes the prompts.

    Attributes
    ----------
    templates : dict
        The template of each task.
    settings : ContextSettings
        How contexts are chosen and cut.
    official : bool
        Whether ``Rule.GIVEN`` is the organisers' rule: the source for PG, else the target.
    shots : Shots or None
        Source of the examples.
    """

    templates: dict[str, Template]
    settings: ContextSettings
    official: bool
    shots: Shots | None = None

    def contexts(self, datapoint: Datapoint) -> tuple[str, ...]:
        """Return one context, or two of which either may support the hypothesis."""
        rule = self.settings.reference
        if self.official and rule is Rule.GIVEN:
            rule = Rule.SRC if datapoint.task is Task.PG else Rule.TGT
        return premises(datapoint, multilingual=self.settings.multilingual, rule=rule)

    def prompts(self, datapoints: Sequence[Datapoint]) -> Prompts:
        """Return the prompts of datapoints, one for each of their pairs."""
        most, cut = self.settings.context_chars, 0
        prompts, items, owners = [], [], []
        for place, point in enumerate(datapoints):
            others = (
                ("sentence", point.hyp),
                ("task", point.task.value),
                ("examples", self._examples(point)),
            )
            for context in self.contexts(point):
                template = self.templates[point.task.value]
                prompts.append(Prompt(template, "context", context[:most], others))
                items.append((point.task.value, context, point.hyp))
                owners.append(place)
                cut += len(context) > most
        few = [
            point.task.value
            for point in datapoints
            if self.shots and len(self.shots.of(point)) < self.shots.count
        ]
        pairs = Pairs(items, np.array(owners, np.intp), len(datapoints))
        return Prompts(prompts, pairs, cut, few)

    def _examples(self, datapoint: Datapoint) -> str:
        if self.shots is None:
            return ""
        most = self.settings.context_chars
        return block(self.shots.of(datapoint), lambda point: self.contexts(point)[0][:most])


@dataclass(frozen=True)
class Prompts:
    """The prompts of datapoints.

    Attributes
    ----------
    prompts : list of Prompt
        One for each pair of a hypothesis and a context.
    pairs : Pairs
        The datapoint that each prompt belongs to.
    cut : int
        Number of contexts that were cut.
    few : list of str
        The tasks of the datapoints that have fewer examples than requested.
    """

    prompts: list[Prompt] = field(repr=False)
    pairs: Pairs
    cut: int
    few: list[str]
