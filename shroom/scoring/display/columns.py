"""Tables as lines of aligned columns that fit the terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from textwrap import wrap

from shroom.core.printing import TABLE_WIDTH

Row = tuple[str, ...]
#: The sign after a doubtful interval.
DOUBT = "‡"
#: The sign after an in-sample figure, and after the name of its system.
STAR = "*"


def align(
    rows: Sequence[Row | None], *, left: int = 1, indent: int = 0, width: int | None = None
) -> list[str]:
    """Return rows as aligned lines, ``left`` columns to the left; ``None`` is a rule."""
    cells = [row for row in rows if row is not None]
    for sign, bare in ((STAR, (STAR, "]")), (DOUBT, (DOUBT,))):
        marked = {
            i for i in range(left, len(cells[0])) if any(row[i].endswith(sign) for row in cells[1:])
        }
        if marked:
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
