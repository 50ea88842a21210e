"""Tables as text, Markdown and CSV; for pages, see :mod:`~shroom.scoring.display.html`."""

from __future__ import annotations

import csv
import io
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple, Optional, Union

from shroom.core.printing import TABLE_WIDTH
from shroom.core.problems import printable
from shroom.scoring.display.text import STAR, UNDEFINED, align, interval, shortened

#: The first characters of a formula; spreadsheets also accept them in full width, and after
#: invisible characters.
_FORMULA = frozenset("=+-@")
#: The form of a change in rank, with an arrow as its sign.
ROSE = "↕.0f"


class Estimate(NamedTuple):
    """A figure with its interval; ``star`` if it is in-sample."""

    value: float | None
    ci: tuple[float, float] | None = None
    star: object = False
    form: str = ".3f"

    def __str__(self) -> str:
        shown = UNDEFINED if self.value is None else _formatted(self.value, self.form)
        return shown + STAR * bool(self.star)

    @property
    def ends(self) -> str:
        """The interval as text; ranks are integers."""
        if self.ci is not None and self.form == "d":
            return f"{self.ci[0]}–{self.ci[1]}"
        if self.ci is not None and self.form == ROSE:
            return " to ".join(dict.fromkeys(_formatted(end, self.form) for end in self.ci))
        return interval(self.ci)


def _formatted(value: float, form: str) -> str:
    """Return a number; a form with an arrow shows the sign as one."""
    if form[0] != "↕":
        return format(value, form)
    return f"{'↑' if value > 0 else '↓' if value < 0 else ''}{abs(value):{form[1:]}}"


def bounds(name: str, ci: Any) -> dict[str, Any]:
    """Return the ends of an interval by name, and why it is doubtful."""
    low, high = ci or (None, None)
    return {f"{name}_low": low, f"{name}_high": high, f"{name}_note": getattr(ci, "note", None)}


def score_cells(
    scores: Mapping[str, float | None], intervals: Mapping[str, Any], in_sample: int = 0
) -> dict[str, Estimate]:
    """Return scores with their intervals as cells, by the names of the scores."""
    return {name: Estimate(it, intervals.get(name), in_sample) for name, it in scores.items()}


Cell = Union[str, int, float, None, Estimate]
Row = tuple[Cell, ...]


class Whole(tuple[Cell, ...]):
    """A row of all items, above the rows of its parts."""

    look = "whole"


class Beside(tuple[Cell, ...]):
    """A row that is not sorted with the others, such as a floor."""

    look = "beside"


class Column(NamedTuple):
    """A column: the cells at a place of the rows, or their intervals."""

    head: str
    place: int
    ends: bool

    def shown(self, row: Row) -> str:
        """Return a cell as text."""
        cell = row[self.place]
        if self.ends:
            return cell.ends if isinstance(cell, Estimate) else ""
        shown = Estimate(cell) if cell is None or isinstance(cell, float) else cell
        return printable(str(shown))


