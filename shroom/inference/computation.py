"""Running a model over many items: known values, batches by length, storing, and progress.

A detector states what its items are, how long each is and what its model makes of a batch. Which
items share a batch, what an earlier run has computed already, and what happens when memory runs
out are decided here, in the same way for all detectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.problems import ShroomError
from shroom.inference.batching import Item, computed
from shroom.inference.cache_key import CacheKey
from shroom.inference.run_settings import Run

Work = Callable[[list[Item]], NDArray[Any]]

#: After how many batches freed memory is given back to the system.
_BATCHES_BETWEEN_TRIMS = 64


def compute(
    items: Sequence[Item],
    work: Work[Item],
    *,
    lengths: Sequence[int],
    key: CacheKey,
    run: Run,
    workers: int = 1,
    bounds: tuple[float, float] = (-math.inf, math.inf),
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
    key : CacheKey
        All that the values depend on besides the items.
    run : Run
        The settings of the run.
    workers : int
        The number of batches that are computed at the same time, each in its own thread on its own
        core. Neither the batches nor the order in which they are stored depend on it.
    bounds : (float, float)
        The range of the values, such as 0 and 1: values in the journal that are outside are
        damaged, and computed again.

    Returns
    -------
    array, shape [n, k]
        With k = 1 where ``work`` gives one value for an item; shape [0, 1] without items.

    Raises
    ------
    ShroomError
        Where a value is not finite, or a single item does not fit into memory.

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
    values = _Values(distinct, key, run, bounds)
    values.read_journal()
    cached = values.read_cache()
    if cached:
        share = f"{cached} of {len(distinct)} results"
        run.note(f"{share} are those of earlier runs, from the cache")
    rows = np.flatnonzero(~values.done)
    new = [distinct[row] for row in rows]
    sizes = [length[item] for item in new]
    with closing(computed(new, sizes, work, run.tokens, workers)) as batches:
        for n, (batch, found) in enumerate(batches, start=1):
            values.store(rows[batch.start : batch.stop], found)
            run.report(int(values.done.sum()), len(distinct))
            if n % _BATCHES_BETWEEN_TRIMS == 0:
                give_back()
    run.precisions.add(key.precision)
    return values.table[[row_of[item] for item in items]]


@dataclass
class _Values:
    """The values of distinct items as they come, in one array, since there may be very many."""

    items: list[Any]
    key: CacheKey
    run: Run
    bounds: tuple[float, float]

    def __post_init__(self) -> None:
        self.done = np.zeros(len(self.items), bool)
        self.table = np.empty((len(self.items), 0))

    def read_journal(self) -> None:
        """Take the values that the interrupted run has computed."""
        journal = self.run.journal
        if not journal or not journal.known:
            return
        low, high = self.bounds
        rows, out_of_range = np.flatnonzero(~self.done).tolist(), 0
        for row, key in zip(rows, self.key.journal_keys(self.items[row] for row in rows)):
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

    def read_cache(self) -> int:
        """Take the values that earlier runs have computed; return their number."""
        if not self.run.cache:
            return 0
        rows = np.flatnonzero(~self.done).tolist()
        keys = self.key.cache_keys([self.items[row] for row in rows])
        stored = self.run.cache.get(keys) if keys else {}
        cached = {row: stored[key] for row, key in zip(rows, keys) if key in stored}
        for row, values in cached.items():
            self._put([row], values)
        return len(cached)

    def store(self, rows: NDArray[np.intp], values: NDArray[np.float64]) -> None:
        """Store the values of a batch: in memory, in the journal and in the cache."""
        self._put(rows, values)
        items = [self.items[row] for row in rows]
        if self.run.journal:
            self.run.journal.add(list(zip(self.key.journal_keys(items), values.tolist())))
        if self.run.cache:
            self.run.cache.add(dict(zip(self.key.cache_keys(items), values)))

    def _put(self, rows: Sequence[int] | NDArray[np.intp], values: Any) -> None:
        """Set the values of items: shape [rows, k], or [k] of one."""
        values = np.asarray(values, np.float64).reshape(len(rows), -1)
        if not self.done.any():
            self.table = np.empty((len(self.items), values.shape[1]))
        expected, got = self.table.shape[1], values.shape[1]
        if expected != got:
            run = self.run
            place, option = (run.journal, "--resume") if run.journal else (run.cache, "the cache")
            raise ShroomError(
                f"{place.path if place else 'the model'}: values of another shape: expected "
                f"{expected} values, got {got}; run again without {option}"
            )
        self.table[rows] = values
        self.done[rows] = True


def give_back() -> None:
    """Return freed memory to the system if the C library keeps it.

    What is freed between pieces that are still in use stays with the process, and the arrays of
    batches are of ever new sizes: over thousands of batches that is as much as the model itself.
    """
    with suppress(ImportError, OSError, TypeError, AttributeError):  # only glibc has it
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
