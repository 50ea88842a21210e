"""Replacement of a name by another name of the same kind."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from shroom.evaluation.corruption.items import Edit, Item, Pool, draws, like, tokens
from shroom.evaluation.corruption.names import Name, names_in
from shroom.evaluation.corruption.wordlists import groups_of, same_names, with_article

#: How many names are offered for one.
_OFFERED = 8


def edits(item: Item, pool: Pool) -> list[Edit]:
    """Return edits that replace a name of the hypothesis by a name that is in neither text."""
    near = {word.removesuffix("'s") for word in item.vocabulary}
    name_edits: list[Edit] = []
    for name in names_in(item.hyp):
        place = next((n for n, word in enumerate(item.tokens) if word.start == name.start), None)
        if place is None or place < item.first or item.hyp.count(name.text) > 1:
            continue
        fitting = [other for other in _from_knowledge(item, name) if _is_new(other, near)]
        listed = (other for other in _listed(item, name, pool) if _is_new(other, near))
        offered = fitting or islice(listed, _OFFERED)
        name_edits += [_edit(item, place, name, other) for other in offered]
    return name_edits


def _from_knowledge(item: Item, name: Name) -> list[str]:
    """Return the names in the knowledge that have the same kind and need the same article."""
    named = dict.fromkeys(it.text for it in names_in(item.knowledge) if it.kind == name.kind)
    articles = with_article()
    return [other for other in named if (other in articles) == (name.text in articles)]


def _listed(item: Item, name: Name, pool: Pool) -> Iterator[str]:
    """Yield the listed names of a kind in random order; they need an article if the name does."""
    groups, articles = groups_of(name.kind), with_article()
    free = _has_article(item.hyp, name.start) and name.text in articles
    everyone = [
        group[0]
        for group in groups
        if name.text not in group and (free or (group[0] in articles) == (name.text in articles))
    ]
    yield from draws(pool.seed, name.text, *item.key).sample(everyone, len(everyone))


def _has_article(text: str, start: int) -> bool:
    return text[:start].casefold().endswith("the ")


def _edit(item: Item, place: int, name: Name, other: str) -> Edit:
    """Return the edit that replaces a name, including its article, by another name."""
    if name.text in with_article() and _has_article(item.hyp, name.start):
        article = item.tokens[place - 1]
        after = f"{article.text} {other}" if other in with_article() else like(other, article.text)
        return Edit(article.start, name.end, item.hyp[article.start : name.end], after)
    return item.replacing(place, name.end, other)


def _is_new(other: str, near: set[str]) -> bool:
    """Return whether no word of a name, or of its other names, is in the texts."""
    texts = chain([other], same_names().get(other, ()))
    return not {word.low for text in texts for word in tokens(text)} & near
