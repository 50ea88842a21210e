"""The form of values and names in messages: one short line without control codes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

#: The maximum width of tables: that of the terminal.
TABLE_WIDTH: ContextVar[int | None] = ContextVar("TABLE_WIDTH", default=None)
#: The longest part of a message, in characters.
WIDTH = 500


def shortened(value: Any) -> Any:
    """Return a part of a message, shortened if it is a long text."""
    return f"{value[:WIDTH]}…" if isinstance(value, str) and len(value) > WIDTH else value


def show(value: object, width: int = 60) -> str:
    """Return a JSON value as one short line without control codes."""
    shown = value[: width + 1] if isinstance(value, str) else value
    try:
        text = json.dumps(shown, ensure_ascii=False, default=repr)
    except RecursionError:
        text = "brackets nested too deeply"
    text = printable(text[: width + 1])
    if len(text) <= width:
        return text
    return text[:width] + ('…"' if text.startswith('"') else "…")


def counted(count: int, thing: str) -> str:
    """Return a count and its noun, in the singular or the plural.

    >>> counted(1, "item"), counted(2, "entry"), counted(0, "key")
    ('1 item', '2 entries', '0 keys')
    """
    takes_ies = thing.endswith("y") and thing[-2:-1] not in "aeiou"
    plural = f"{thing[:-1]}ies" if takes_ies else f"{thing}s"
    return f"{count} {thing if count == 1 else plural}"


def nearest(name: str, names: Iterable[str]) -> str:
    """Return `` did you mean '...'?``, or nothing if no name is similar."""
    import difflib

    near = difflib.get_close_matches(name, list(names), n=1)
    return f" did you mean '{near[0]}'?" if near else ""


def printable(text: str) -> str:
    """Return the text with control characters of terminals escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def printable_lines(text: str) -> str:
    """Return the text with control characters escaped, except newlines."""
    return "\n".join(map(printable, text.split("\n")))
