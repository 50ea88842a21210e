"""Names found by rules: by their capitals, and by a short list of known ones."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from shroom.evaluation.corruption.items import Name, Token, tokens
from shroom.evaluation.corruption.wordlists import names, words

if TYPE_CHECKING:
    from shroom.evaluation.corruption.items import Edit

#: After these a capital is not a sign of a name.
_OPENING = frozenset(".!?…:;\"“”‘'«»([{)<>-–—•*|/")
_TITLES = frozenset({"mr", "mrs", "ms", "dr", "prof", "st", "jr", "sr"})
#: Known names that begin a sentence as other words do, too.
_AMBIGUOUS = frozenset({"may", "march", "august", "frank", "polish"})
#: Names that stand for themselves beside others, as in "On Monday Tom left".
_ALONE = frozenset({"day", "month"})
#: A text with more capitals than that, among its words, does not show names by them.
_MAX_CAPITALS = 0.6


class Rules:
    """Names by capitals, without any model."""

    about = "rules"

    def names(self, text: str, context: str) -> list[Name]:
        """Return the names in a text; ``context`` shows which first words of sentences are names.

        Examples
        --------
        >>> [name[2:] for name in Rules().names("In May Ann Lee left it for Rome, near NY.", "")]
        [('May', 'month'), ('Ann Lee', ''), ('Rome', 'city'), ('NY', '')]
        """
        found = tokens(text)
        capitals = [token for token in found if token.text[0].isupper() and token.text != "I"]
        letters = [token for token in found if token.text[0].isalpha()]
        titled = len(letters) > 3 and len(capitals) > _MAX_CAPITALS * len(letters)
        elsewhere = _inside(found, text) | _inside(tokens(context), context)
        runs: list[list[Token]] = []
        for place, token in enumerate(found):
            begins = _begins(found, place, text)
            if not _is_name(found, place, elsewhere, begins=begins, titled=titled):
                continue
            alone = kind_of(token.text) in _ALONE
            last = runs[-1][-1] if runs else None
            joined = last is not None and text[last.end : token.start] == " "
            if joined and not alone and last and kind_of(_own(last)) not in _ALONE:
                runs[-1].append(token)
            else:
                runs.append([token])
        return [_name(text, run) for run in runs]

    def negated_verbs(self, text: str) -> list[Edit]:
        """Return none: rules do not recognise verbs."""
        del text
        return []


@functools.cache
def _kinds() -> dict[str, str]:
    return {name: kind for kind, groups in names().items() for group in groups for name in group}


def kind_of(name: str) -> str:
    """Return the kind of a known name, and an empty text for others."""
    return _kinds().get(name, "")


def _own(token: Token) -> str:
    """Return a word without the ending of its genitive."""
    return token.text[:-2] if token.low.endswith("'s") else token.text


def _name(text: str, run: list[Token]) -> Name:
    start = run[0].start
    end = run[-1].start + len(_own(run[-1]))
    before = text[:start].rstrip(". ").rpartition(" ")[2].casefold()
    titled = "surname" if len(run) == 1 and before in _TITLES - {"st", "jr", "sr"} else ""
    return Name(start, end, text[start:end], kind_of(text[start:end]) or titled)


def _is_name(
    found: list[Token], place: int, elsewhere: frozenset[str], *, begins: bool, titled: bool
) -> bool:
    token = found[place]
    own = _own(token)
    if not token.text[0].isupper() or not own.replace("-", "").replace(".", "").isalnum():
        return False
    if own == "I" or (place and found[place - 1].text[-1] == "("):
        return False
    if token.low in words("function_words") and not kind_of(own):
        return False
    known = bool(kind_of(own)) or (token.low in _parts() and not begins)
    if begins:
        if token.low in _AMBIGUOUS:
            return False
        following = found[place + 1] if place + 1 < len(found) else None
        goes_on = (
            following is not None
            and following.text[0].isupper()
            and following.text != "I"
            and not titled
        )
        return known or own in elsewhere or goes_on
    return known or not titled


@functools.cache
def _parts() -> frozenset[str]:
    """Return the words of the known names that have several."""
    return frozenset(word.casefold() for name in _kinds() if " " in name for word in name.split())


def _begins(found: list[Token], place: int, text: str) -> bool:
    """Return whether a token begins a sentence, a line, a quotation or an entry."""
    if place == 0:
        return True
    before = found[place - 1]
    if "\n" in text[before.end : found[place].start]:
        return True
    if before.text == "." and place > 1:
        abbreviated = found[place - 2]
        initial = len(abbreviated.text) == 1 and abbreviated.text.isupper()
        if abbreviated.low in _TITLES or initial or "." in abbreviated.text:
            return False
    return before.text[-1] in _OPENING


def _inside(found: list[Token], text: str) -> frozenset[str]:
    """Return the words that are capitalised though they begin no sentence, and never are not."""
    small = {token.text for token in found if token.text.islower()}
    return frozenset(
        _own(token)
        for place, token in enumerate(found)
        if token.text[0].isupper() and token.low not in small and not _begins(found, place, text)
    )
