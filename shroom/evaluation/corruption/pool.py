"""What the items of a data set lend each other: hypotheses and names to put in another's place."""

from __future__ import annotations

import functools
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from shroom.evaluation.corruption.items import digest, normalised, tokens
from shroom.evaluation.corruption.wordlists import names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shroom.evaluation.corruption.items import Item, Name, Recogniser

T = TypeVar("T")
#: How far a ring is searched for something that fits; beyond it there will hardly be anything.
REACH = 1000
#: After these a name is that of a place.
_PLACED = frozenset({"in", "at", "near", "across", "throughout", "around", "outside"})
_DETERMINERS = frozenset({"the", "a", "an", "this", "that", "my", "your", "his", "her", "its"}) | {
    "our",
    "their",
}


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

    def names_like(self, name: Name, item: Item) -> Iterator[str]:
        """Yield names of the data, of a name's kind, number of words and need of an article."""
        key = (self.kind(name), *_manner(name, item.hyp))
        ring = self._rings.get(key)
        if ring is not None:
            yield from ring.around(self.seed, name.text, *item.key)

    def kind(self, name: Name) -> str:
        """Return a name's kind; where it is not known, what its words or the data tell."""
        if name.kind:
            return name.kind
        first, *rest = name.text.split()
        if rest and first in _first_names():
            return "person"
        if name.text in self._places:
            return "place"
        return rest[-1].casefold() if rest else ""  # as in "Soviet Union", "European Union"

    def is_proper(self, name: Name) -> bool:
        """Return whether a name of no known kind is one: the data never have it in small letters.

        Of several words, that must hold of one.
        """
        return bool(name.kind) or not all(self._is_small(name.text))

    def _is_small(self, text: str) -> list[bool]:
        return [token.low in self._small for token in tokens(text)]

    @cached_property
    def _small(self) -> set[str]:
        """Every word that stands in small letters somewhere."""
        texts = (found for item in self.items for found in (item.tokens, item.premise_tokens))
        return {token.low for found in texts for token in found if token.text.islower()}

    @cached_property
    def _named(self) -> list[tuple[Name, str]]:
        """Each name of the hypotheses and premises, with its text."""
        return [
            (name, text)
            for item in self.items
            for text, context in ((item.hyp, item.premise), (item.premise, item.hyp))
            for name in self.recogniser.names(text, context)
        ]

    @cached_property
    def _places(self) -> set[str]:
        return {name.text for name, text in self._named if _before(name, text) in _PLACED}

    @cached_property
    def _rings(self) -> dict[tuple[str, int, bool], Ring[str]]:
        of: dict[tuple[str, int, bool], set[str]] = {}
        for name, text in self._named:
            if self._may_stand_elsewhere(name, text):
                of.setdefault((self.kind(name), *_manner(name, text)), set()).add(name.text)
        return {key: Ring(self.seed, ((each, each) for each in sorted(of[key]))) for key in of}

    def _may_stand_elsewhere(self, name: Name, text: str) -> bool:
        """Return whether a name may take another's place: if it is whole, and surely one."""
        if _goes_on(name, text):
            return False
        small = self._is_small(name.text)
        is_plain = name.text.replace(" ", "").replace("-", "").isalpha()
        is_plural = " " not in name.text and name.text.endswith("s")
        return bool(name.kind) or (not any(small[:-1] or small) and is_plain and not is_plural)

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


@functools.cache
def _first_names() -> frozenset[str]:
    return frozenset(name for kind in ("man", "woman") for each in names()[kind] for name in each)


def _before(name: Name, text: str) -> str:
    return text[: name.start].rstrip().rpartition(" ")[2].casefold()


def _goes_on(name: Name, text: str) -> bool:
    """Return whether a name is but a part of one, as in "Bank of England" or "Guns N' Roses"."""
    before, after = text[: name.start].rstrip()[-1:], text[name.end :].lstrip()[:3]
    return before in ("'", "&", "-", "/") or after[:1] in ("'", "&", "-", "/") or after == "of "


def _manner(name: Name, text: str) -> tuple[int, bool]:
    """Return how many words a name has, and whether it stands after an article or the like."""
    return len(name.text.split()), _before(name, text) in _DETERMINERS
