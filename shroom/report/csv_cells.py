"""Cells of csv and Markdown tables that no reader takes for a command."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Sequence

from shroom.core.problems import printable

#: What begins a formula; a spreadsheet also takes it in full width, and after what is not seen.
_FORMULA = frozenset("=+-@")


def as_csv(rows: Iterable[Sequence[object]]) -> str:
    r"""Return rows as csv: floats in full, ``None`` as nothing, texts without control codes.

    A text that a spreadsheet would take for a formula gets an apostrophe before it.

    Examples
    --------
    >>> as_csv([("p", "hyp"), (0.1, "=1+1"), (None, "two\nlines")])
    "p,hyp\n0.1,'=1+1\n,two\\nlines\n"
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([_cell(value) for value in row] for row in rows)
    return stream.getvalue()


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return "" if value is None else value
    seen = next((c for c in value if unicodedata.category(c)[0] not in "CMZ"), "")
    is_formula = unicodedata.normalize("NFKC", seen) in _FORMULA or value.startswith(("\t", "\r"))
    return printable(f"'{value}" if is_formula else value)


def markdown_cell(text: str) -> str:
    r"""Return a text as it is shown, without what Markdown would read in it.

    Examples
    --------
    >>> markdown_cell("a|b_c <d>")
    'a\\|b\\_c &lt;d>'
    """
    escaped = "".join(f"\\{c}" if c in "\\|`*_" else c for c in printable(text))
    return escaped.replace("<", "&lt;").replace("](", "]\\(")
