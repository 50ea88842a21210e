"""The lines of a CSV file in UTF-8, as fields."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from shroom.core.problems import Problems
from shroom.scoring.input_files import Document


def lines_of(document: Document, problems: Problems) -> list[list[str]] | None:
    """Return the fields of each line; ``None``, which is reported, of no CSV file.

    Parameters
    ----------
    document : Document
        UTF-8, gzipped or not, with a byte order mark or without; lines end in any common way.
    problems : Problems
        Receives the reason if the file cannot be read.
    """
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
    rows = _rows_in(text)
    if rows:
        return _lines_of_rows(rows)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        return [row for row in reader if row]
    except csv.Error as error:
        got = f"{error} at line {reader.line_num}"
        problems.add("not-csv", document.file, "fields between commas", got)
        return None


def _rows_in(text: str) -> list[dict[str, Any]]:
    """Return the rows of data in memory, which are JSON; none of a file."""
    if not text.startswith("[{"):
        return []
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return rows if all(isinstance(row, dict) for row in rows) else []


def _lines_of_rows(rows: list[dict[str, Any]]) -> list[list[str]]:
    header = list(dict.fromkeys(key for row in rows for key in row))
    return [header, *([_text(row.get(key, "")) for key in header] for row in rows)]


def _text(cell: Any) -> str:
    """Return a cell as a file has it; integers beside empty cells are floats in a frame."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
