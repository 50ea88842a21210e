"""Tables with a title and a note, which text, Markdown and pages show alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from shroom.core.problems import printable
from shroom.scoring.display.columns import align

#: Tables that are wider are shown in parts, each with the keys of its rows.
WIDTH = 100
#: A column and its head, or a score and its interval, which stay together.
Block = list[list[str]]


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


def in_width(of_keys: Block, blocks: list[Block]) -> Iterator[Block]:
    """Yield columns in parts that fit beside the keys of the rows."""
    room = WIDTH + 2 - width_of(of_keys)
    part: Block = []
    for block in blocks:
        if part and width_of(part) + width_of(block) > room:
            yield part
            part = []
        part = part + block
    yield part


def width_of(block: Block) -> int:
    """Return the width of columns, in characters, with the blanks before them."""
    return sum(
        2 + max(len(line) for cell in column for line in cell.split("\n")) for column in block
    )
