"""Numbers in a text: their positions, notation and values."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from shroom.evaluation.corruption.items import Token, at
from shroom.evaluation.corruption.wordlists import Unit, numbers, units

#: Longer numbers are codes.
_MAX_DIGITS = 15
_WRITTEN = re.compile(
    r"(?P<number>(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?)(?P<ending>[^\W\d_]*|%)"
)
#: No number takes more words.
_LONGEST = 30
#: Optional parts of a number in words.
_NOT_COUNTED = re.compile(r"-|\band\b")
_JOINING = frozenset("-–—−:/\\.,@#_=+*^~&'’")


@dataclass(frozen=True)
class Quantity:
    """A number in a text; one of style ``other`` is never replaced."""

    place: int
    last: int
    start: int
    end: int
    style: str
    number: Fraction
    scale: int = 1
    unit: Unit | None = None

    @property
    def value(self) -> Fraction:
        return self.number * self.scale

    def worth(self, number: Fraction) -> set[tuple[str, Fraction]]:
        """Return the values of a number in its place: as written, and in base units."""
        value = number * self.scale
        of_unit = {(self.unit.dimension, value * self.unit.factor)} if self.unit else set()
        return {("", value)} | of_unit


def quantities(tokens: Sequence[Token]) -> list[Quantity]:
    """Return the numbers among the tokens of a text, in order."""
    listed: list[Quantity] = []
    for place in range(len(tokens)):
        if not listed or place > listed[-1].last:
            quantity = _digits(tokens, place) or _words(tokens, place) or _single(tokens, place)
            listed += [quantity] if quantity else []
    return listed


def _digits(tokens: Sequence[Token], place: int) -> Quantity | None:
    token = tokens[place]
    match = _WRITTEN.fullmatch(token.low)
    if match is None or len(match["number"]) > _MAX_DIGITS:
        return None
    ending = match["ending"]
    number = Fraction(match["number"].replace(",", ""))
    style, end = "digits", token.start + len(match["number"])
    if ending in ("st", "nd", "rd", "th"):
        style, end = "ordinal", token.end
    elif ending == "s" and number % 10 == 0 and number > 0:
        style = "decade"
    elif ending and ending not in units():
        return None
    if _is_joined(tokens, place) or _is_label(tokens, place) or re.match("0[0-9]", match["number"]):
        style = "other"
    scale, unit = (1, units().get(ending)) if ending else _scale_and_unit(tokens, place + 1)
    return Quantity(place, place, token.start, end, style, number, scale, unit)


def _words(tokens: Sequence[Token], place: int) -> Quantity | None:
    """Return the longest run of number words that can be read as one number."""
    best: tuple[int, int] | None = None
    words: list[str] = []
    if tokens[place].low == "and":
        return None
    for last in range(place, min(len(tokens), place + _LONGEST)):
        low = tokens[last].low
        if last > place and tokens[last - 1].end == tokens[last].start:
            break
        words += [word for word in low.split("-") if word != "and"]
        value = _read(words)
        if value is None and low != "and":
            break
        # "Twenty thirty" and "two hundred hundred" are not the words of any number.
        if value is not None and words == _NOT_COUNTED.sub(" ", in_words(value)).split():
            best = (last, value)
    if best is None:
        return None
    last, value = best
    joined = _is_joined(tokens, place) or _is_joined(tokens, last)
    # "One" is a pronoun more often than a number.
    style = "other" if joined or value < 2 else "words"
    places = place, last, tokens[place].start, tokens[last].end
    return Quantity(*places, style, Fraction(value), *_scale_and_unit(tokens, last + 1))


def _single(tokens: Sequence[Token], place: int) -> Quantity | None:
    """Return the number of an ordinal, a single scale ("a hundred"), "dozen" and the like."""
    token = tokens[place]
    value = {**numbers("other"), **numbers("scale"), **ordinals()}.get(token.low)
    if value is None:
        return None
    determined = place > 0 and tokens[place - 1].low in _DETERMINERS
    is_ordinal = token.low in ordinals() and determined and not _is_joined(tokens, place)
    style = "ordinal words" if is_ordinal else "other"
    return Quantity(place, place, token.start, token.end, style, Fraction(value))


_DETERMINERS = frozenset({"the", "his", "her", "its", "their", "my", "your", "our"})


def _read(words: Sequence[str]) -> int | None:
    """Return the value of number words in a row, or ``None`` if they are not a number."""
    from text_to_num import text2num

    try:
        return int(text2num(" ".join(words), "en"))
    except ValueError:
        return None


def in_words(number: int) -> str:
    """Return a whole number in words, without commas."""
    from num2words import num2words

    text: str = num2words(number)
    return text.replace(",", "")


@functools.cache
def ordinals() -> dict[str, int]:
    """Return the ordinals that are one word, with their numbers."""
    from num2words import num2words

    return {num2words(number, to="ordinal"): number for number in range(1, 21)}


def _scale_and_unit(tokens: Sequence[Token], place: int) -> tuple[int, Unit | None]:
    """Return the scale and the unit that the words at a place give to the number before them."""
    lows = [token.low for token in tokens[place : place + 3]]
    scales = {**numbers("scale"), "dozen": 12}
    scale = scales.get(lows[0], 1) if lows else 1
    rest = lows[1:] if scale > 1 else lows
    unit = "percent" if rest[:2] == ["per", "cent"] else "".join(rest[:1])
    return scale, units().get(unit)


def _is_joined(tokens: Sequence[Token], place: int) -> bool:
    """Return whether signs join a token to others, as in 10:30, 1/2, 5–10 or -3."""
    before, token, sign, after = (at(tokens, place + step) for step in (-1, 0, 1, 2))
    if before.end == token.start and before.text[-1] in _JOINING:
        return True
    return (
        (sign.start, after.start) == (token.end, sign.end)
        and sign.text[0] in _JOINING
        and after.text[0].isalnum()
    )


def _is_label(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a number is only a label: "[3]", "sense 3", "3." before an entry."""
    before, after = at(tokens, place - 1).text, at(tokens, place + 1).text
    brackets = [char for token in tokens[:place] for char in token.text if char in "[]"]
    if brackets[-1:] == ["["] or before.lower() == "sense":
        return True
    return place == 0 and after in (".", ")", ":")
