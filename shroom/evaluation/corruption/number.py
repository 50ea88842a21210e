"""Replacement of a number by a different one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from shroom.evaluation.corruption.items import Edit, Item, Pool, Token, at, like
from shroom.evaluation.corruption.quantities import Quantity, in_words, quantities
from shroom.evaluation.corruption.wordlists import kinds, words

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
    """Return a number in the style of another one."""
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
