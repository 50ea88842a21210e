"""Objects of JSON in which a key comes more than once."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from shroom.core.problems import Problems, show

#: How many doubled keys of an object are named.
_NAMED = 5


class Doubled(dict[str, Any]):
    """An object that has had keys more than once; of each it holds the last value."""

    #: The keys that it has had more than once.
    keys_doubled: list[str]


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of its keys and values, which remembers the keys that come again."""
    values = dict(pairs)
    if len(values) == len(pairs):
        return values
    doubled = Doubled(values)
    counts = Counter(key for key, _ in pairs)
    doubled.keys_doubled = [key for key, times in counts.items() if times > 1]
    return doubled


def report_doubled(item: dict[str, Any], file: str, problems: Problems, **place: Any) -> None:
    """Report the keys that an object has had more than once, as one ``key-doubled``."""
    if isinstance(item, Doubled):
        problems.add("key-doubled", file, "each key only once", partial(again, item), **place)


def again(item: Doubled) -> str:
    """Return what is found if an object has had keys more than once."""
    return f"{named_doubled(item)} more than once (the last value is used)"


def named_doubled(item: Doubled) -> str:
    """Return the keys that an object has had more than once, of many the first."""
    keys = item.keys_doubled
    more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    return f"{' and '.join(map(show, keys[:_NAMED]))}{more}"
