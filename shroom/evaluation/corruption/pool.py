"""The faithful items of a data set, as the methods see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from shroom.evaluation.corruption.items import Item, draws, normalised


@dataclass(frozen=True, eq=False)
class Pool:
    """The faithful items of a data set."""

    items: Sequence[Item]
    seed: int

    @cached_property
    def by_task(self) -> dict[str, list[Item]]:
        """The distinct items of each task, in random order."""
        by_key = {item.key: item for item in self.items}
        by_task: dict[str, list[Item]] = {}
        for key in draws(self.seed).sample(sorted(by_key), len(by_key)):
            by_task.setdefault(by_key[key].point.task.name, []).append(by_key[key])
        return by_task

    @cached_property
    def _faithful(self) -> set[tuple[str, str]]:
        return {(premise, normalised(item.hyp)) for item in self.items for premise in item.premises}

    def is_faithful(self, item: Item, hyp: str) -> bool:
        """Return whether a text is part of a premise, or a known faithful hypothesis for one."""
        text = normalised(hyp)
        return any(
            f" {text} " in f" {premise} " or (premise, text) in self._faithful
            for premise in item.premises
        )
