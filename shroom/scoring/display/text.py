"""Scores as a table for people, with a star behind those of items that a detector was fitted on."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from textwrap import wrap
from typing import Any

from shroom.core.printing import TABLE_WIDTH
from shroom.core.problems import printable
from shroom.metrics.intervals import MAX_ITEMS, Intervals
from shroom.scoring.results import Score, TrackScore

Row = tuple[str, ...]

_UNDEFINED = "–"
#: Meaning of the sign.
WHY_UNDEFINED = f"{_UNDEFINED}: undefined, where p or the gold is the same on all items"


def render(score: Score) -> str:
    """Return the scores as text: each track whole, beside trivial systems, and in slices."""
    lines = [*align(table_rows(score)), "", score.signature]
    if score.intervals.resamples:
        lines.append(intervals_line(score))
    return "\n".join([*lines, *footnotes(score)]) + "\n"


def table_rows(score: Score) -> list[Row | None]:
    """Return the heads and rows of :func:`render`; ``None`` is a rule."""
    rows: list[Row | None] = [header(score)]
    for result in score.results:
        rows += [None, *track_rows(result)]
    if score.mean:
        title_of_mean = f"mean over {len(score.results)} tracks"
        rows += [None, (title_of_mean, "", *_cells(list(score.mean), score.mean))]
    return rows


def footnotes(score: Score) -> list[str]:
    """Return what the signs in the table mean, as far as it has them."""
    lines = []
    if any(None in part for result in score.results for part in _all_scores(result)):
        lines.append(WHY_UNDEFINED)
    if star := footnote((title(result), result.in_sample, result.n) for result in score.results):
        lines.append(star)
    return lines


def title(result: TrackScore) -> str:
    """Return the split and track, as people call them."""
    return f"{result.split} {result.track}".strip()


def _all_scores(result: TrackScore) -> Iterator[list[float | None]]:
    """Yield a track's scores, whole and in slices, without the floors."""
    for part in (result.scores, *(p for key in result.slices.values() for p in key.values())):
        yield [part[name] for name in result.scores if name in part]


def intervals_line(score: Score) -> str:
    """Return how the intervals were made, in one line."""
    intervals = score.intervals
    resamples = f"{intervals.resamples} bootstrap resamples of all items, seed {intervals.seed}"
    line = f"intervals: {kind(intervals)}, {resamples}"
    if any(result.n > MAX_ITEMS for result in score.results):
        line += f"; of more than {MAX_ITEMS} items normal, by the infinitesimal jackknife"
    return line


def kind(intervals: Intervals) -> str:
    """Return the name of the kind of intervals."""
    return "BCa" if intervals.method == "bca" else intervals.method


def confidence(intervals: Intervals) -> str:
    """Return the head of a column of intervals."""
    return f"{100 * intervals.confidence:.12g}% interval"


def header(score: Score) -> Row:
    """Return the heads of the columns of :func:`track_rows`."""
    names = list(score.results[0].scores) if score.results else []
    return ("", "n", *(cell for name in names for cell in (name, confidence(score.intervals))))


def track_rows(result: TrackScore) -> list[Row]:
    """Return a track's scores as rows of cells: whole, of trivial systems, in slices."""
    names, seen = list(result.scores), result.in_sample
    rows = [(title(result), str(result.n), *_cells(names, result.whole, seen))]
    rows.extend(
        (f"  floor: {name}", "", *_cells(names, floor)) for name, floor in result.floors.items()
    )
    for key, slices in result.slices.items():
        for word, part in slices.items():
            rows.append((f"  {key} {printable(word)}", str(part["n"]), *_cells(names, part, seen)))
    return rows


def _cells(names: Sequence[str], scores: Mapping[str, Any], in_sample: int = 0) -> list[str]:
    """Return each score and its interval; nothing where a floor has no such score."""
    return [
        cell
        for name in names
        for cell in (
            starred(number(scores[name]), in_sample) if name in scores else "",
            interval(scores.get(f"{name}_ci")),
        )
    ]


def number(value: float | None) -> str:
    """Return a score with the digits that people read.

    Examples
    --------
    >>> number(0.77956), number(None)
    ('0.780', '–')
    """
    return _UNDEFINED if value is None else f"{value:.3f}"


def interval(bounds: Sequence[float] | None) -> str:
    """Return an interval with the digits that people read; nothing where there is none.

    Examples
    --------
    >>> interval((0.7423, 0.8160)), interval(None)
    ('[0.742, 0.816]', '')
    """
    return "" if bounds is None else f"[{bounds[0]:.3f}, {bounds[1]:.3f}]"


