"""Entity: a name gives way to another name of its kind."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from shroom.corrupt.base import digest, normalised, replacing, tokens
from shroom.corrupt.wordlists import names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shroom.corrupt.base import Edit, Item, Name
    from shroom.corrupt.pool import Pool

#: How many names are offered for one.
_OFFERED = 8
#: What a pipeline calls the kinds, in the words of the list of names.
_KINDS = {"PERSON": "surname", "GPE": "city", "NORP": "nationality", "LANGUAGE": "nationality"}


class Entity:
    """A name for another name."""

    name = "entity"
    about = "a name for another of its kind, from the data or a short list"

    def edits(self, item: Item, pool: Pool) -> list[Edit]:
        """Return edits of each name that the hypothesis has once, to names neither text has."""
        found = []
        near = {word.removesuffix("'s") for word in item.vocabulary}
        for name in pool.recogniser.names(item.hyp, item.premise):
            if item.hyp.count(name.text) > 1:
                continue
            place = next(
                (n for n, token in enumerate(item.tokens) if token.start == name.start), None
            )
            if place is None or place < item.first:
                continue
            fitting = (other for other in _offered(name, pool, item) if _is_new(other, name, near))
            found += [
                replacing(item.hyp, item.tokens, place, name.end, other)
                for other in islice(fitting, _OFFERED)
            ]
        return found


def _offered(name: Name, pool: Pool, item: Item) -> Iterator[str]:
    """Yield names of a kind: known ones, else those of the data, else surnames."""
    known = names().get(name.kind)
    if known is None:
        count = len(name.text.split())
        ring = pool.names.get((name.kind, count))
        if ring is not None:
            yield from ring.around(pool.seed, name.text, *item.key)
        known = names()[_KINDS.get(name.kind, "surname")]
    everyone = [group[0] for group in known if name.text not in group]
    yield from sorted(everyone, key=lambda other: digest(pool.seed, other, *item.key))


def _is_new(other: str, name: Name, near: set[str]) -> bool:
    """Return whether neither text has any word of a name, nor of its other names."""
    if name.text.isascii() and not other.isascii():  # of another script, or its spelling
        return False
    if normalised(other) == normalised(name.text) or other.isupper() != name.text.isupper():
        return False
    said = {token.low for token in tokens(other)}
    said |= {word.low for group in _same(other) for word in tokens(group)}
    return not said & near


def _same(name: str) -> tuple[str, ...]:
    """Return the other names of a known one."""
    for groups in names().values():
        for group in groups:
            if name in group:
                return group
    return ()
