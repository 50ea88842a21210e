"""What a model makes of generations, slice by slice: a run that is killed loses one at most."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from shroom.inference.run_settings import Run

#: How many items are done before they are handed on.
SIZE = 128
Item = TypeVar("Item")
Value = TypeVar("Value")


def in_slices(
    owners: Mapping[Item, Sequence[tuple[int, int]]],
    compute: Callable[[list[Item], Run], Sequence[Value]],
    run: Run,
    *,
    length: Callable[[Item], int],
) -> Iterator[tuple[int, int, Value]]:
    """Yield ``(place of the work, place of the generation, value)``, the longest items first.

    Parameters
    ----------
    owners : mapping
        From each distinct item to the places that it stands for.
    compute : callable
        Takes items and a run, gives a value for each.
    run : Run
        How it is run; its report counts the items of all slices.
    length : callable
        About how long an item is, so that items of like length go together.

    Examples
    --------
    >>> from shroom.inference.run_settings import RUN
    >>> owners = {"a": [(0, 0), (1, 0)], "bcd": [(0, 1)]}
    >>> list(in_slices(owners, lambda texts, run: [len(t) for t in texts], RUN, length=len))
    [(0, 1, 3), (0, 0, 1), (1, 0, 1)]
    """
    items = sorted(owners, key=length, reverse=True)
    for start in range(0, len(items), SIZE):
        part = items[start : start + SIZE]
        values = compute(part, within(run, start, len(part), len(items)))
        for item, value in zip(part, values):
            for place, generation in owners[item]:
                yield place, generation, value


def within(run: Run, start: int, size: int, total: int) -> Run:
    """Return a run for some of all items, whose report shows the progress among all.

    Examples
    --------
    >>> from shroom.inference.run_settings import Run
    >>> within(Run(report=print), start=10, size=5, total=20).report(50, 100)
    12 20
    """

    def report(done: int, of: int) -> None:
        run.report(start + size * done // max(1, of), total)

    return replace(run, report=report)


def gathered(items: Sequence[tuple[Any, int, int]]) -> dict[Any, list[tuple[int, int]]]:
    """Return the places of each distinct item, from ``(item, place of the work, generation)``.

    Examples
    --------
    >>> gathered([("a", 0, 0), ("b", 0, 1), ("a", 1, 0)])
    {'a': [(0, 0), (1, 0)], 'b': [(0, 1)]}
    """
    owners: dict[Any, list[tuple[int, int]]] = {}
    for item, place, generation in items:
        owners.setdefault(item, []).append((place, generation))
    return owners
