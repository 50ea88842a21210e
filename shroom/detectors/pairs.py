"""Datapoints as pairs of premise and hypothesis, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shroom.core.datapoint import Rule, premises

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from shroom.core.datapoint import Datapoint


@dataclass(frozen=True)
class Pairs:
    """The pairs of premise and hypothesis, one for each premise.

    Attributes
    ----------
    items : list of (task, premise, hyp)
        Most datapoints have one; those of which either side may support the hypothesis have two.
    owner : array of int, shape [pairs]
        The place of each pair's datapoint.
    n : int
        The number of datapoints.

    Examples
    --------
    >>> from shroom.core.datapoint import Datapoint, Task
    >>> pairs = Pairs.of([Datapoint(hyp="A cat.", src="One cat.", tgt="Cats.", task=Task.PG)])
    >>> pairs.items
    [('PG', 'One cat.', 'A cat.'), ('PG', 'Cats.', 'A cat.')]
    >>> pairs.best(np.array([0.25, 0.75]))
    array([0.25])
    """

    items: list[tuple[str, str, str]]
    owner: NDArray[np.intp]
    n: int

    @classmethod
    def of(
        cls,
        datapoints: Sequence[Datapoint],
        *,
        rule: Rule = Rule.GIVEN,
        multilingual: bool = False,
    ) -> Pairs:
        """Return the pairs of datapoints, in their order."""
        items, owner = [], []
        for place, point in enumerate(datapoints):
            for premise in premises(point, multilingual=multilingual, rule=rule):
                items.append((point.task.value, premise, point.hyp))
                owner.append(place)
        return cls(items, np.array(owner, np.intp), len(datapoints))

    def best(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return each datapoint's least p over its premises: what supports it best counts."""
        least = np.full(self.n, np.inf)
        np.minimum.at(least, self.owner, p)
        return least
