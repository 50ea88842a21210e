"""Running a model over many items: what is known, batches by length, what is stored, progress.

A detector states what its items are, how long each is and what its model makes of a batch. Which
items share a batch, what an earlier run has computed already, and what happens when memory runs
out are decided here, in the same way for all detectors.
"""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.problems import ShroomError
from shroom.inference.batching import batched
from shroom.inference.machine import give_back

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from numpy.typing import NDArray

    from shroom.inference.batching import Item
    from shroom.inference.cache_key import CacheKey
    from shroom.inference.run_settings import Run

    Work = Callable[[list[Item]], NDArray[Any]]
    Batches = Generator[tuple[list[int], NDArray[np.float64]], None, None]

#: After how many batches freed memory is given back to the system.
_BATCHES_BETWEEN_TRIMS = 64


def compute(
    items: Sequence[Item],
    work: Work[Item],
    *,
    lengths: Sequence[int],
    key: CacheKey | Callable[[], CacheKey],
    run: Run,
    workers: int = 1,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    fall_back: Callable[[], bool] = lambda: False,
) -> NDArray[np.float64]:
    """Return the model's values of each item; equal items are computed once.

    Parameters
    ----------
    items : sequence of tuple, length n
        The model's inputs, which JSON can represent.
    work : callable
        Takes a batch of items, returns an array with one row for each: shape [batch] or [batch, k].
    lengths : sequence of int, length n
        Tokens of each item. Items of similar length share a batch, the longest come first.
    key : CacheKey or callable
        All that the values depend on besides the items. A callable returns it, and is called for
        each batch, as the precision may change.
    run : Run
        The settings of the run.
    workers : int
        The number of batches that are computed at the same time, each in its own thread on its own
        core. Neither the batches nor the order in which they are stored depend on it.
    bounds : (float, float)
        The range of the values, such as 0 and 1: values in the journal that are outside are
        damaged, and computed again.
    fall_back : callable, optional
        Called where a batch has values that are not finite, once all batches before it are stored
        and no other is being computed. Switches ``work`` to a precision that can represent them
        and returns true; returns false where there is none.

    Returns
    -------
    array, shape [n, k]
        With k = 1 where ``work`` gives one value for an item; shape [0, 1] without items.

    Raises
    ------
    ShroomError
        Where a single item does not fit into memory, or a value is not finite.

    Examples
    --------
    >>> from shroom.inference.cache_key import CacheKey
    >>> from shroom.inference.run_settings import RUN
    >>> def letters(batch):
    ...     return np.array([len(text) for (text,) in batch])
    >>> items, key = [("a",), ("bcd",), ("a",)], CacheKey("letters")
    >>> compute(items, letters, lengths=[1, 3, 1], key=key, run=RUN)[:, 0]
    array([1., 3., 1.])
    """
    if len(items) != len(lengths):
        raise ValueError(f"{len(items)} items cannot have {len(lengths)} lengths")
    if not items:
        return np.empty((0, 1))
    length = {item: max(1, n) for item, n in zip(items, lengths)}
    distinct = sorted(length, key=length.__getitem__, reverse=True)
    row_of = {item: row for row, item in enumerate(distinct)}
    computation = _Computation(
        distinct,
        [length[item] for item in distinct],
        work,
        key if callable(key) else lambda: key,
        run,
        workers,
        bounds,
        fall_back,
    )
    return computation.values()[[row_of[item] for item in items]]


