"""Rendering of the description of a data set as tables."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shroom.core.problems import printable
from shroom.datasets.contents import Table
from shroom.datasets.description import Description
from shroom.metrics.intervals import Intervals
from shroom.report.figure_files import shortened
from shroom.report.sections import WIDTH, Block, in_width, width_of
from shroom.scoring.display.columns import align
from shroom.scoring.display.text import confidence, doubts, interval, methods, number

#: The most columns of a file's name or a label, beside counts; and the least beside scores.
_NAMES, _LEAST = 72, 30


def render(description: Description) -> str:
    """Return the counts, labels, lengths, agreement and tables as text."""
    contents = description.contents
    lines = _files(description)
    for title, by_label in contents.labels.items():
        if not by_label:
            continue
        rows = [(shortened(label, _NAMES), str(n)) for label, n in by_label.items()]
        lines += [
            "",
            f"{title}:",
            *(f"  {line}" for line in align([("", ""), *rows], indent=2)[1:]),
        ]
    tables = [contents.lengths, *contents.tables.values()]
    if contents.agreement is not None:
        tables.append(contents.agreement)
    for table in tables:
        if table.rows:
            lines += ["", *_wrapped(table.about), *_of_table(table, description.how)]
    counts = description.problems.to_dict()["counts"]
    counted = ", ".join(f"{n} {code}" for code, n in counts.items()) or "none"
    lines.append("")
    for line in (*(f"note: {note}" for note in contents.notes), f"warnings: {counted}"):
        lines += _wrapped(line)
    intervals = description.how
    if any(value and name.endswith("_ci") for row in _rows(tables) for name, value in row.items()):
        drawn = f"{intervals.resamples} resamples, seed {intervals.seed}"
        line = f"intervals: {methods(intervals)}, {drawn}"
        if description.normal_above:
            line += (
                f"; of more than {description.normal_above} units normal, but those of agreement"
            )
        lines += _wrapped(line)
        for line in doubts(pair for row in _rows(tables) for pair in row.items()):
            lines += _wrapped(line)
    return "\n".join(lines) + "\n"


def _files(description: Description) -> list[str]:
    """Return the rows of each file, under their folder if the names are long."""
    counts = [file.to_dict() for file in description.files]
    names = [row.pop("file") for row in counts]
    above = []
    folders = {Path(name).parent for name in names}
    if max(map(len, names)) > _NAMES and len(folders) == 1:
        above = [f"in {printable(str(folders.pop()))}:", ""]
        names = [Path(name).name for name in names]
    if len(counts) > 1:
        names, counts = [*names, "all"], [*counts, description.counts]
    cells = [(shortened(name, _NAMES), *map(str, row.values())) for name, row in zip(names, counts)]
    return [*above, *align([("", "rows", "records", "dropped"), None, *cells])]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _rows(tables: Sequence[Table]) -> Iterator[dict[str, Any]]:
    for table in tables:
        yield from table.rows


def _of_table(table: Table, intervals: Intervals) -> list[str]:
    """Return the rows as lines: keys, then as many columns as fit the width, then the next ones."""
    keys, rows = table.keys, table.rows
    blocks = list(_blocks(keys, rows, intervals))
    of_keys: Block = [[_title(key), *(printable(str(row[key])) for row in rows)] for key in keys]
    if width_of(of_keys) + sum(map(width_of, blocks)) > WIDTH + 2:
        blocks = [[_with_narrow_head(column) for column in block] for block in blocks]
        widths = list(map(width_of, blocks))
        room = WIDTH + 2 - sum(widths)
        _shorten_keys(of_keys, room if room >= _LEAST + 2 else WIDTH + 2 - max(widths, default=0))
    lines: list[str] = []
    for part in in_width(of_keys, blocks):
        titles, *cells = zip(*of_keys, *part)
        heads = [title.split("\n") for title in titles]
        deep = max(map(len, heads))
        above = zip(*([""] * (deep - len(head)) + head for head in heads))
        lines += [""] if lines else []
        lines += align([*above, None, *cells], left=len(keys))
    return lines


def _shorten_keys(of_keys: Block, room: int) -> None:
    """Shorten the names in the widest column of the keys, so that a block fits beside them."""
    beyond = width_of(of_keys) - room
    if beyond > 0:
        widest = max(of_keys, key=lambda column: width_of([column]))
        letters = max(_LEAST, width_of([widest]) - 2 - beyond)
        widest[1:] = [shortened(name, letters) for name in widest[1:]]


def _with_narrow_head(column: list[str]) -> list[str]:
    """Return a column with its head over several lines, none wider than its cells or a word."""
    title, *cells = column
    width = max(map(len, [*title.split(), *cells]))
    return ["\n".join(textwrap.wrap(title, width)), *cells]


def _blocks(
    keys: Sequence[str], rows: Sequence[dict[str, Any]], intervals: Intervals
) -> Iterator[Block]:
    for name in dict.fromkeys(name for row in rows for name in row):
        if name in keys or name.endswith(("_ci", "_ci_note")):
            continue
        block = [[_title(name), *(_cell(row.get(name)) for row in rows)]]
        bounds = [interval(row.get(f"{name}_ci")) for row in rows]
        if any(bounds):
            block.append([confidence(intervals), *bounds])
        yield block


def _title(name: str) -> str:
    return name.replace("_", " ")


def _cell(value: Any) -> str:
    return str(value) if isinstance(value, int) else number(value)
