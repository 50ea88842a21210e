"""Negation: "not" comes to an auxiliary, or goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.corrupt.base import Edit, like
from shroom.corrupt.wordlists import auxiliaries, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shroom.corrupt.base import Item, Token
    from shroom.corrupt.pool import Pool

_HAVE = {"has": "does not have", "have": "do not have", "had": "did not have"}
#: In statements "do" stands as an auxiliary only beside "not".
_DO = frozenset({"do", "does", "did"})
_ENDINGS = ("'m", "'re", "'ll")
#: After these, "'s" is "is" or "has", not a genitive.
_SUBJECTS = frozenset({"he", "she", "it", "that", "there", "who"})
_OBJECTS = frozenset({"a", "an", "the", "to", "my", "your", "his", "her", "its", "our", "their"})
#: After these, "can" and "will" are nouns.
_NOUN_AFTER = _OBJECTS - {"to", "her"}
#: "Not only" is no negation.
_PARTIAL = frozenset({"only", "just", "necessarily", "even", "quite", "so", "very"})
#: Words that are at home beside a negation alone.
_POLAR = frozenset(
    {
        "any",
        "anymore",
        "anyone",
        "anybody",
        "anything",
        "anywhere",
        "ever",
        "yet",
        "either",
        "until",
    }
)


class Negation:
    """A "not" put in or taken out."""

    name = "negation"
    about = 'a "not" put after an auxiliary, or taken away from one'

    def edits(self, item: Item, pool: Pool) -> list[Edit]:
        """Return an edit for each auxiliary that can be negated, or for the one that is.

        Questions are left alone, and what is hedged: "some are" and "some are not" may both hold.
        """
        lows = {token.low for token in item.tokens}
        if words("hedges") & lows or "?" in item.hyp:
            return []
        negations = [
            place
            for place, word in enumerate(item.tokens)
            if word.low in words("negations") or word.low.endswith("n't")
        ]
        if not negations:
            return [*_put_in(item), *pool.recogniser.negated_verbs(item.hyp)]
        return list(_taken_out(item, negations[0])) if len(negations) == 1 else []


def _put_in(item: Item) -> Iterator[Edit]:
    found = item.tokens
    known = set(auxiliaries().values()) - _DO
    for place, word in enumerate(found):
        following = found[place + 1].low if place + 1 < len(found) else ""
        preceding = found[place - 1].low if place else ""
        if place == item.first and word.low == "to" and following.isalpha():
            yield Edit(word.start, word.end, word.text, like("not to", word.text))
        elif _is_contracted(word):
            yield _followed_by_not(word)
        elif word.low not in known or place <= item.first or preceding in _NOUN_AFTER:
            continue
        elif word.low not in _HAVE:
            if following[:1].isalnum():
                yield _followed_by_not(word)
        elif following in _OBJECTS and preceding not in known | {"to"}:
            yield Edit(word.start, word.end, word.text, like(_HAVE[word.low], word.text))
        elif following in words("participles") or following.endswith(("ed", "en")):
            yield _followed_by_not(word)


def _taken_out(item: Item, place: int) -> Iterator[Edit]:
    found, word = item.tokens, item.tokens[place]
    following = found[place + 1].low if place + 1 < len(found) else ""
    if following in _PARTIAL or _POLAR & {token.low for token in found[place:]}:
        return
    if word.low in auxiliaries():
        plain = like(auxiliaries()[word.low], word.text)
        yield Edit(word.start, word.end, word.text, plain)
    elif word.low == "not" and place and _can_be_negated(found[place - 1]):
        start = found[place - 1].end
        yield Edit(start, word.end, item.hyp[start : word.end], "")
    elif word.low == "not" and place == item.first and following == "to":
        to = found[place + 1]
        yield Edit(word.start, to.end, item.hyp[word.start : to.end], like("to", word.text))


def _can_be_negated(word: Token) -> bool:
    return word.low in auxiliaries().values() or _is_contracted(word)


def _is_contracted(word: Token) -> bool:
    subject, apostrophe, ending = word.low.rpartition("'")
    return bool(subject) and (
        apostrophe + ending in _ENDINGS or (ending == "s" and subject in _SUBJECTS)
    )


def _followed_by_not(word: Token) -> Edit:
    after = f"{word.text} {like('not', word.text) if word.text.isupper() else 'not'}"
    return Edit(word.start, word.end, word.text, after)
