"""Tables with a title and a note, which text, Markdown and pages show alike."""

from __future__ import annotations

from dataclasses import dataclass

from shroom.core.problems import printable
from shroom.scoring.display.text import align


@dataclass(frozen=True)
class Section:
    """A table of cells.

    Attributes
    ----------
    title : str
        Its heading.
    heads : tuple of str
        Heads of the columns; the first ``left`` of them have words, the others figures.
    rows : list of tuple of str
        The cells.
    note : str
        A sentence or more below the table.
    left : int
        How many columns have words.
    """

    title: str
    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str = ""
    left: int = 1

    @property
    def lines(self) -> list[str]:
        """The section as lines of text, without an empty one behind it."""
        cells = [tuple(map(printable, row)) for row in self.rows]
        table = align([self.heads, None, *cells], left=self.left) if cells else []
        return [self.title, *table, *([self.note] if self.note else [])]
