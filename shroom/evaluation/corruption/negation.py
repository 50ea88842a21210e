"""Negation of a statement, if the result is English and contradicts the premise."""

from __future__ import annotations

from collections.abc import Iterator

from shroom.evaluation.corruption.items import Edit, Item, Pool, Token, at, like
from shroom.evaluation.corruption.wordlists import auxiliaries, words

_HAVE = {"has": "does not have", "have": "do not have", "had": "did not have"}
#: In statements "do" is an auxiliary only beside "not".
_DO = frozenset({"do", "does", "did"})
_ENDINGS = ("'m", "'re", "'ll")
#: After these, "'s" is "is" or "has", not a genitive.
_SUBJECTS = frozenset({"he", "she", "it", "that", "there", "who"})
_OBJECTS = frozenset({"a", "an", "the", "to", "my", "your", "his", "her", "its", "our", "their"})
#: After these, "can" and "will" are nouns.
_NOUN_AFTER = _OBJECTS - {"to", "her"}


def edits(item: Item, pool: Pool) -> list[Edit]:
    """Return an edit for each auxiliary that can be negated, or one that removes a negation."""
    del pool
    lows = {token.low for token in item.tokens}
    if words("hedges") & lows or "?" in item.hyp:
        return []
    places = negated(item)
    if len(places) > 1:
        return []
    candidates = _taken_out(item, places[0]) if places else _put_in(item)
    return [edit for edit in candidates if _turns_the_meaning(item, edit)]


def negated(item: Item) -> list[int]:
    listed = words("negations")
    return [
        place
        for place, word in enumerate(item.tokens)
        if word.low in listed or word.low.endswith("n't")
    ]


def _turns_the_meaning(item: Item, edit: Edit) -> bool:
    """Return whether an edit does nothing but reverse the meaning of the sentence."""
    sentence, before = _sentence(item, edit.start)
    follows_but = any(word.low == "but" and word.start > edit.start for word in item.tokens)
    depends = words("subordinators") & {word.low for word in before}
    after = [word.low for word in sentence[len(before) :]][:5]
    is_stance = words("stances") & set(after)
    return not (follows_but or depends or is_stance or is_beside_the_premise(item, edit.start))


def is_beside_the_premise(item: Item, start: int) -> bool:
    """Return whether a place is in a quoted title, or in a speaker's statement about themselves."""
    before, first_person = item.hyp[:start], words("first_person")
    sentence, _ = _sentence(item, start)
    speaks = not first_person.isdisjoint(word.low for word in sentence)
    # A dialogue has several speakers, so that an "I" there may be another one. Its turns are lines;
    # other premises have two at most, the source and the target.
    is_dialogue = item.premise.strip().count("\n") > 1
    is_answered = not (
        is_dialogue or first_person.isdisjoint(word.low for word in item.premise_tokens)
    )
    is_quoted = before.count('"') % 2 == 1 or before.count("“") > before.count("”")
    return is_quoted or (speaks and not is_answered)


def _sentence(item: Item, start: int) -> tuple[list[Token], list[Token]]:
    """Return the words of the sentence around a character, and the part before it."""
    sentence: list[Token] = []
    for word in item.tokens:
        sentence.append(word)
        if word.text[-1] in ".!?;":
            if word.end > start:
                break
            sentence = []
    return sentence, [word for word in sentence if word.end <= start]


def _put_in(item: Item) -> Iterator[Edit]:
    negatable = set(auxiliaries().values()) - _DO
    for place, word in enumerate(item.tokens):
        following, preceding = at(item.tokens, place + 1).low, at(item.tokens, place - 1).low
        in_a_title = word.text[0].isupper() and not word.text.isupper() and place > item.first
        if following in words("partial") or (in_a_title and not begins_a_sentence(item, place)):
            continue
        if place == item.first and word.low == "to" and following.isalpha():
            if "," not in item.hyp:  # "To see it, go there" states a purpose
                yield Edit(word.start, word.end, word.text, like("not to", word.text))
        elif _is_contracted(word):
            yield _followed_by_not(word)
        elif (
            word.low not in negatable or place <= item.first or preceding in _NOUN_AFTER | negatable
        ):
            continue  # "would have" is negated at its first word
        elif word.low not in _HAVE:
            if following[:1].isalnum():
                yield _followed_by_not(word)
        elif following in _OBJECTS and preceding != "to":
            yield Edit(word.start, word.end, word.text, like(_HAVE[word.low], word.text))
        elif following in words("participles") or following.endswith(("ed", "en")):
            yield _followed_by_not(word)


def _taken_out(item: Item, place: int) -> Iterator[Edit]:
    listed, word = item.tokens, item.tokens[place]
    preceding, following = at(listed, place - 1), at(listed, place + 1).low
    if following in words("partial") or words("polar") & {token.low for token in listed[place:]}:
        return
    if word.low in auxiliaries():
        plain = like(auxiliaries()[word.low], word.text)
        yield Edit(word.start, word.end, word.text, plain)
    elif word.low == "not" and (
        preceding.low in auxiliaries().values() or _is_contracted(preceding)
    ):
        start = preceding.end
        yield Edit(start, word.end, item.hyp[start : word.end], "")
    elif word.low == "not" and place == item.first and following == "to":
        to = listed[place + 1]
        yield Edit(word.start, to.end, item.hyp[word.start : to.end], like("to", word.text))


def _is_contracted(word: Token) -> bool:
    subject, apostrophe, ending = word.low.rpartition("'")
    return bool(subject) and (
        apostrophe + ending in _ENDINGS or (ending == "s" and subject in _SUBJECTS)
    )


def _followed_by_not(word: Token) -> Edit:
    if word.low.endswith("'ll"):
        after = word.text[:-3] + like(" won't", word.text)
    else:
        end = "not" if word.low == "can" else " not"
        after = word.text + (end.upper() if word.text.isupper() else end)
    return Edit(word.start, word.end, word.text, after)


def begins_a_sentence(item: Item, place: int) -> bool:
    """Return whether a word begins a sentence, where a capital does not indicate a name."""
    following = at(item.tokens, place + 1).text
    if following[:1].isupper() and not item.tokens[place].text.isupper():  # a title
        return False
    return place == item.first or item.tokens[place - 1].text[-1] in ".!?"
