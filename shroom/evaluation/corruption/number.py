"""Numbers in a text, and the replacement of a number by a different one."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from shroom.evaluation.corruption.items import Edit, Item, Pool, Token, at, like
from shroom.evaluation.corruption.wordlists import Unit, kinds, numbers, units, words

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
_YEARS = (1000, 2100)
#: Later years and centuries would be recognised without the premise.
_LAST_YEAR, _LAST_CENTURY = 2025, 21
#: Every month has this many days.
_LAST_DAY = 28


def edits(item: Item, pool: Pool) -> list[Edit]:
    """Return edits of numbers; the new value, with its unit, is in neither text."""
    del pool
    hyp_quantities = quantities(item.tokens)
    used = {
        worth
        for quantity in [*hyp_quantities, *quantities(item.premise_tokens)]
        for worth in quantity.worth(quantity.number)
    }
    knowledge = {quantity.number for quantity in quantities(item.knowledge_tokens)}
    number_edits: list[Edit] = []
    for quantity in hyp_quantities:
        others = _others(quantity, item.tokens, knowledge)
        fitting = [number for number in others if not used & quantity.worth(number)]
        model = item.hyp[quantity.start : quantity.end]
        for number in [it for it in fitting if it in knowledge] or fitting:
            written = _written(quantity, number, model)
            number_edits.append(item.replacing(quantity.place, quantity.end, written))
    return number_edits


def _others(
    quantity: Quantity, tokens: Sequence[Token], knowledge: set[Fraction]
) -> list[Fraction]:
    """Return the possible replacements of a number, by its style and the words around it."""
    before = tokens[max(0, quantity.place - 4) : quantity.place]
    after = tokens[quantity.last + 1 : quantity.last + 5]
    noun = at(after, 0).low
    # The other bound of a range would have to change, too.
    is_in_a_range = "between" in {word.low for word in before}
    if quantity.style == "other" or is_in_a_range or _is_in_a_name(quantity, tokens):
        return []
    places = _decimals(tokens[quantity.place].low) if quantity.style == "digits" else 0
    scaled = int(quantity.number * 10**places)
    if quantity.style in ("ordinal", "ordinal words"):
        last = 20 if quantity.style == "ordinal words" else 31 if scaled <= 31 else scaled + 5
        if noun == "half" or (noun.endswith("s") and not noun.endswith("ss")):
            return []  # a half has no third, and "the first cases" do not follow others
        if noun.startswith("centur"):
            last = min(last, max(scaled, _LAST_CENTURY))
        lowest = 2 if noun.endswith("est") else 1  # "the first biggest"
        fitting = [n for n in range(scaled - 5, scaled + 6) if lowest <= n <= last]
    elif quantity.style == "decade":
        fitting = [*range(scaled - 40, scaled + 50, 10)]
    elif _is_year(quantity, tokens):
        fitting = [scaled + sign * step for step in (3, 5, 8, 12, 20, 35) for sign in (-1, 1)]
        fitting += [
            int(n) for n in sorted(knowledge) if _YEARS[0] <= n <= _YEARS[1] and n == int(n)
        ]
        fitting = [n for n in fitting if n <= max(_LAST_YEAR, scaled)]
    else:
        fitting = _unlike(scaled)
    if any(kinds().get(token.text) == "month" for token in (*before[-1:], *after[:1])):
        fitting = [n for n in fitting if n <= _LAST_DAY or scaled > _LAST_DAY]
    if quantity.unit and quantity.unit.dimension == "share" and quantity.number <= 100:
        fitting = [n for n in fitting if n <= 100 * 10**places]
    side, about = _direction([word.low for word in before], [word.low for word in after])
    fitting = [n for n in fitting if n > 0 and n != scaled and side * (n - scaled) >= 0]
    if about:
        least = 20 if _is_year(quantity, tokens) else scaled * _LEAST_ABOUT
        fitting = [n for n in fitting if abs(n - scaled) >= least]
    return [Fraction(n, 10**places) for n in fitting]


def _is_in_a_name(quantity: Quantity, tokens: Sequence[Token]) -> bool:
    """Return whether a number is a part of a name: "the Big Ten", "Nineteen Eighty-Four"."""
    before = tokens[quantity.place - 1].text[-1] if quantity.place else "."
    after = at(tokens, quantity.last + 1).text
    return tokens[quantity.place].text.istitle() and (before not in ".!?" or after.istitle())


def _unlike(number: int) -> list[int]:
    """Return whole numbers that clearly differ from a number and are equally round."""
    if number <= 20:
        return [n for n in range(2, 31) if n <= 2 * number + 5]
    step = 10 ** (len(str(number)) - 2)
    numbers = {*range(number - 39 * step, number + 40 * step, step)}
    numbers |= {2 * number, 3 * number, 10 * number}
    return sorted(n for n in numbers if n > 1 and abs(n - number) >= number * _LEAST)


def _direction(before: Sequence[str], after: Sequence[str]) -> tuple[int, bool]:
    """Return the direction of change (1, -1; 0: either), and whether the number is approximate."""
    near, side = before[-2:], 0
    if "than" in near:
        side = 1 if _MORE & set(before) else -1 if _LESS & set(before) else 0
    elif _AT_LEAST & set(near) or after[:1] == ["+"] or ("or" in after and _MORE & set(after)):
        side = 1
    elif _AT_MOST & set(near) or ("or" in after and _LESS & set(after)):
        side = -1
    if "than" in near and any(low in ("no", "not") or low.endswith("n't") for low in before):
        side = -side
    return side, bool(_ABOUT & set(near)) or ("or" in after[:1] and "so" in after[1:2])


def _is_year(quantity: Quantity, tokens: Sequence[Token]) -> bool:
    text = tokens[quantity.place].text
    is_plain = len(text) == 4 and text.isdigit() and quantity.scale == 1 and quantity.unit is None
    return is_plain and _YEARS[0] <= quantity.number <= _YEARS[1]


def _decimals(written: str) -> int:
    return sum(char.isdigit() for char in written.partition(".")[2])


def _written(quantity: Quantity, number: Fraction, model: str) -> str:
    from num2words import num2words

    if quantity.style == "digits" or quantity.style == "decade":
        places = _decimals(model)
        whole, part = divmod(int(number * 10**places), 10**places)
        grouped = "," in model or (whole >= 1000 > quantity.number)
        digits = f"{whole:,}" if grouped and quantity.style == "digits" else f"{whole}"
        return f"{digits}.{part:0{places}d}" if places else digits
    whole = int(number)
    if quantity.style == "ordinal":
        return str(num2words(whole, to="ordinal_num"))
    if quantity.style == "ordinal words":
        return like(num2words(whole, to="ordinal"), model)
    return like(in_words(whole), model)


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
            quantity = _digits(tokens, place) or _spelled(tokens, place) or _single(tokens, place)
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


def _spelled(tokens: Sequence[Token], place: int) -> Quantity | None:
    """Return the longest run of number words that can be read as one number."""
    best: tuple[int, int] | None = None
    run: list[str] = []
    if tokens[place].low == "and":
        return None
    for last in range(place, min(len(tokens), place + _LONGEST)):
        low = tokens[last].low
        if last > place and tokens[last - 1].end == tokens[last].start:
            break
        run += [word for word in low.split("-") if word != "and"]
        value = _read(run)
        if value is None and low != "and":
            break
        # "Twenty thirty" and "two hundred hundred" are not the words of any number.
        if value is not None and run == _NOT_COUNTED.sub(" ", in_words(value)).split():
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


def _read(run: Sequence[str]) -> int | None:
    """Return the value of number words in a row, or ``None`` if they are not a number."""
    from text_to_num import text2num

    try:
        return int(text2num(" ".join(run), "en"))
    except ValueError:
        return None


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
