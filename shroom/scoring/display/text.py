"""Figures, notes and aligned columns as text."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from textwrap import wrap

from shroom.core.printing import TABLE_WIDTH, counted, printable
from shroom.metrics.intervals import Intervals, Marked

Row = tuple[str, ...]
#: The sign after a doubtful interval.
DOUBT = "‡"
#: The sign after an in-sample figure, and after the name of its system.
STAR = "*"
#: The sign of an undefined figure.
UNDEFINED = "–"
#: The maximum number of names in a sentence, and of reasons for doubt.
_MOST = 3
#: The meaning of that sign.
WHY_UNDEFINED = f"{UNDEFINED}: undefined because p or the gold is the same on all items"


def methods(intervals: Intervals) -> str:
    """Return the kinds of intervals of scores, for shares and for other metrics."""
    method = "BCa" if intervals.method == "bca" else intervals.method
    return f"Wilson for shares, {method} for other metrics"


def how_made(intervals: Intervals, resamples: str = "") -> str:
    """Return how intervals of scores were computed, by default from resamples of all items."""
    seed = f"seed {intervals.seed}"
    return f"intervals: {methods(intervals)}, {resamples or drawn(intervals)}, {seed}"


def drawn(intervals: Intervals, items: str = "all items") -> str:
    """Return the number of resamples, and the items or units that were drawn."""
    what = f"whole units ({printable(intervals.unit)})" if intervals.unit else items
    return f"{intervals.resamples} bootstrap resamples of {what}{lacking(intervals)}"


def lacking(intervals: Intervals) -> str:
    """Return a note in brackets if the gold lacks the edition's units, else nothing."""
    key = printable(intervals.missing_unit)
    return f" (items are assumed to be independent, because the gold has no {key})" if key else ""


def confidence(intervals: Intervals) -> str:
    """Return the head of a column of intervals."""
    return f"{100 * intervals.confidence:.12g}% interval"


def number(value: float | None) -> str:
    """Return a score with three decimals."""
    return UNDEFINED if value is None else f"{value:.3f}".replace("-0.000", "0.000")


def interval(bounds: Sequence[float] | None) -> str:
    """Return an interval with three decimals, empty if there is none."""
    if bounds is None:
        return ""
    sign = DOUBT if isinstance(bounds, Marked) else ""
    return f"[{bounds[0]:.3f}, {bounds[1]:.3f}]{sign}"


def doubts(intervals: Iterable[tuple[str, Sequence[float] | None]]) -> list[str]:
    """Return the meaning of the sign of doubtful intervals, empty if there are none."""
    names: dict[str, list[str]] = {}
    for name, ends in intervals:
        if isinstance(ends, Marked):
            names.setdefault(ends.note, []).append(printable(name))
    listed = []
    for note, of_note in list(names.items())[:_MOST]:
        more = f" and {len(of_note) - _MOST} more" if len(of_note) > _MOST else ""
        listed.append(f"{note} ({'; '.join(of_note[:_MOST])}{more})")
    if len(names) > _MOST:
        listed.append(f"and {counted(len(names) - _MOST, 'more reason')}")
    return [f"{DOUBT} doubtful interval: {', '.join(listed)}"] if listed else []


def p_value(value: float | None) -> str:
    """Return a p-value with four decimals, never 0."""
    if value is None:
        return UNDEFINED
    return f"{value:.4f}" if value >= 0.0001 else "<0.0001"


def figure(value: float | None) -> str:
    """Return a figure for a sentence: three decimals, no zero before the point."""
    shown = number(value)
    return shown.replace("0.", ".", 1) if shown.lstrip("-").startswith("0.") else shown


def p_in_words(p: float) -> str:
    """Return a p-value for a sentence, with four decimals near .05."""
    if p < 0.001:
        return "p < .001"
    return f"p = {p:.4f}".replace("0.", ".", 1) if f"{p:.3f}" == "0.050" else f"p = {figure(p)}"


def within(ci: Sequence[float] | None, intervals: Intervals) -> str:
    """Return an interval for a sentence: ``95% interval .010 to .052``."""
    return "" if ci is None else f"{confidence(intervals)} {ends(ci)}"


def ends(ci: Sequence[float] | None) -> str:
    """Return the ends of an interval for a sentence: ``.010 to .052``."""
    return "" if ci is None else f"{figure(ci[0])} to {figure(ci[1])}"


def in_words(names: Sequence[str], most: int = _MOST) -> str:
    """Return a list of names for a sentence: ``a, b and c``, or ``a, b, c and 2 more``."""
    more = len(names) - most
    *first, last = [*names[:most], f"{more} more"] if more > 0 else names or [""]
    return f"{', '.join(first)} and {last}" if first else last


def starred(shown: str, in_sample: int) -> str:
    """Return a figure or a name, with a star if it is in-sample."""
    return f"{shown}{STAR}" if in_sample else shown


