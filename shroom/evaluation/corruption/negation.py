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


def edits(item: Item, _pool: Pool) -> list[Edit]:
    """Return an edit for each auxiliary that can be negated, or one that removes a negation."""
    places = negated(item)
    has_hedge = words("hedges") & {token.low for token in item.tokens}
    if has_hedge or "?" in item.hyp or len(places) > 1:
        return []
    candidates = _taken_out(item, places[0]) if places else _put_in(item)
    return [edit for edit in candidates if _turns_the_meaning(item, edit)]


def negated(item: Item) -> list[int]:
    """Return the places of negations."""
    listed = words("negations")
    lows = [word.low for word in item.tokens]
    return [place for place, low in enumerate(lows) if low in listed or low.endswith("n't")]


def _turns_the_meaning(item: Item, edit: Edit) -> bool:
    """Return whether an edit does nothing but reverse the meaning of the sentence."""
    before, after = _sentence(item, edit.start)
    follows_but = any(word.low == "but" and word.start > edit.start for word in item.tokens)
    depends = words("subordinators") & {*before}
    is_stance = words("stances") & {*after[:5]}
    return not (follows_but or depends or is_stance or is_beside_the_premise(item, edit.start))


def is_beside_the_premise(item: Item, start: int) -> bool:
    """Return whether a place is in a quoted title, or in a speaker's statement about themselves."""
    before, after = _sentence(item, start)
    speaks = not words("first_person").isdisjoint([*before, *after])
    # A dialogue has several speakers, so that an "I" there may be another one. Its turns are lines;
    # other premises have two at most, the source and the target.
    is_dialogue = item.premise.strip().count("\n") > 1
    answers = words("first_person") & {word.low for word in item.premise_tokens}
    text = item.hyp[:start]
    is_quoted = text.count('"') % 2 == 1 or text.count("“") > text.count("”")
    return is_quoted or (speaks and (is_dialogue or not answers))


def _sentence(item: Item, start: int) -> tuple[list[str], list[str]]:
    """Return the words of the sentence around a character, before and after it."""
    sentence: list[Token] = []
    for word in item.tokens:
        sentence.append(word)
        if word.text[-1] in ".!?;":
            if word.end > start:
                break
            sentence = []
    before = [word.low for word in sentence if word.end <= start]
    return before, [word.low for word in sentence[len(before) :]]


def begins_a_sentence(item: Item, place: int) -> bool:
    """Return whether a word begins a sentence, where a capital does not indicate a name."""
    following = at(item.tokens, place + 1).text
    if following[:1].isupper() and not item.tokens[place].text.isupper():  # a title
        return False
    return place == item.first or item.tokens[place - 1].text[-1] in ".!?"


def _put_in(item: Item) -> Iterator[Edit]:
    for place, word in enumerate(item.tokens):
        text, following = word.text, at(item.tokens, place + 1).low
        has_capital = text[0].isupper() and not text.isupper() and place > item.first
        is_in_a_title = has_capital and not begins_a_sentence(item, place)
        is_fitting = following not in words("partial") and not is_in_a_title
        if is_fitting and (after := _negation(item, place)):
            yield Edit(word.start, word.end, text, after)


def _negation(item: Item, place: int) -> str:
    """Return the negation of an auxiliary; empty if the word is none."""
    word, following = item.tokens[place], at(item.tokens, place + 1).low
    if place == item.first and word.low == "to" and following.isalpha():
        # "To see it, go there" states a purpose.
        return "" if "," in item.hyp else like("not to", word.text)
    if word.low.endswith("'ll") and _is_contracted(word):
        return word.text[:-3] + like(" won't", word.text)
    if not _is_contracted(word):
        preceding, negatable = at(item.tokens, place - 1).low, {*auxiliaries().values()} - _DO
        # "Would have" is negated at its first word.
        is_other = preceding in _NOUN_AFTER | negatable
        if word.low not in negatable or place <= item.first or is_other:
            return ""
        if word.low in _HAVE and following in _OBJECTS and preceding != "to":
            return like(_HAVE[word.low], word.text)
        is_participle = following in words("participles") or following.endswith(("ed", "en"))
        if not (is_participle if word.low in _HAVE else following[:1].isalnum()):
            return ""
    end = "not" if word.low == "can" else " not"
    return word.text + (end.upper() if word.text.isupper() else end)


def _taken_out(item: Item, place: int) -> Iterator[Edit]:
    listed, word = item.tokens, item.tokens[place]
    preceding, following = at(listed, place - 1), at(listed, place + 1)
    is_polar = words("polar") & {token.low for token in listed[place:]}
    if following.low in words("partial") or is_polar:
        return
    start, end, after = word.start, word.end, ""
    if word.low in auxiliaries():
        after = like(auxiliaries()[word.low], word.text)
    elif word.low != "not":
        return
    elif preceding.low in auxiliaries().values() or _is_contracted(preceding):
        start = preceding.end
    elif place == item.first and following.low == "to":
        end, after = following.end, like("to", word.text)
    else:
        return
    yield Edit(start, end, item.hyp[start:end], after)


def _is_contracted(word: Token) -> bool:
    subject, apostrophe, ending = word.low.rpartition("'")
    is_verb = apostrophe + ending in _ENDINGS or (ending == "s" and subject in _SUBJECTS)
    return bool(subject) and is_verb