@dataclass
class _Computation:
    """The computation of distinct items' values, the longest items first; see :func:`compute`."""

    items: list[Any]
    lengths: list[int]
    work: Work[Any]
    key: Callable[[], CacheKey]
    run: Run
    workers: int
    bounds: tuple[float, float]
    fall_back: Callable[[], bool]

    def __post_init__(self) -> None:
        self._results = _Results(len(self.items))

    def values(self) -> NDArray[np.float64]:
        """Return the values of all items: shape [items, k]."""
        self._look_up_in_journal()
        cached = self._look_up_in_cache()
        if cached:
            share = f"{len(cached)} of {len(self.items)} results"
            self.run.note(f"{share} are those of earlier runs, from the cache")
        with closing(self._batches(cached)) as batches:
            for n, (rows, values) in enumerate(batches, start=1):
                self._store(rows, values)
                self.run.report(self._results.n_known, len(self.items))
                if n % _BATCHES_BETWEEN_TRIMS == 0:
                    give_back()
        self.run.precisions.add(self.key().precision)  # also where nothing had to be computed
        assert self._results.values is not None  # noqa: S101 - there is at least one item
        return self._results.values

    def _look_up_in_journal(self) -> None:
        """Take the values that the interrupted run has computed."""
        journal = self.run.journal
        if not journal or not journal.known:
            return
        low, high = self.bounds
        rows, out_of_range = self._results.unknown(), 0
        for row, key in zip(rows, self.key().journal_keys(self.items[row] for row in rows)):
            values = journal.known.get(key)
            if values is None:
                continue
            if all(low <= value <= high for value in values):
                self._put([row], values)
            else:
                out_of_range += 1
        if out_of_range:
            count = f"{out_of_range} results are not from {low:g} to {high:g}"
            self.run.note(f"{journal.path}: {count}; they are computed anew")

    def _look_up_in_cache(self) -> set[int]:
        """Take the values that earlier runs have computed; return their rows."""
        cache = self.run.cache
        if not cache:
            return set()
        rows = self._results.unknown()
        keys = self.key().cache_keys([self.items[row] for row in rows])
        known = cache.get(keys) if keys else {}
        cached = {row: known[key] for row, key in zip(rows, keys) if key in known}
        for row, values in cached.items():
            self._put([row], values)
        return set(cached)

    def _batches(self, cached: set[int]) -> Batches:
        """Yield the rows and values of one batch after the other.

        Rows from the journal take part in planning the batches, so that a resumed run forms the
        batches of one that was not interrupted, and gives exactly its values.
        """
        return batched(
            self.items,
            self.lengths,
            [row for row in range(len(self.items)) if row not in cached],
            self._results.known,
            self.work,
            self.run.tokens,
            self.workers,
            self._switch,
        )

    def _switch(self) -> bool:
        """Switch to another precision; return whether there is one.

        The interrupted run has switched at this place, too, and its values are known from here on.
        """
        switched = self.fall_back()
        if switched:
            self._look_up_in_journal()
            self._look_up_in_cache()
        return switched

    def _store(self, rows: list[int], values: NDArray[np.float64]) -> None:
        """Store the values of a batch: in memory, in the journal and in the cache."""
        self._put(rows, values)
        key, items = self.key(), [self.items[row] for row in rows]
        self.run.precisions.add(key.precision)
        if self.run.journal:
            self.run.journal.add(list(zip(key.journal_keys(items), values.tolist())))
        if self.run.cache:
            self.run.cache.add(dict(zip(key.cache_keys(items), values)))

    def _put(self, rows: list[int], values: Any) -> None:
        try:
            self._results.put(rows, values)
        except ValueError as error:
            run = self.run
            place, option = (run.journal, "--resume") if run.journal else (run.cache, "the cache")
            raise ShroomError(
                f"{place.path if place else 'the model'}: values of another shape: {error}; "
                f"run again without {option}"
            ) from error


class _Results:
    """The values of items as they come, in one array, since there may be very many.

    Attributes
    ----------
    known : array of bool, shape [n]
        Which items have values.
    values : array, shape [n, k], or None
        ``None`` before the first.
    """

    def __init__(self, n: int) -> None:
        self.known = np.zeros(n, bool)
        self.values: NDArray[np.float64] | None = None

    @property
    def n_known(self) -> int:
        """The number of items that have values."""
        return int(self.known.sum())

    def unknown(self) -> list[int]:
        """Return the rows that have no values."""
        return [int(row) for row in np.flatnonzero(~self.known)]

    def put(self, rows: Sequence[int], values: Any) -> None:
        """Set the values of items: shape [rows, k], or [k] of one.

        Raises
        ------
        ValueError
            Where other items have another number of values.
        """
        table = np.asarray(values, np.float64).reshape(len(rows), -1)
        if self.values is None:
            self.values = np.empty((len(self.known), table.shape[1]))
        if self.values.shape[1] != table.shape[1]:
            raise ValueError(f"expected {self.values.shape[1]} values, got {table.shape[1]}")
        self.values[list(rows)] = table
        self.known[list(rows)] = True