def footnote(cases: Iterable[tuple[str, int, int]], more: str = "") -> list[str]:
    """Return the meaning of the star from each system's in-sample and total number of items."""
    names: dict[str, dict[str, None]] = {}
    for name, in_sample, n in cases:
        if in_sample:
            names.setdefault(f"{in_sample} of these {n} items", {})[printable(name)] = None
    several = (f"{items} ({', '.join(systems)})" for items, systems in names.items())
    listed = ", ".join(several if len(names) > 1 else names)
    return [f"{STAR} in-sample: the detector was fitted on {listed}{more}"] if names else []


def shortened(name: str, letters: int = 42) -> str:
    """Return a name, or the beginning and the end of a long name."""
    name = printable(name)
    if len(name) <= letters:
        return name
    half = (letters - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


def align(
    rows: Sequence[Row | None], *, left: int = 1, indent: int = 0, width: int | None = None
) -> list[str]:
    """Return rows as aligned lines, ``left`` columns to the left; ``None`` is a rule."""
    for sign, bare in ((STAR, (STAR, "]")), (DOUBT, (DOUBT,))):
        cells = [row for row in rows if row is not None]
        columns = range(left, len(cells[0]))
        marked = {i for i in columns if any(row[i].endswith(sign) for row in cells[1:])}
        rows = [row and _padded(row, marked, bare) for row in rows]
    cells = [row for row in rows if row is not None]
    shown = [i for i in range(len(cells[0])) if any(row[i] for row in cells[1:])]
    widths = {i: max(len(it) for row in cells for it in row[i].split("\n")) for i in shown}
    lines: list[str] = []
    room = min(width or sys.maxsize, (TABLE_WIDTH.get() or sys.maxsize) - indent)
    if _total(widths) > room:  # heads may have several lines
        for i in widths.keys() - set(range(left)):
            widths[i] = max(map(len, [*cells[0][i].split(), *(row[i] for row in cells[1:])]))
    for block in _blocks(cells[0], widths, left, room):
        lines += ([""] if lines else []) + _lines(rows, block, left)
    return lines


def _blocks(heads: Row, widths: dict[int, int], left: int, room: int) -> list[dict[int, int]]:
    """Return the widths of columns in blocks that fit; each block repeats the columns of words."""
    if _total(widths) <= room:
        return [widths]
    words = {i: width for i, width in widths.items() if i < left}
    groups: list[dict[int, int]] = []
    have_common_heads = any("\n" in head for head in heads)
    for i in [i for i in widths if i >= left]:
        is_interval = heads[i].rstrip().endswith("interval")  # of the figure before it
        if groups and (is_interval or (have_common_heads and "\n" not in heads[i])):
            groups[-1][i] = widths[i]
        else:
            groups.append({i: widths[i]})
    most = max(room - 2 - max(map(_total, groups)), room // 2) if groups else room
    while _total(words) > most and max(words.values()) > 1:
        words[max(words, key=words.__getitem__)] -= 1
    rest, blocks = room - 2 - _total(words), [dict(words)]
    for group in groups:
        for part in [group] if _total(group) <= rest else [{i: group[i]} for i in group]:
            fitting = {i: min(width, max(1, rest)) for i, width in part.items()}
            if len(blocks[-1]) > len(words) and _total({**blocks[-1], **fitting}) > room:
                blocks.append(dict(words))
            blocks[-1].update(fitting)
    return blocks


def _total(widths: Mapping[int, int]) -> int:
    return sum(widths.values()) + 2 * (len(widths) - 1)


def _lines(rows: Sequence[Row | None], widths: dict[int, int], left: int) -> list[str]:
    lines = []
    for row in rows:
        if row is None:
            lines.append("-" * _total(widths))
            continue
        cells = _heads(row, widths, left) if row is rows[0] else row
        parts = [_wrapped(cells[i], width) for i, width in widths.items()]
        if row is rows[0]:  # heads are aligned at the bottom
            deep = max(map(len, parts))
            parts = [[""] * (deep - len(part)) + part for part in parts]
        for cells in zip_longest(*parts, fillvalue=""):
            line = "  ".join(
                cell.ljust(width) if i < left else cell.rjust(width)
                for cell, (i, width) in zip(cells, widths.items())
            )
            lines.append(line.rstrip())
    return lines


def _heads(row: Row, widths: Mapping[int, int], left: int) -> Row:
    """Return the heads; a block that begins below a common head has this beside the names."""
    first = next((i for i in widths if i >= left), 0)
    above = [head.partition("\n")[0] for head in row[:first] if "\n" in head]
    head = f"{row[0]} ({above[-1]})" if above else ""
    fits = len(head) <= widths.get(0, 0) and "\n" not in row[first]
    return (head, *row[1:]) if head and fits else row


def _wrapped(cell: str, width: int) -> list[str]:
    """Return the lines of a cell, indented like its first line."""
    if "\n" in cell:
        return [line for part in cell.split("\n") for line in _wrapped(part, width)]
    if len(cell) <= width:
        return [cell]
    indent = min(len(cell) - len(cell.lstrip()), width // 2)
    return wrap(cell, width, subsequent_indent=" " * indent) or [""]


def _padded(row: Row, columns: set[int], bare: tuple[str, ...]) -> Row:
    """Return a row with a blank in place of each sign that its figures lack."""
    return tuple(
        f"{cell} " if i in columns and cell and not cell.endswith(bare) else cell
        for i, cell in enumerate(row)
    )
