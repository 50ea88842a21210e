"""The names that a user gives to columns of tables and keys of JSON, in place of the kit's keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from shroom.core.problems import ShroomError
from shroom.scoring.table import KEYS, P

_NAMED: ContextVar[Mapping[str, str]] = ContextVar("columns", default=MappingProxyType({}))


@contextmanager
def naming(columns: Mapping[str, str] | None) -> Iterator[None]:
    """Read predictions and gold by the columns or keys of JSON that the user has named.

    Parameters
    ----------
    columns : mapping, optional
        The name of the column for each of the kit's keys; ``p`` is short for that of p. A table
        without a column of that name is read by its own names, with a warning, and so is an
        object without such a key, silently.

    Raises
    ------
    ShroomError
        If a key is unknown, or a column is named for two.

    Examples
    --------
    >>> with naming({"p": "score"}):
    ...     renamed({"label": "Hallucination", "score": 0.75})
    {'label': 'Hallucination', 'p(Hallucination)': 0.75}
    """
    named = {column: P if key == "p" else key for key, column in (columns or {}).items()}
    unknown = [key for key in columns or () if key not in ("p", *KEYS)]
    if unknown:
        raise ShroomError(f"'{unknown[0]}' is not one of p, {', '.join(KEYS)}")
    if len(set(named.values())) < len(columns or ()):
        raise ShroomError("columns: a key or a column is named twice")
    token = _NAMED.set(_NAMED.get() if columns is None else named)
    try:
        yield
    finally:
        _NAMED.reset(token)


def named_columns() -> Mapping[str, str]:
    """Return the kit's key for each column or key of JSON that the user has named."""
    return _NAMED.get()


def renamed(item: Any) -> Any:
    """Return an item of JSON, which is changed, under the kit's keys in place of those named."""
    named = _NAMED.get()
    if named and isinstance(item, dict):
        item.update({named[key]: item.pop(key) for key in list(item) if key in named})
    return item
