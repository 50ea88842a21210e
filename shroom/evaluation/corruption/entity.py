"""Entity: a name gives way to another name of its kind."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from shroom.evaluation.corruption.base import like, replacing
from shroom.evaluation.corruption.items import Edit, draws, normalised, tokens
from shroom.evaluation.corruption.wordlists import names, with_article

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shroom.evaluation.corruption.items import Item, Name
    from shroom.evaluation.corruption.pool import Pool

#: How many names are offered for one.
_OFFERED = 8
#: The list of names for what a pipeline or the pool calls the kinds.
_KINDS = {
    "PERSON": "surname",
    "GPE": "city",
    "NORP": "nationality",
    "LANGUAGE": "nationality",
    "place": "city",
}


class Entity:
    """A name for another name."""

    name = "entity"
    about = "a name for another of its kind, from the data or a short list"
    of_english = True

    def edits(self, item: Item, pool: Pool) -> list[Edit]:
        """Return edits of each name that the hypothesis has once, to names neither text has."""
        found: list[Edit] = []
        near = {word.removesuffix("'s") for word in item.vocabulary}
        for name in pool.recogniser.names(item.hyp, item.premise):
            if item.hyp.count(name.text) > 1 or not pool.is_proper(name):
                continue
            place = next(
                (n for n, token in enumerate(item.tokens) if token.start == name.start), None
            )
            if place is None or place < item.first:
                continue
            fitting = (other for other in _offered(name, pool, item) if _is_new(other, name, near))
            found += [_edit(item, place, name, other) for other in islice(fitting, _OFFERED)]
        return found


def _offered(name: Name, pool: Pool, item: Item) -> Iterator[str]:
    """Yield names of a kind: known ones, else those of the data, else those of a like kind.

    Those that want an article take the place of those that have one, and of no others.
    """
    known, articles = names().get(name.kind), with_article()
    if known is None:
        yield from pool.names_like(name, item)
        known = names().get(_KINDS.get(pool.kind(name), ""), [])
        if _has_article(item.hyp, name.start):
            return
    free = _has_article(item.hyp, name.start) and name.text in articles
    everyone = [
        group[0]
        for group in known
        if name.text not in group and (free or (group[0] in articles) == (name.text in articles))
    ]
    yield from draws(pool.seed, name.text, *item.key).sample(everyone, len(everyone))


def _has_article(text: str, start: int) -> bool:
    return text[:start].casefold().endswith("the ")


def _edit(item: Item, place: int, name: Name, other: str) -> Edit:
    """Return the edit that puts a name for another, its article with it where it has one."""
    if name.text in with_article() and _has_article(item.hyp, name.start):
        article = item.tokens[place - 1]
        after = f"{article.text} {other}" if other in with_article() else like(other, article.text)
        before = item.hyp[article.start : name.end]
        return Edit(article.start, name.end, before, after)
    return replacing(item.hyp, item.tokens, place, name.end, other)


def _is_new(other: str, name: Name, near: set[str]) -> bool:
    """Return whether neither text has any word of a name, nor of its other names."""
    if name.text.isascii() and not other.isascii():  # of another script, or its spelling
        return False
    if normalised(other) == normalised(name.text) or (
        not name.kind and other.isupper() != name.text.isupper()
    ):
        return False
    said = {token.low for token in tokens(other)}
    head = other.casefold().rpartition(" ")[2]
    if len(said) > 1 and name.text.casefold().endswith(f" {head}"):  # "Soviet Union" for another
        said.discard(head)
    said |= {word.low for group in _same(other) for word in tokens(group)}
    return not said & near


def _same(name: str) -> tuple[str, ...]:
    """Return the other names of a known one."""
    for groups in names().values():
        for group in groups:
            if name in group:
                return group
    return ()
