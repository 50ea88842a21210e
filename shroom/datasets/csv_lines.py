"""The rows of a CSV file in UTF-8, by column name."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from shroom.core.json_reading import BROKEN
from shroom.core.problems import Problems, show
from shroom.scoring.input_files import Document


def csv_rows(
    document: Document, columns: Mapping[str, bool], problems: Problems
) -> list[Any] | None:
    """Return the cells of each row by column; ``None`` if the file is unreadable.

    A row with more or fewer fields than the header is reported, and :data:`BROKEN`.
    """
    lines = _lines_of(document, problems)
    if lines is None:
        return None
    if len(lines) < 2:
        actual = "only a header" if lines else "an empty file"
        problems.add("empty", document.file, "a header and rows", actual)
    if not lines or not _is_known(lines[0], columns, document.file, problems):
        return []
    header, *rows = lines
    for index, cells in enumerate(rows):
        if len(cells) != len(header):
            expected = f"{len(header)} fields, as in the header"
            problems.add("row-width", document.file, expected, f"{len(cells)}", index=index)
    return [dict(zip(header, it)) if len(it) == len(header) else BROKEN for it in rows]


def _is_known(
    header: Sequence[str], columns: Mapping[str, bool], file: str, problems: Problems
) -> bool:
    counts = {name: header.count(name) for name in columns}
    for name, needed in columns.items():
        if counts[name] > 1 or (needed and not counts[name]):
            actual = (
                f"{counts[name]} such columns" if counts[name] else f"columns {show(list(header))}"
            )
            problems.add("key-missing", file, f'one column "{name}"', actual)
    for name in header:
        if name not in columns:
            problems.add("key-unknown", file, "a column of the source", show(name))
    return all(counts[name] == 1 or not needed for name, needed in columns.items())


def _lines_of(document: Document, problems: Problems) -> list[list[str]] | None:
    """Return the fields of each line; ``None`` if the file is not CSV, which is reported."""
    data = document.read(problems)
    if data is None:
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        got = f"byte 0x{error.object[error.start]:02x} at line {line}"
        problems.add("not-utf8", document.file, "UTF-8", got)
        return None
    rows = _rows_in_memory(text)
    if rows:
        header = list(dict.fromkeys(key for row in rows for key in row))
        return [header, *([_text(row.get(key, "")) for key in header] for row in rows)]
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        return [row for row in reader if row]
    except csv.Error as error:
        got = f"{error} at line {reader.line_num}"
        problems.add("not-csv", document.file, "comma-separated fields", got)
        return None


def _rows_in_memory(text: str) -> list[dict[str, Any]]:
    """Return the rows of in-memory data, which arrive as JSON; an empty list for a file."""
    if not text.startswith("[{"):
        return []
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return rows if all(isinstance(row, dict) for row in rows) else []


def _text(cell: Any) -> str:
    """Return a cell as in a file; a data frame turns integers beside empty cells into floats."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