@dataclass(frozen=True)
class Table:
    """Rows of cells under heads."""

    title: str = ""
    #: A pair has the head of the column's intervals, too. If several columns have a common head,
    #: it is the first line of the head of the first of them.
    heads: Sequence[str | tuple[str, str]] = ()
    #: ``None`` is a rule.
    rows: Sequence[Optional[Row]] = ()
    #: Sentences below the table; indented sentences, or those with a dash, form a list.
    notes: Sequence[str] = ()
    #: Head of the intervals, which follow each column of estimates.
    ci: str = ""
    #: The number of columns with words; they come first.
    left: int = 1
    indent: int = 0
    #: The maximum width of text; a terminal may be narrower.
    width: int | None = None
    #: The maximum width of a cell with words in text; longer words are shortened.
    letters: int | None = None
    #: Sentences below the title.
    about: Sequence[str] = ()
    #: Whether text has the intervals below the figures.
    below: bool = False
    #: The words that replace the dash of notes, and the title, in text.
    verdict: str = ""
    #: Heads of the columns that sort the rows, and that group them.
    sort: str = ""
    groups: str = ""

    def columns(self, *, ends: bool = True) -> list[Column]:
        """Return the columns that are not empty; ``ends``: with columns of intervals."""
        rows, columns = [row for row in self.rows if row is not None], list[Column]()
        for place, given in enumerate(self.heads):
            head, of_ends = given if isinstance(given, tuple) else (given, self.ci)
            columns.append(Column(head, place, ends=False))
            if ends and any(isinstance(row[place], Estimate) for row in rows):
                columns.append(Column(of_ends, place, ends=True))
        return [column for column in columns if any(map(column.shown, rows))]

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as plain values, with the ends of intervals."""
        records, wide = [], {column.place for column in self.columns() if column.ends}
        for row in filter(None, self.rows):
            record: dict[str, Any] = {}
            for place, (head, cell) in enumerate(zip(self.heads, row)):
                name = (head if isinstance(head, str) else head[0]).replace("\n", " ")
                while name in record:
                    name += "_"
                value = cell.value if isinstance(cell, Estimate) else cell
                record[name] = None if value == "" else value
                if place in wide:
                    record |= bounds(name, getattr(cell, "ci", None))
            records.append(record)
        return records

    def grid(self) -> list[tuple[str, ...] | None]:
        """Return the heads and the rows as text."""
        columns = self.columns(ends=not self.below)
        heads = ("\n".join(map(printable, it.head.split("\n"))) for it in columns)
        grid: list[tuple[str, ...] | None] = [tuple(heads)]
        for row in self.rows:
            grid.append(None if row is None else tuple(it.shown(row) for it in columns))
            if self.below and row is not None:
                ends = tuple(it._replace(ends=True).shown(row) for it in columns)
                grid += [ends] if any(ends) else []
        return grid


def text(tables: Iterable[Table]) -> str:
    """Return tables as text, with an empty line between them."""
    return "\n\n".join("\n".join(lines) for table in tables if (lines := _lines(table))) + "\n"


def _lines(table: Table) -> list[str]:
    blanks = " " * table.indent
    title = "" if table.verdict else table.title
    above = map(printable, filter(None, (title, *table.about)))
    room = min(filter(None, (table.width, TABLE_WIDTH.get())), default=None)
    lines = [part for line in above for part in _wrapped(line, room)]
    if table.columns():
        head, *rows = table.grid()
        left = sum(column.place < table.left for column in table.columns(ends=not table.below))
        rule = [None] if any(head or ()) else []
        if letters := table.letters:
            short = ([shortened(it, letters) for it in row or ()][:left] for row in rows)
            rows = [row and (*words, *row[left:]) for row, words in zip(rows, short)]
        cells = align([head, *rule, *rows], left=left, indent=table.indent, width=table.width)
        lines += [(blanks + line).rstrip() for line in cells[not rule :]]
    for note in map(printable, table.notes):
        has_verdict = table.verdict and note.startswith("- ")
        shown = f"{table.verdict}: {note[2:]}" if has_verdict else note
        lines += [blanks + line for line in _wrapped(shown, table.width)]
    return lines


def _wrapped(text: str, width: int | None) -> list[str]:
    """Return a text as lines of limited width."""
    if width is None or len(text) <= width:
        return [text]
    return textwrap.wrap(text, width, subsequent_indent="  ", break_on_hyphens=False)


def markdown(tables: Iterable[Table]) -> str:
    """Return tables in Markdown."""
    lines: list[str] = []
    for table in tables:
        if table.title:
            lines += ["", f"## {_escaped(table.title)}"]
        for line in table.about:
            lines += ["", _escaped(line)]
        if table.rows:
            grid = [row for row in table.grid() if row is not None]
            cells = ([_escaped(it.replace("\n", " ")) for it in row] for row in grid)
            head, *rows = (f"| {' | '.join(row)} |" for row in cells)
            columns = table.columns(ends=not table.below)
            rule = "|".join(":---" if it.place < table.left else "---:" for it in columns)
            lines += ["", head, f"|{rule}|", *rows]
        for listed, notes in groupby(table.notes, key=lambda note: bool(is_item(note))):
            lines += [""] if listed else []
            for note in notes:
                if listed:
                    blanks = note[: len(note) - len(note.lstrip(" "))] if table.verdict else ""
                    lines.append(f"{blanks}- {_escaped(is_item(note))}")
                else:
                    lines += ["", f"`{printable(note)}`" if is_code(note) else _escaped(note)]
    return "\n".join(lines[1:]) + "\n"


def is_item(note: str) -> str:
    """Return the words of a note that is an item of a list, else nothing."""
    return note.lstrip("- ") if note.startswith(("- ", " ")) else ""


def is_code(note: str) -> bool:
    """Return whether a note is a signature."""
    return "|" in note and not {" ", "`"} & set(note)


def _escaped(text: str) -> str:
    r"""Return a text with Markdown's special characters escaped: ``a|b`` as ``a\|b``."""
    safe = printable(text.strip())
    escaped = "".join(f"\\{c}" if c in "\\|`*_" else c for c in safe)
    return escaped.replace("<", "&lt;").replace("](", "]\\(")


def as_csv(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV: floats with all digits, ``None`` as empty, no formulas."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([_csv_cell(value) for value in row] for row in rows)
    return stream.getvalue()


def _csv_cell(value: object) -> object:
    if not isinstance(value, str):
        return "" if value is None else value
    seen = next((c for c in value if unicodedata.category(c)[0] not in "CMZ"), "")
    is_formula = unicodedata.normalize("NFKC", seen) in _FORMULA or value.startswith(("\t", "\r"))
    return printable(f"'{value}" if is_formula else value)
