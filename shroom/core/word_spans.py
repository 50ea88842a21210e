"""Positions of the words of a text in any script."""

from __future__ import annotations

import unicodedata

#: Scripts that are written without blanks, so that each character is a word.
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x0FFF),  # Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x30FF),  # kana and the signs of repetition
    (0x3400, 0x9FFF),  # Han
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),
    (0x20000, 0x3FFFF),
)
#: Characters that join two letters into one word.
_INNER = frozenset("'’-‐‑.,_·")


def spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each word of a text, in order and without overlap."""
    # A word consists of letters and digits, perhaps with signs inside (``don't``, ``3.5``), of only
    # signs, or of one character of a script without blanks.
    bounds: list[tuple[int, int]] = []
    start, kind = 0, " "
    for place, char in enumerate(text):
        new = _kind(char)
        if new == "mark" and kind != " ":  # belongs to the character before it
            continue
        if new == "sign" and kind == "word" and _joins(text, place):
            continue
        if new == kind and new != "one":
            continue
        if kind != " ":
            bounds.append((start, place))
        start, kind = place, "sign" if new == "mark" else new
    if kind != " ":
        bounds.append((start, len(text)))
    return bounds


def _joins(text: str, place: int) -> bool:
    """Return whether the character at a place is inside a word."""
    return text[place] in _INNER and place + 1 < len(text) and _kind(text[place + 1]) == "word"


def _kind(char: str) -> str:
    if char.isspace():
        return " "
    if any(low <= ord(char) <= high for low, high in _UNSPACED):
        return "mark" if unicodedata.category(char)[0] == "M" else "one"
    category = unicodedata.category(char)
    if category[0] in "LN":
        return "word"
    return "mark" if category[0] == "M" or category == "Cf" else "sign"
