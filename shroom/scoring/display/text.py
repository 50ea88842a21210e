"""Figures and notes as text: numbers, intervals, their methods, the meaning of signs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shroom.core.problems import printable
from shroom.metrics.intervals import Intervals, Marked
from shroom.scoring.display.columns import DOUBT, STAR

#: The sign for an undefined figure.
UNDEFINED = "–"
#: The maximum length of a shown name.
_LETTERS = 42
#: The number of intervals listed for each reason, and of reasons.
_MOST = 3
#: Meaning of the sign.
WHY_UNDEFINED = f"{UNDEFINED}: undefined, because p or the gold is the same for all items"


def kind(intervals: Intervals) -> str:
    """Return the name of the kind of intervals."""
    return "BCa" if intervals.method == "bca" else intervals.method


def methods(intervals: Intervals) -> str:
    """Return the kinds of intervals of scores, for shares and for other metrics."""
    return f"Wilson for shares, else {kind(intervals)}"


def how_made(intervals: Intervals, resamples: str = "") -> str:
    """Return how the intervals were made; ``resamples`` describes other resamples than usual."""
    seed = f"seed {intervals.seed}"
    return f"intervals: {methods(intervals)}, {resamples or drawn(intervals)}, {seed}"


def drawn(intervals: Intervals, items: str = "all items") -> str:
    """Return the number of resamples, and the units that were drawn."""
    what = f"whole units ({printable(intervals.unit)})" if intervals.unit else items
    return f"{intervals.resamples} bootstrap resamples of {what}{lacking(intervals)}"


def lacking(intervals: Intervals) -> str:
    """Return a remark in brackets if the gold lacks the edition's units; otherwise nothing."""
    key = printable(intervals.missing_unit)
    return f" (the gold has no {key}, so items are treated as independent)" if key else ""


def confidence(intervals: Intervals) -> str:
    """Return the head of a column of intervals."""
    return f"{100 * intervals.confidence:.12g}% interval"


def number(value: float | None) -> str:
    """Return a score with three decimal places."""
    return UNDEFINED if value is None else f"{value:.3f}"


def interval(bounds: Sequence[float] | None) -> str:
    """Return an interval with three decimal places; empty if there is none."""
    if bounds is None:
        return ""
    sign = DOUBT if isinstance(bounds, Marked) else ""
    return f"[{bounds[0]:.3f}, {bounds[1]:.3f}]{sign}"


def doubts(intervals: Iterable[tuple[str, Sequence[float] | None]]) -> list[str]:
    """Return a line that explains the sign of doubtful intervals; nothing if there are none."""
    names: dict[str, list[str]] = {}
    for name, ends in intervals:
        if isinstance(ends, Marked):
            names.setdefault(ends.note, []).append(printable(name))
    listed = []
    for note, of_note in list(names.items())[:_MOST]:
        more = f" and {len(of_note) - _MOST} more" if len(of_note) > _MOST else ""
        listed.append(f"{note} ({'; '.join(of_note[:_MOST])}{more})")
    if len(names) > _MOST:
        listed.append(f"and {len(names) - _MOST} more reasons")
    return [f"{DOUBT} doubtful interval: {', '.join(listed)}"] if listed else []


def p_value(value: float | None) -> str:
    """Return a p-value with four decimal places, never 0."""
    if value is None:
        return UNDEFINED
    return f"{value:.4f}" if value >= 0.0001 else "<0.0001"


def starred(shown: str, in_sample: int) -> str:
    """Return a figure or a name, with a star if it is in-sample."""
    return f"{shown}{STAR}" if in_sample else shown


def footnote(cases: Iterable[tuple[str, int, int]], more: str = "") -> list[str]:
    """Return a line that explains the star, given (system, in-sample items, all items)."""
    names: dict[str, list[str]] = {}
    for name, in_sample, n in cases:
        if in_sample:
            systems = names.setdefault(f"{in_sample} of these {n} items", [])
            systems += [] if name in systems else [printable(name)]
    if len(names) == 1:
        listed = next(iter(names))
    else:
        listed = ", ".join(f"{items} ({', '.join(systems)})" for items, systems in names.items())
    return [f"{STAR} in-sample: the detector was fitted on {listed}{more}"] if names else []


def shortened(name: str, letters: int = _LETTERS) -> str:
    """Return a name, shortened in the middle if it is long."""
    name = printable(name)
    if len(name) <= letters:
        return name
    half = (letters - 1) // 2
    return f"{name[:half]}…{name[-half:]}"
