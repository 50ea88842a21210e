"""JSON objects in which a key occurs more than once."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from shroom.core.printing import counted, show
from shroom.core.problems import Problems

#: The number of repeated keys that a message lists.
_NAMED = 5


class Doubled(dict[str, Any]):
    """An object in which keys occurred more than once; it has the last value of each key."""

    #: The keys that occurred more than once.
    keys_doubled: list[str]


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object from its keys and values; it remembers repeated keys."""
    values = dict(pairs)
    if len(values) == len(pairs):
        return values
    doubled = Doubled(values)
    counts = Counter(key for key, _ in pairs)
    doubled.keys_doubled = [key for key, times in counts.items() if times > 1]
    return doubled


def report_doubled(item: dict[str, Any], file: str, problems: Problems, **place: Any) -> None:
    """Report the repeated keys of an object as one ``key-doubled``."""
    if isinstance(item, Doubled):
        problems.add("key-doubled", file, "each key only once", partial(again, item), **place)


def again(item: Doubled) -> str:
    """Return the description of repeated keys in a problem."""
    return f"{named_doubled(item)} more than once (the last value is used)"


def named_doubled(item: Doubled) -> str:
    """Return the first few repeated keys of an object, as text."""
    keys = item.keys_doubled
    rest = len(keys) - _NAMED
    named = [*map(show, keys[:_NAMED]), *([counted(rest, "other key")] if rest > 0 else [])]
    return " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
