"""The hypotheses and names of a data set, to put in the place of an item's own."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from shroom.evaluation.corruption.items import draws, normalised, tokens
from shroom.evaluation.corruption.wordlists import names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from shroom.evaluation.corruption.items import Item, Name, Recogniser

T = TypeVar("T")
#: How many things are tried; where none of them fits, hardly any other will.
REACH = 1000
#: After these a name is that of a place.
_PLACED = frozenset({"in", "at", "near", "across", "throughout", "around", "outside"})
_DETERMINERS = frozenset({"the", "a", "an", "this", "that", "my", "your", "his", "her", "its"}) | {
    "our",
    "their",
}


def from_drawn_place(things: Sequence[T], *key: object) -> Iterator[T]:
    """Yield things in their order from a place that is drawn by a key, at most :data:`REACH`.

    Examples
    --------
    >>> sorted(from_drawn_place("abc", 0, "some key"))
    ['a', 'b', 'c']
    """
    start = draws(*key).randrange(len(things))
    for step in range(min(len(things), REACH)):
        yield things[(start + step) % len(things)]


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
        The seed of all draws.
    """

    items: Sequence[Item]
    recogniser: Recogniser
    seed: int

    @cached_property
    def hypotheses(self) -> dict[str, list[Item]]:
        """The distinct items of each task in an order that the seed draws."""
        by_key = {item.key: item for item in self.items}
        by_task: dict[str, list[Item]] = {}
        for key in self._shuffled(by_key):
            by_task.setdefault(by_key[key].point.task.value, []).append(by_key[key])
        return by_task

    def _shuffled(self, things: Collection[T]) -> list[T]:
        """Return things in an order that depends on them and the seed alone."""
        return draws(self.seed).sample(sorted(things), len(things))  # type: ignore[type-var]

    def names_like(self, name: Name, item: Item) -> Iterator[str]:
        """Yield names of the data, of a name's kind, number of words and need of an article."""
        key = (self.kind(name), *_manner(name, item.hyp))
        if key in self._names:
            yield from from_drawn_place(self._names[key], self.seed, name.text, *item.key)

    def kind(self, name: Name) -> str:
        """Return a name's kind; an unknown one is derived from its words or from the data."""
        if name.kind:
            return name.kind
        first, *rest = name.text.split()
        if rest and first in _first_names():
            return "person"
        if name.text in self._places:
            return "place"
        return rest[-1].casefold() if rest else ""  # as in "Soviet Union", "European Union"

    def is_proper(self, name: Name) -> bool:
        """Return whether a name is of a known kind, or has a word that is never in lower case."""
        return bool(name.kind) or not all(self._is_small(name.text))

    def _is_small(self, text: str) -> list[bool]:
        return [token.low in self._small for token in tokens(text)]

    @cached_property
    def _small(self) -> set[str]:
        """Every word that occurs in lower case."""
        texts = (text for item in self.items for text in (item.tokens, item.premise_tokens))
        return {token.low for text in texts for token in text if token.text.islower()}

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
    def _names(self) -> dict[tuple[str, int, bool], list[str]]:
        """The names that may take another's place, by kind and manner, in a drawn order."""
        names: dict[tuple[str, int, bool], set[str]] = {}
        for name, text in self._named:
            if self._may_stand_elsewhere(name, text):
                names.setdefault((self.kind(name), *_manner(name, text)), set()).add(name.text)
        return {key: self._shuffled(texts) for key, texts in names.items()}

    def _may_stand_elsewhere(self, name: Name, text: str) -> bool:
        """Return whether a name may take another's place: if it is complete, and surely a name."""
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
        """Return whether a text is a part of a premise, or known to be faithful to one."""
        text = normalised(hyp)
        return any(
            f" {text} " in f" {premise} " or (premise, text) in self._faithful
            for premise in item.premises
        )


@functools.cache
def _first_names() -> frozenset[str]:
    return frozenset(name for kind in ("man", "woman") for each in names()[kind] for name in each)


def _before(name: Name, text: str) -> str:
    return text[: name.start].rstrip().rpartition(" ")[2].casefold()


def _goes_on(name: Name, text: str) -> bool:
    """Return whether a name is a part of a longer one, as in "Bank of England"."""
    before, after = text[: name.start].rstrip()[-1:], text[name.end :].lstrip()[:3]
    return before in ("'", "&", "-", "/") or after[:1] in ("'", "&", "-", "/") or after == "of "


def _manner(name: Name, text: str) -> tuple[int, bool]:
    """Return how many words a name has, and whether it stands after an article or the like."""
    return len(name.text.split()), _before(name, text) in _DETERMINERS
