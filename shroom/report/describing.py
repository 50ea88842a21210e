"""What is in the files of a data set, as tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shroom.problems import printable
from shroom.report.text import align, confidence, interval, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shroom.describing.description import Description, Table
    from shroom.intervals import Intervals

#: Tables that are wider are shown in parts, each with the keys of its rows.
_WIDTH = 120
#: A column and its head, or a score and its interval, which stay together.
_Block = list[list[str]]


def render(found: Description) -> str:
    """Return the counts, labels, lengths, agreement and tables as text."""
    contents = found.contents
    lines = _files(found)
    for title, by_label in contents.labels.items():
        if not by_label:
            continue
        rows = [(printable(label), str(n)) for label, n in by_label.items()]
        lines += ["", f"{title}:", *(f"  {line}" for line in align([("", ""), *rows])[1:])]
    tables = [contents.lengths, *contents.tables.values()]
    if contents.agreement is not None:
        tables.append(contents.agreement)
    for table in tables:
        if table.rows:
            lines += ["", table.about, *_of_table(table, found.how)]
    counts = found.problems.to_dict()["counts"]
    told = ", ".join(f"{n} {code}" for code, n in counts.items()) or "none"
    lines += ["", *(f"note: {note}" for note in contents.notes), f"warnings: {told}"]
    how = found.how
    if any(value and name.endswith("_ci") for row in _rows(tables) for name, value in row.items()):
        line = f"intervals: {how.method}, {how.resamples} resamples, seed {how.seed}"
        if found.normal_above:
            line += f"; of more than {found.normal_above} units normal, but those of agreement"
        lines.append(line)
    return "\n".join(lines) + "\n"


def _files(found: Description) -> list[str]:
    counts = [file.to_dict() for file in found.files]
    if len(counts) > 1:
        counts.append({"file": "all", **found.counts})
    cells = [(printable(row.pop("file")), *map(str, row.values())) for row in counts]
    return align([("", "rows", "records", "dropped"), None, *cells])


def _rows(tables: Sequence[Table]) -> Iterator[dict[str, Any]]:
    for table in tables:
        yield from table.rows


def _of_table(table: Table, how: Intervals) -> list[str]:
    """Return the rows as lines: keys, then as many columns as fit the width, then the next ones."""
    keys, rows = table.keys, table.rows
    of_keys: _Block = [[_title(key), *(printable(str(row[key])) for row in rows)] for key in keys]
    lines: list[str] = []
    for part in _parts(of_keys, list(_blocks(keys, rows, how))):
        titles, *cells = zip(*of_keys, *part)
        lines += [""] if lines else []
        lines += align([titles, None, *cells], left=len(keys))
    return lines


def _parts(of_keys: _Block, blocks: list[_Block]) -> Iterator[_Block]:
    room = _WIDTH - _width(of_keys)
    part: _Block = []
    for block in blocks:
        if part and _width(part) + _width(block) > room:
            yield part
            part = []
        part = part + block
    yield part


def _width(block: _Block) -> int:
    return sum(2 + max(map(len, column)) for column in block)


def _blocks(
    keys: Sequence[str], rows: Sequence[dict[str, Any]], how: Intervals
) -> Iterator[_Block]:
    for name in dict.fromkeys(name for row in rows for name in row):
        if name in keys or name.endswith("_ci"):
            continue
        block = [[_title(name), *(_cell(row.get(name)) for row in rows)]]
        bounds = [interval(row.get(f"{name}_ci")) for row in rows]
        if any(bounds):
            block.append([confidence(how), *bounds])
        yield block


def _title(name: str) -> str:
    return name.replace("_", " ")


def _cell(value: Any) -> str:
    return str(value) if isinstance(value, int) else number(value)
