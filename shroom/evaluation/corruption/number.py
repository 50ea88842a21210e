"""Numbers in a text, and the replacement of a number by a different one."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from shroom.evaluation.corruption.items import Edit, Item, Pool, Token, at, like
from shroom.evaluation.corruption.items import tokens as split
from shroom.evaluation.corruption.wordlists import Unit, kinds, numbers, units, words

#: Longer numbers are codes.
_MAX_DIGITS = 15
_WRITTEN = re.compile(r"((?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?)([^\W\d_]*|%)")
#: No number takes more words.
_LONGEST = 30
#: Optional parts of a number in words.
_NOT_COUNTED = re.compile(r"-|\band\b")
_JOINING = frozenset("-–—−:/\\.,@#_=+*^~&'’")
_DETERMINERS = frozenset({"the", "his", "her", "its", "their", "my", "your", "our"})
#: The smallest relative change of a number over 20; after "about" it is larger.
_LEAST, _LEAST_ABOUT = Fraction(1, 5), Fraction(1, 2)
_ABOUT = words("approximations")
#: "More than 5" implies "more than" any smaller number, and "less than 5" the reverse.
_AT_LEAST, _AT_MOST = words("lower_bounds"), words("upper_bounds")
_MORE = frozenset(
    {"more", "greater", "higher", "larger", "older", "longer", "further", "later", "better"}
)
_LESS = frozenset(["less", "fewer", "lower", "smaller", "younger", "shorter", "earlier"])
_YEARS = range(1000, 2101)
#: Later years and centuries would be recognised without the premise.
_LAST_YEAR, _LAST_CENTURY = 2025, 21
#: Every month has this many days.
_LAST_DAY = 28


@dataclass(frozen=True)
class Quantity:
    """A number in a text; one of style ``other`` is never replaced."""

    #: Its first and last token, and its first and last character.
    place: int
    last: int
    start: int
    end: int
    style: str
    number: Fraction
    scale: int = 1
    unit: Unit | None = None
    #: The number of decimals.
    decimals: int = 0

    @property
    def value(self) -> Fraction:
        return self.number * self.scale

    def worth(self, number: Fraction) -> set[tuple[str, Fraction]]:
        """Return the values of a number in its place: as written, and in base units."""
        value = number * self.scale
        of_unit = {(self.unit.dimension, value * self.unit.factor)} if self.unit else set()
        return {("", value)} | of_unit


def edits(item: Item, _pool: Pool) -> list[Edit]:
    """Return edits of numbers; the new value, with its unit, is in neither text."""
    own = quantities(item.tokens)
    given = [*own, *quantities(item.premise_tokens)]
    used = {worth for quantity in given for worth in quantity.worth(quantity.number)}
    knowledge = {quantity.number for quantity in quantities(split(item.knowledge))}
    number_edits: list[Edit] = []
    for quantity in own:
        others = _others(quantity, item.tokens, knowledge)
        fitting = [number for number in others if not used & quantity.worth(number)]
        model = item.hyp[quantity.start : quantity.end]
        for number in [it for it in fitting if it in knowledge] or fitting:
            after = _written(quantity, number, model)
            number_edits.append(item.replacing(quantity.place, quantity.end, after))
    return number_edits


def _others(
    quantity: Quantity, tokens: Sequence[Token], knowledge: set[Fraction]
) -> list[Fraction]:
    """Return the possible replacements of a number, by its style and the words around it."""
    before = tokens[max(0, quantity.place - 4) : quantity.place]
    after = tokens[quantity.last + 1 : quantity.last + 5]
    first, noun, style = tokens[quantity.place], at(after, 0).low, quantity.style
    # The other bound of a range would have to change, too.
    is_in_a_range = "between" in {word.low for word in before}
    # As in "the Big Ten" and "Nineteen Eighty-Four".
    begins = not before or before[-1].text[-1] in ".!?"
    is_in_a_name = first.text.istitle() and (not begins or at(after, 0).text.istitle())
    if style == "other" or is_in_a_range or is_in_a_name:
        return []
    one = 10**quantity.decimals
    # Whole numbers: multiples of the last decimal.
    number, lowest, highest, least = int(quantity.number * one), 1, math.inf, Fraction(1)
    is_plain = style == "digits" and first.text.isdigit() and quantity.scale == 1
    is_year = is_plain and quantity.unit is None and number in _YEARS
    side, is_about = _direction([word.low for word in before], [word.low for word in after])
    if style.startswith("ordinal"):
        if noun == "half" or (noun.endswith("s") and not noun.endswith("ss")):
            return []  # a half has no third, and "the first cases" do not follow others
        others = [*range(number - 5, number + 6)]
        lowest = 2 if noun.endswith("est") else 1  # "the first biggest"
        highest = 20 if style == "ordinal words" else 31 if number <= 31 else number + 5
        if noun.startswith("centur"):
            highest = min(highest, max(number, _LAST_CENTURY))
    elif style == "decade":
        others = [*range(number - 40, number + 50, 10)]
    elif is_year:
        others = [number + sign * step for step in (3, 5, 8, 12, 20, 35) for sign in (-1, 1)]
        others += [int(it) for it in sorted(knowledge) if it == int(it) in _YEARS]
        highest = max(_LAST_YEAR, number)
    elif number <= 20:
        others = [*range(2, min(2 * number + 5, 30) + 1)]
    else:  # equally round numbers
        step = 10 ** (len(str(number)) - 2)
        near = range(number - 39 * step, number + 40 * step, step)
        others, lowest = sorted({*near, 2 * number, 3 * number, 10 * number}), 2
        least = number * _LEAST
    beside = (*before[-1:], *after[:1])
    if number <= _LAST_DAY and any(kinds().get(token.text) == "month" for token in beside):
        highest = min(highest, _LAST_DAY)
    if quantity.unit and quantity.unit.dimension == "share" and quantity.number <= 100:
        highest = min(highest, 100 * one)
    if is_about:
        least = max(least, Fraction(20) if is_year else number * _LEAST_ABOUT)
    return [
        Fraction(other, one)
        for other in others
        if lowest <= other <= highest
        and abs(other - number) >= least
        and side * (other - number) >= 0
    ]


def _direction(before: Sequence[str], after: Sequence[str]) -> tuple[int, bool]:
    """Return the direction of change (1, -1; 0: either), and whether the number is approximate."""
    near, side = before[-2:], 0
    if "than" in near:
        side = 1 if _MORE & set(before) else -1 if _LESS & set(before) else 0
        if any(low in ("no", "not") or low.endswith("n't") for low in before):
            side = -side
    elif _AT_LEAST & set(near) or after[:1] == ["+"] or ("or" in after and _MORE & set(after)):
        side = 1
    elif _AT_MOST & set(near) or ("or" in after and _LESS & set(after)):
        side = -1
    return side, bool(_ABOUT & set(near)) or after[:2] == ["or", "so"]


def _written(quantity: Quantity, number: Fraction, model: str) -> str:
    from num2words import num2words

    if quantity.style in ("digits", "decade"):
        is_grouped = "," in model or (number >= 1000 > quantity.number)
        comma = "," * (is_grouped and quantity.style == "digits")
        whole, part = divmod(int(number * 10**quantity.decimals), 10**quantity.decimals)
        return f"{whole:{comma}}" + (f".{part:0{quantity.decimals}d}" if quantity.decimals else "")
    if quantity.style == "ordinal":
        return str(num2words(int(number), to="ordinal_num"))
    if quantity.style == "ordinal words":
        return like(num2words(int(number), to="ordinal"), model)
    return like(in_words(int(number)), model)


def quantities(tokens: Sequence[Token]) -> list[Quantity]:
    """Return the numbers among the tokens of a text, in order."""
    listed: list[Quantity] = []
    for place in range(len(tokens)):
        if not listed or place > listed[-1].last:
            quantity = _digits(tokens, place) or _spelled(tokens, place) or _single(tokens, place)
            listed += [quantity] if quantity else []
    return listed


def _digits(tokens: Sequence[Token], place: int) -> Quantity | None:
    token = tokens[place]
    match = _WRITTEN.fullmatch(token.low)
    if match is None or len(match[1]) > _MAX_DIGITS:
        return None
    digits, ending = match.groups()
    number = Fraction(digits.replace(",", ""))
    style, end = "digits", token.start + len(digits)
    if ending in ("st", "nd", "rd", "th"):
        style, end = "ordinal", token.end
    elif ending == "s" and number % 10 == 0 and number > 0:
        style = "decade"
    elif ending and ending not in units():
        return None
    if _is_joined(tokens, place) or _is_label(tokens, place) or re.match("0[0-9]", digits):
        style = "other"
    scale, unit = (1, units().get(ending)) if ending else _scale_and_unit(tokens, place + 1)
    decimals = len(digits.partition(".")[2]) if style == "digits" else 0
    return Quantity(place, place, token.start, end, style, number, scale, unit, decimals)


def _spelled(tokens: Sequence[Token], place: int) -> Quantity | None:
    """Return the longest run of number words that can be read as one number."""
    known = {*words("cardinals"), *numbers("scale"), "and"}
    lasts: list[int] = []
    for last, token in enumerate(tokens[place : place + _LONGEST], place):
        is_apart = last == place or tokens[last - 1].end < token.start
        if not is_apart or not known.issuperset(token.low.split("-")):
            break
        lasts.append(last)
    for last in reversed(lasts):
        run = [it for token in tokens[place : last + 1] for it in token.low.split("-")]
        value = None if "and" in (run[0], run[-1]) else _read([it for it in run if it != "and"])
        if value is not None:
            joined = _is_joined(tokens, place) or _is_joined(tokens, last)
            # "One" is a pronoun more often than a number.
            style = "other" if joined or value < 2 else "words"
            places = place, last, tokens[place].start, tokens[last].end
            return Quantity(*places, style, Fraction(value), *_scale_and_unit(tokens, last + 1))
    return None


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


def _read(run: Sequence[str]) -> int | None:
    """Return the value of number words, or ``None`` if they are not the words of any number."""
    from text_to_num import text2num

    try:
        value = int(text2num(" ".join(run), "en"))
    except ValueError:
        return None
    # "Twenty thirty" and "two hundred hundred" are not.
    return value if run == _NOT_COUNTED.sub(" ", in_words(value)).split() else None


def in_words(number: int) -> str:
    from num2words import num2words

    text: str = num2words(number)
    return text.replace(",", "")


@functools.cache
def ordinals() -> dict[str, int]:
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
    before, after = at(tokens, place - 1).text, at(tokens, place + 1).text
    brackets = [char for token in tokens[:place] for char in token.text if char in "[]"]
    if brackets[-1:] == ["["] or before.lower() == "sense":
        return True
    return place == 0 and after in (".", ")", ":")
