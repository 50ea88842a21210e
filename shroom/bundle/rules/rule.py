"""A rule of the platform, the table of all rules, and what they are applied to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Callable

from shroom.bundle.contents import Contents
from shroom.core.printing import show

#: An entry of a list of ``competition.yaml``, and its place.
Table = tuple[str, Mapping[str, Any]]
#: What a rule finds: the place, and what was expected and found there.
Breaches = Iterator[tuple[str, str]]
Check = Callable[["Competition"], Breaches]
#: Entries of a list that are checked; no competition has more.
MAX_ENTRIES = 200


@dataclass(frozen=True)
class Competition:
    """A ``competition.yaml`` of version 2, and the files beside it."""

    data: Mapping[str, Any]
    files: Contents

    def tables(self, name: str) -> list[Table]:
        """Return the tables of a name with their places; for columns, those of all leaderboards."""
        if name == "competition":
            return [("", self.data)]
        if name == "columns":
            return [column for _, columns in self.boards for column in columns]
        return tables_in(self.data, name)

    @property
    def boards(self) -> list[tuple[Table, list[Table]]]:
        """The leaderboards, each with its columns."""
        return [
            ((place, board), tables_in(board, "columns", f"{place}."))
            for place, board in self.tables("leaderboards")
        ]

    @property
    def phases(self) -> list[Table]:
        """The phases in the order of their indexes."""

        def order(phase: Table) -> float:
            index = phase[1].get("index", 0)
            return index if isinstance(index, (int, float)) else 0

        return sorted(self.tables("phases"), key=order)


def tables_in(table: Mapping[str, Any], key: str, place: str = "") -> list[Table]:
    """Return the tables of a list in a table, with their places; other values are left out."""
    return [
        (f"{place}{key}[{index}]", entry)
        for index, entry in enumerate(entries(table.get(key)))
        if isinstance(entry, Mapping)
    ]


def entries(value: Any) -> list[Any]:
    """Return the entries of a list; of anything else, none."""
    return value[:MAX_ENTRIES] if isinstance(value, list) else []


def at(place: str, key: str) -> str:
    """Return the place of a key in a table."""
    return f"{place}.{key}".lstrip(".")


def is_scalar(value: Any) -> bool:
    """Return whether a value can be compared in no time: lists that repeat each other cannot."""
    return isinstance(value, (str, int, float))


def doubled(tables: Iterable[Table], key: str) -> Breaches:
    """Yield a breach for each table that has the value of another one under a key."""
    seen: list[Any] = []
    for place, table in tables:
        value = table.get(key)
        if not is_scalar(value):
            continue
        if value in seen:
            yield at(place, key), f"expected one of its own, got {show(value)} again"
        seen.append(value)


@dataclass(frozen=True)
class Rule:
    """A rule of the platform.

    Attributes
    ----------
    name : str
        Name in messages.
    sentence : str
        What the platform requires.
    check : callable
        Yields the place of each breach, with what was expected and found.
    refused : bool
        Whether the platform refuses the bundle, or the page of its leaderboard or each submission
        would fail. Otherwise it takes it, but does something that its organiser hardly means.
    """

    name: str
    sentence: str
    check: Check
    refused: bool = True


#: Every rule by its name.
RULES: dict[str, Rule] = {}


def rule(name: str, sentence: str, *, refused: bool = True) -> Callable[[Check], Check]:
    """Return a decorator that enters a check into the table of rules."""

    def enter(check: Check) -> Check:
        RULES[name] = Rule(name, sentence, check, refused)
        return check

    return enter
