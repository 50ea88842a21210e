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
    from shroom.detectors.judge.shots import Shots


@dataclass(frozen=True)
class Context:
    """The rule by which the context of a datapoint is chosen.

    Attributes
    ----------
    rule : Rule
        As for every detector.
    multilingual : bool
        Whether the source of a translation may be the context.
    official : bool
        Whether ``Rule.GIVEN`` is the organisers' rule: the source for PG, else the target.
    """

    rule: Rule = Rule.GIVEN
    multilingual: bool = False
    official: bool = False

    def of(self, datapoint: Datapoint) -> tuple[str, ...]:
        """Return one context, or two of which either may support the hypothesis."""
        rule = self.rule
        if self.official and rule is Rule.GIVEN:
            rule = Rule.SRC if datapoint.task is Task.PG else Rule.TGT
        return premises(datapoint, multilingual=self.multilingual, rule=rule)

    def pairs(self, datapoints: Sequence[Datapoint]) -> Pairs:
        """Return every hypothesis with each of its contexts."""
        items, owner = [], []
        for place, point in enumerate(datapoints):
            for context in self.of(point):
                items.append((point.task.value, context, point.hyp))
                owner.append(place)
        return Pairs(items, np.array(owner, np.intp), len(datapoints))


@dataclass(frozen=True)
class Prompter:
    """Writes the prompts.

    Attributes
    ----------
    templates : dict
        The template of each task.
    context : Context
        The rule by which contexts are chosen.
    context_chars : int
        Maximum number of characters of a context.
    shots : Shots or None
        Source of the examples.
    """

    templates: dict[str, Template]
    context: Context
    context_chars: int
    shots: Shots | None = None

    def prompts(self, datapoints: Sequence[Datapoint]) -> Prompts:
        """Return the prompts of datapoints, one for each of their pairs."""
        pairs = self.context.pairs(datapoints)
        examples = [self._examples(point) for point in datapoints]
        few = [
            point.task.value
            for point in datapoints
            if self.shots and len(self.shots.of(point)) < self.shots.count
        ]
        prompts = [
            Prompt(
                self.templates[task],
                "context",
                context[: self.context_chars],
                (("sentence", hyp), ("task", task), ("examples", examples[owner])),
            )
            for (task, context, hyp), owner in zip(pairs.items, pairs.owner.tolist())
        ]
        cut = sum(len(context) > self.context_chars for _, context, _ in pairs.items)
        return Prompts(pairs, prompts, cut, few)

    def _examples(self, datapoint: Datapoint) -> str:
        if self.shots is None:
            return ""
        return block(
            self.shots.of(datapoint), lambda point: self.context.of(point)[0][: self.context_chars]
        )


@dataclass(frozen=True)
class Prompts:
    """The prompts of datapoints.

    Attributes
    ----------
    pairs : Pairs
        The datapoint that each prompt belongs to.
    prompts : list of Prompt
        One for each pair.
    cut : int
        Number of contexts that were cut.
    few : list of str
        The tasks of the datapoints that have fewer examples than requested.
    """

    pairs: Pairs
    prompts: list[Prompt] = field(repr=False)
    cut: int
    few: list[str]
