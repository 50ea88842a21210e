"""The lines of a CSV file in UTF-8, for data sets whose rows are not SHROOM's."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shroom.core.problems import Problems
    from shroom.scoring.input_files import Document

    Line = tuple[int, list[str]]  # its number, from 1, and its fields


def lines_of(document: Document, problems: Problems, *, strict: bool = False) -> list[Line] | None:
    """Return the number and the fields of each line; ``None``, which is reported, of no CSV file.

    Parameters
    ----------
    document : Document
        UTF-8, gzipped or not, with a byte order mark or without; lines end in any common way.
    problems : Problems
        Receives the reason if the file cannot be read.
    strict : bool
        Whether a quotation mark in the wrong place is an error.
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
    reader = csv.reader(io.StringIO(text, newline=""), strict=strict)
    try:
        return [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        got = f"{error} at line {reader.line_num}"
        problems.add("not-csv", document.file, "fields between commas", got)
        return None
