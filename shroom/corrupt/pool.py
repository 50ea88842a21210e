"""What the items of a data set lend each other: hypotheses and names to put in another's place."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from shroom.corrupt.base import digest, normalised

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shroom.corrupt.base import Item, Recogniser

T = TypeVar("T")
#: How far a ring is searched for something that fits; beyond it there will hardly be anything.
REACH = 1000


class Ring(Generic[T]):
    """Things in an order that a seed decides, to draw from: each item begins at its own place.

    Neither the order in which they came nor how often each did has a part in it, and a further
    thing changes the draws only of those items to which it lies next (consistent hashing).

    Parameters
    ----------
    seed : int
        What the order is drawn by.
    things : iterable of (key, thing)
        Of those with the same key, the first is kept.

    Examples
    --------
    >>> ring = Ring(0, [("a", 1), ("b", 2), ("c", 3)])
    >>> sorted(ring.around("here")), list(ring.around("here")) == list(ring.around("here"))
    ([1, 2, 3], True)
    """

    def __init__(self, seed: int, things: Iterable[tuple[object, T]]) -> None:
        by_place: dict[bytes, T] = {}
        for key, thing in things:
            by_place.setdefault(digest(seed, key), thing)
        self._places = sorted(by_place)
        self._things = [by_place[place] for place in self._places]

    def around(self, *key: object) -> Iterator[T]:
        """Yield the things from an item's place on, all of them or the first :data:`REACH`."""
        start = bisect_left(self._places, digest(*key))
        for step in range(min(len(self._things), REACH)):
            yield self._things[(start + step) % len(self._things)]


@dataclass(frozen=True, eq=False)
class Pool:
    """The faithful items of a data set, and what finds names in them.

    Attributes
    ----------
    items : sequence of Item
        In any order.
    recogniser : Recogniser
        What finds names and verbs.
    seed : int
        What all draws come from.
    """

    items: Sequence[Item]
    recogniser: Recogniser
    seed: int

    @cached_property
    def hypotheses(self) -> dict[str, Ring[Item]]:
        """The items of each task, to take hypotheses from."""
        of: dict[str, list[Item]] = {}
        for item in self.items:
            of.setdefault(item.point.task.value, []).append(item)
        return {
            task: Ring(self.seed, ((item.key, item) for item in items))
            for task, items in of.items()
        }

    @cached_property
    def names(self) -> dict[tuple[str, int], Ring[str]]:
        """The names in all hypotheses and premises, by kind and number of words."""
        of: dict[tuple[str, int], set[str]] = {}
        for item in self.items:
            for text, context in ((item.hyp, item.premise), (item.premise, item.hyp)):
                for name in self.recogniser.names(text, context):
                    of.setdefault((name.kind, len(name.text.split())), set()).add(name.text)
        return {
            kind: Ring(self.seed, ((name, name) for name in sorted(names)))
            for kind, names in of.items()
        }

    @cached_property
    def _faithful(self) -> set[tuple[str, str]]:
        return {(premise, normalised(item.hyp)) for item in self.items for premise in item.premises}

    def says(self, item: Item, hyp: str) -> bool:
        """Return whether a text is known to hold: it is in the premise, or said of it elsewhere."""
        said = normalised(hyp)
        return any(
            f" {said} " in f" {premise} " or (premise, said) in self._faithful
            for premise in item.premises
        )
