"""Negation: "not" comes to an auxiliary, or goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shroom.evaluation.corruption.base import like
from shroom.evaluation.corruption.items import Edit
from shroom.evaluation.corruption.wordlists import auxiliaries, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shroom.evaluation.corruption.items import Item, Token
    from shroom.evaluation.corruption.pool import Pool

_HAVE = {"has": "does not have", "have": "do not have", "had": "did not have"}
#: In statements "do" stands as an auxiliary only beside "not".
_DO = frozenset({"do", "does", "did"})
_ENDINGS = ("'m", "'re", "'ll")
#: After these, "'s" is "is" or "has", not a genitive.
_SUBJECTS = frozenset({"he", "she", "it", "that", "there", "who"})
_OBJECTS = frozenset({"a", "an", "the", "to", "my", "your", "his", "her", "its", "our", "their"})
#: After these, "can" and "will" are nouns.
_NOUN_AFTER = _OBJECTS - {"to", "her"}
#: "Not only" is not a negation.
_PARTIAL = frozenset({"only", "just", "necessarily", "even", "quite", "so", "very"})
#: "I am sure" says nothing of the matter.
_STANCE = frozenset({"sure", "sorry", "afraid", "glad", "happy", "certain", "aware"})
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
        "enough",
    }
)


class Negation:
    """A "not" put in or taken out."""

    name = "negation"
    about = 'a "not" put after an auxiliary, or taken away from one'
    of_english = True

    def edits(self, item: Item, pool: Pool) -> list[Edit]:
        """Return an edit for each auxiliary that can be negated, or for the one that is.

        Questions are left alone, and what is hedged: "some are" and "some are not" may both hold;
        so is what comes before a "but", as in "I am not sure, but it is red".
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
            found = [*_put_in(item), *pool.recogniser.negated_verbs(item.hyp)]
        else:
            found = list(_taken_out(item, negations[0])) if len(negations) == 1 else []
        buts = [word.start for word in item.tokens if word.low == "but"]
        return [edit for edit in found if not any(start > edit.start for start in buts)]


def _put_in(item: Item) -> Iterator[Edit]:
    found = item.tokens
    known = set(auxiliaries().values()) - _DO
    for place, word in enumerate(found):
        following = found[place + 1].low if place + 1 < len(found) else ""
        preceding = found[place - 1].low if place else ""
        in_a_title = place > item.first and word.text.istitle() and word.low in known
        if in_a_title or _is_stance(found, place) or following in _PARTIAL:
            continue
        if place == item.first and word.low == "to" and following.isalpha():
            if "," in item.hyp:  # "To see it, go there" states a purpose
                continue
            yield Edit(word.start, word.end, word.text, like("not to", word.text))
        elif _is_contracted(word):
            yield _followed_by_not(word)
        elif word.low not in known or place <= item.first or preceding in _NOUN_AFTER | known:
            continue  # "would have" is negated at its first word
        elif word.low not in _HAVE:
            if following[:1].isalnum():
                yield _followed_by_not(word)
        elif following in _OBJECTS and preceding != "to":
            yield Edit(word.start, word.end, word.text, like(_HAVE[word.low], word.text))
        elif following in words("participles") or following.endswith(("ed", "en")):
            yield _followed_by_not(word)


def _taken_out(item: Item, place: int) -> Iterator[Edit]:
    found, word = item.tokens, item.tokens[place]
    following = found[place + 1].low if place + 1 < len(found) else ""
    if word.low == "not" and place and _is_stance(found, place - 1):
        return
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


def _is_stance(found: Sequence[Token], place: int) -> bool:
    """Return whether an auxiliary says only how sure or sorry the speaker is."""
    first = found[place].low == "i'm" or (place > 0 and found[place - 1].low == "i")
    return first and bool(_STANCE & {token.low for token in found[place + 1 : place + 4]})


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
