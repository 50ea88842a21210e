"""Scores as Markdown and as csv: rows for tracks, trivial systems, slices and means."""

from __future__ import annotations

from typing import Any

from shroom.datasets.felm.scores import NativeScore
from shroom.report.csv_cells import as_csv as csv_of
from shroom.report.csv_cells import markdown_cell
from shroom.scoring.display.text import footnotes, table_rows
from shroom.scoring.results import Score


def markdown(score: Any) -> str:
    """Return a table for people, of a ``Score`` or a ``NativeScore``, with the signature.

    Examples
    --------
    >>> import shroom
    >>> text = markdown(shroom.score("shroom/sample", "shroom/sample", by=()))
    >>> print(text.splitlines()[2])
    | val model-agnostic | 60 | 1.000 | [0.940, 1.000] | 1.000 | [1.000, 1.000]‡ |
    """
    head, *rows = [row for row in table_rows(score) if row is not None]
    shown = [place for place in range(len(head)) if any(row[place] for row in rows)]
    lines = [
        f"| {' | '.join(markdown_cell(row[place].strip()) for place in shown)} |"
        for row in (head, *rows)
    ]
    lines.insert(1, f"|:---|{'---:|' * (len(shown) - 1)}")
    notes = "".join(f"{markdown_cell(note)}\n\n" for note in footnotes(score))
    return "\n".join(lines) + f"\n\n{notes}`{score.signature}`\n"


def as_csv(score: Score | NativeScore) -> str:
    """Return the rows with floats in full, intervals as two columns, undefined as empty."""
    records = score.records()
    return csv_of([list(records[0]), *(list(row.values()) for row in records)])
