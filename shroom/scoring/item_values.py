"""The rules for the values of an item: its id, its label, its p and its texts."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

from shroom.core.datapoint import Label

#: Largest distance of p from [0, 1] that rounding explains.
TOLERANCE = 1e-9
#: The valid labels, as messages name them.
EXPECTED_LABEL = " or ".join(f'"{label.value}"' for label in Label)
_INT64 = 1 << 63
#: The most characters of an id that is a string.
MAX_NAME = 100
#: Invisible characters, and blanks before punctuation.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_BEFORE = re.compile(r"\s+(?=[.,;:!?)\]}'’”。，])")


def id_in(value: object, kind: str = "integer") -> Any:
    """Return a value as an id of a kind; ``None`` if it is not one.

    Parameters
    ----------
    value : object
        Any value.
    kind : str
        ``integer``, also for the text of a string; ``string``, of at most ``MAX_NAME``
        characters; or ``none``, which nothing is.

    Examples
    --------
    >>> id_in("7"), id_in("7", "string"), id_in("", "string"), id_in(7, "none")
    (7, '7', None, None)
    """
    if kind != "integer":
        return value if kind == "string" and isinstance(value, str) and _is_name(value) else None
    if isinstance(value, str) and value.isascii() and len(value) < 40:
        digits = value.strip()
        value = int(digits) if digits.removeprefix("-").isdigit() else None
    if isinstance(value, int) and not isinstance(value, bool) and -_INT64 <= value < _INT64:
        return value
    return None


def _is_name(text: str) -> bool:
    """Return whether a text can be an id: an array of names is as wide as the longest one."""
    if not 0 < len(text) <= MAX_NAME or text.endswith("\0"):  # numpy drops NULs at the end
        return False
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def problem_of_id(kind: str) -> tuple[str, str]:
    """Return the code of an id that is not of a kind, and what is expected."""
    if kind == "integer":
        return "id-integer", "an integer"
    return "id-value", f"a string of at most {MAX_NAME} characters"


def label_in(value: object) -> Label | None:
    """Return the label of a value, ignoring case and surrounding blanks.

    Examples
    --------
    >>> label_in(" not hallucination").value
    'Not Hallucination'
    """
    folded = " ".join(value.split()).lower() if isinstance(value, str) else None
    return next((label for label in Label if label.value.lower() == folded), None)


def number_in(value: object) -> float | None:
    """Return a value, or the text of a string, as a number; ``None`` if it is not one."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, str) and len(value) < 100 and "_" not in value:
        try:
            return float(value)
        except ValueError:
            return None
    return None


def p_in(value: object) -> float | None:
    """Return a value, or the text of a string, as p; ``None`` if it is not in [0, 1].

    Examples
    --------
    >>> p_in(1), p_in("0.5"), p_in(1.5), p_in(None)
    (1.0, 0.5, None, None)
    """
    number = number_in(value)
    return number if number is not None and -TOLERANCE <= number <= 1 + TOLERANCE else None


def problem_of_p(value: object) -> tuple[str, str] | None:
    """Return the code of what is wrong with a p, and what is expected; ``None`` for a valid p.

    Examples
    --------
    >>> problem_of_p("0.5"), problem_of_p(2), problem_of_p(0.5)
    (('p-number', 'a number'), ('p-range', 'a number in [0, 1]'), None)
    """
    if isinstance(value, str) or number_in(value) is None:
        return "p-number", "a number"
    if isinstance(value, float) and not math.isfinite(value):
        return "p-finite", "a finite number"
    return None if p_in(value) is not None else ("p-range", "a number in [0, 1]")


def normalised(text: str) -> str:
    r"""Return a text as two texts are compared: what a reader does not see makes no difference.

    Unicode's compatible forms (NFKC), in lower case, without invisible characters and blanks before
    punctuation, with other white space as one blank.

    Examples
    --------
    >>> normalised("A  dog ,\u200b barking . "), normalised("ﬁne　Dog")
    ('a dog, barking.', 'fine dog')
    """
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).casefold()
    return " ".join(_BEFORE.sub("", text).split())