def p_value(value: float | None) -> str:
    """Return a p-value with the digits that people read; none is 0.

    Examples
    --------
    >>> p_value(0.0354), p_value(1e-7), p_value(None)
    ('0.0354', '<0.0001', '–')
    """
    if value is None:
        return _UNDEFINED
    return f"{value:.4f}" if value >= 0.0001 else "<0.0001"


def align(rows: Sequence[Row | None], *, left: int = 1, indent: int = 0) -> list[str]:
    r"""Return rows as lines with aligned columns, the first ones to the left; ``None`` is a rule.

    In right-aligned columns, a star follows the last digit without moving the digits. On a
    terminal that is too narrow, less the ``indent``, the other columns follow in blocks.

    Examples
    --------
    >>> print(*align([("", "n"), None, ("val", "499")]), sep="\n")
           n
    --------
    val  499
    """
    cells = [row for row in rows if row is not None]
    stars = {
        i for i in range(left, len(cells[0])) if any(row[i].endswith(STAR) for row in cells[1:])
    }
    if stars:
        rows = [row and _padded(row, stars) for row in rows]
        cells = [row for row in rows if row is not None]
    shown = [i for i in range(len(cells[0])) if any(row[i] for row in cells[1:])]
    widths = {i: max(len(row[i]) for row in cells) for i in shown}
    lines: list[str] = []
    for block in _blocks(cells[0], widths, left, (TABLE_WIDTH.get() or sys.maxsize) - indent):
        lines += ([""] if lines else []) + _lines(rows, block, left)
    return lines


def _blocks(heads: Row, widths: dict[int, int], left: int, room: int) -> list[dict[int, int]]:
    """Return the widths of columns in blocks that fit; each block has the columns of words."""
    if _total(widths) <= room:
        return [widths]
    words = {i: width for i, width in widths.items() if i < left}
    groups: list[dict[int, int]] = []
    for i in [i for i in widths if i >= left]:
        if groups and heads[i].endswith("interval"):  # of the figure before it
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
        parts = [_wrapped(row[i], width) for i, width in widths.items()]
        for cells in zip_longest(*parts, fillvalue=""):
            line = "  ".join(
                cell.ljust(width) if i < left else cell.rjust(width)
                for cell, (i, width) in zip(cells, widths.items())
            )
            lines.append(line.rstrip())
    return lines


def _wrapped(cell: str, width: int) -> list[str]:
    """Return the lines of a cell; further ones are indented as the first one is."""
    if len(cell) <= width:
        return [cell]
    indent = min(len(cell) - len(cell.lstrip()), width // 2)
    return wrap(cell, width, subsequent_indent=" " * indent) or [""]


def _padded(row: Row, columns: set[int]) -> Row:
    """Return a row with a blank in the place of each star that its figures do not have."""
    return tuple(
        f"{cell} " if i in columns and cell and not cell.endswith((STAR, "]")) else cell
        for i, cell in enumerate(row)
    )


#: Follows an in-sample figure, and the name of a system that has one.
STAR = "*"


def starred(shown: str, in_sample: int) -> str:
    """Return a figure or a name as it is shown, with a star where it is in-sample.

    Parameters
    ----------
    shown : str
        The figure or the name.
    in_sample : int
        How many of the items the detector was fitted on.

    Examples
    --------
    >>> starred("0.922", 499), starred("0.814", 0)
    ('0.922*', '0.814')
    """
    return f"{shown}{STAR}" if in_sample else shown


def footnote(cases: Iterable[tuple[str, int, int]]) -> str:
    """Return what the star means, in one line; nothing where no figure is in-sample.

    Parameters
    ----------
    cases : iterable of (str, int, int)
        Each system or track that is shown: its name, the number of items that the detector was
        fitted on, and the number of all items. The names are left out where one is enough.

    Examples
    --------
    >>> footnote([("val model-agnostic", 499, 499), ("val model-aware", 0, 501)])
    '* in-sample: the detector was fitted on 499 of these 499 items'
    >>> footnote([("a", 499, 499), ("b", 20, 499)])
    '* in-sample: the detector was fitted on 499 of these 499 items (a), 20 of these 499 items (b)'
    """
    names: dict[str, list[str]] = {}
    for name, in_sample, n in cases:
        if in_sample:
            systems = names.setdefault(f"{in_sample} of these {n} items", [])
            systems += [] if name in systems else [printable(name)]
    if not names:
        return ""
    if len(names) == 1:
        listed = next(iter(names))
    else:
        listed = ", ".join(f"{items} ({', '.join(systems)})" for items, systems in names.items())
    return f"{STAR} in-sample: the detector was fitted on {listed}"
