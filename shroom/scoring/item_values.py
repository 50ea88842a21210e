"""The rules for the values of an item: its id, its label, its p and its texts."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from shroom.core.datapoint import Label

#: The maximum distance of p from [0, 1] by rounding.
TOLERANCE = 1e-9
#: The maximum distance of p from [0, 1] by the rounding of float32.
_DUST = 1e-6
_INT64 = 1 << 63
#: Below this, every integer has its own float.
_FLOAT_INTEGERS = 1 << 53
#: The maximum number of characters of a string id.
MAX_NAME = 100
#: Invisible characters, and blanks before punctuation.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_BEFORE = re.compile(r"\s+(?=[.,;:!?)\]}'’”。，])")
#: A value as numpy prints it.
_NUMPY = re.compile(r"(?:np|numpy)\.\w+\((.*)\)")
#: A whole number, perhaps with zeros after a decimal point or comma; 1.000 may be a thousand.
_WHOLE = re.compile(r"(-?\d{1,39})(\.|[.,](?!000$)0+)?", re.ASCII)
_WORDS = {
    f"{no}{word}": (Label.NOT_HALLUCINATION if no else Label.HALLUCINATION).value
    for no in ("", "not", "non", "no")
    for word in ("hallucination", "hallucinated")
}
_POINT = re.compile(r"\d+(?:\.\d*)?|\.\d+")


def bare(text: str) -> str:
    """Return a text without outer blanks, invisible characters and numpy's type name."""
    text = _INVISIBLE.sub("", text).strip()
    printed = _NUMPY.fullmatch(text)
    return printed[1].strip("'\"") if printed else text


def id_in(value: object, kind: str = "integer") -> Any:
    """Return a value as an id of a kind; ``None`` if it is not a valid id."""
    # A float counts as an integer below 2^53.
    if kind != "integer":
        return value if kind == "string" and isinstance(value, str) and _is_name(value) else None
    if isinstance(value, str) and len(value) < 100:
        whole = _WHOLE.fullmatch(bare(value))
        value = whole and (float(whole[1]) if whole[2] else int(whole[1]))
    if isinstance(value, float) and value.is_integer() and abs(value) < _FLOAT_INTEGERS:
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and -_INT64 <= value < _INT64:
        return value
    return None


def id_meant(value: Any, kind: str) -> Any:
    """Return the id that a value unambiguously means; otherwise the value itself."""
    meant = id_in(value)
    if kind == "integer":
        return value if meant is None else meant
    if kind == "string" and isinstance(value, str):
        return value if bare(value) == value else bare(value)
    return str(meant) if kind == "string" and meant is not None else value


def _is_name(text: str) -> bool:
    """Return whether a text can be an id; long ids would make wide arrays."""
    if not 0 < len(text) <= MAX_NAME or text.endswith("\0"):  # numpy drops NULs at the end
        return False
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def problem_of_id(value: object, found: Any, kind: str) -> tuple[str, str] | None:
    """Return the problem code and the expected value of an id that is read as ``found``."""
    if kind == "none" or (found is not None and (kind == "string" or type(value) is int)):
        return None
    if kind == "integer":
        return ("id-integer", "an integer") if found is None else ("id-string", str(found))
    return "id-value", f"a string of at most {MAX_NAME} characters"


def word_meant(value: Any, words: Iterable[str]) -> Any:
    """Return the word of which a value is another spelling; otherwise the value."""
    if not isinstance(value, str) or len(value) > 100:
        return value
    meant = [word for word in words if folded(word) == folded(value)]
    return meant[0] if len(meant) == 1 and value not in meant else value


def label_meant(value: Any) -> Any:
    """Return the label that a value means in any spelling; otherwise the value."""
    meant = _WORDS.get(folded(value), value) if isinstance(value, str) else value
    return value if meant == value else meant


def folded(word: str) -> str:
    """Return a word in lower case, without blanks, hyphens and invisible characters."""
    return re.sub(r"[\s_-]", "", bare(word)).lower()


def word_in(value: object) -> str:
    """Return a value as a normalised word, in which spellings do not differ."""
    number, text = id_in(value), value if isinstance(value, str) else str(value)
    return str(number) if number is not None else folded(text) or bare(text)


def number_in(value: object) -> float | None:
    """Return a number, or a number in a string, as a float; ``None`` for other values."""
    if isinstance(value, str) and (len(value) >= 100 or "_" in (value := bare(value))):
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except ValueError:
        return None
    except OverflowError:
        return math.inf if int(value) > 0 else -math.inf


def decimal_in(value: object) -> Decimal | None:
    """Return a non-negative number, or one in a string; ``None`` for other values."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Decimal(repr(value)) if 0 <= value <= 1e300 else None
    if isinstance(value, str) and len(value) < 100 and _POINT.fullmatch(bare(value)):
        return Decimal(bare(value))
    return None


def is_missing(value: object) -> bool:
    """Return whether a value is null or NaN, as libraries write a missing text."""
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def p_in(value: object) -> float | None:
    """Return a number, or a number in a string, as p; ``None`` if it is not in [0, 1]."""
    number = number_in(value)
    return number if number is not None and -TOLERANCE <= number <= 1 + TOLERANCE else None


def problem_of_p(value: object) -> tuple[str, str] | None:
    """Return the problem code of a p and the expected value; ``None`` if it is valid."""
    if isinstance(value, str) or number_in(value) is None:
        return "p-number", "a number"
    if isinstance(value, float) and not math.isfinite(value):
        return "p-finite", "a finite number"
    return None if p_in(value) is not None else ("p-range", "a number in [0, 1]")


def p_meant(value: Any) -> Any:
    """Return the p that a value unambiguously means; otherwise the value itself."""
    if isinstance(value, str) and bare(value).endswith("%"):
        percent = decimal_in(bare(value)[:-1])
        return value if percent is None or percent > 100 else float(percent / 100)
    number = number_in(value)
    if number is None or not -_DUST <= number <= 1 + _DUST:
        return value
    if -TOLERANCE <= number <= 1 + TOLERANCE:
        return number if isinstance(value, str) else value
    return min(1.0, max(0.0, number))


def normalised(text: str) -> str:
    """Return a text normalised for comparison, without invisible differences."""
    # NFKC, lower case, no invisible characters, no blanks before punctuation, single blanks.
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).casefold()
    return " ".join(_BEFORE.sub("", text).split())
