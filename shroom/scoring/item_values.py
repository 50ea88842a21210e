"""The rules for the values of an item: its id, its label and its p."""

from __future__ import annotations

import math

from shroom.core.datapoint import Label

#: How far p may leave [0, 1] by rounding.
TOLERANCE = 1e-9
#: How messages name what a label may be.
EXPECTED_LABEL = " or ".join(f'"{label.value}"' for label in Label)
_INT64 = 1 << 63


def id_in(value: object) -> int | None:
    """Return the integer that a value is, or that stands in a string; else ``None``."""
    if isinstance(value, str) and value.isascii() and len(value) < 40:
        digits = value.strip()
        value = int(digits) if digits.removeprefix("-").isdigit() else None
    if isinstance(value, int) and not isinstance(value, bool) and -_INT64 <= value < _INT64:
        return value
    return None


def label_in(value: object) -> Label | None:
    """Return the label that a value stands for, whatever its case and the blanks around it.

    Examples
    --------
    >>> label_in(" not hallucination").value
    'Not Hallucination'
    """
    folded = " ".join(value.split()).lower() if isinstance(value, str) else None
    return next((label for label in Label if label.value.lower() == folded), None)


def number_in(value: object) -> float | None:
    """Return the number that a value stands for, also in a string; ``None`` where there is none."""
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
    """Return the p that a value stands for, also in a string; ``None`` where it is not in [0, 1].

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
