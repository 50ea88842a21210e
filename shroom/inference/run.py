"""The one place that runs a model over many items: batches by length, progress, resumption.

A detector says what its items are, how long each is and what the model makes of a batch; which
items go together, what is already known from an interrupted run and what to do when memory runs
out is decided here, alike for all.
"""

from __future__ import annotations

import hashlib
import json
import math
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.problems import ShroomError
from shroom.inference.batching import Again, batched
from shroom.inference.machine import give_back
from shroom.inference.result_cache import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from shroom.inference.batching import Item
    from shroom.inference.journal import Journal
    from shroom.inference.result_cache import Cache


def _silent(*_: object) -> None:
    """Say nothing."""


#: The most tokens in one batch: what lies in a processor's cache, and what fills a GPU.
BATCH_TOKENS = {"cpu": 384, "cuda": 32768, "mps": 8192}
#: After how many batches freed memory is given back.
_OFTEN = 64


@dataclass(frozen=True)
class Run:
    """How a prediction is run. Only the precision changes what is predicted, and hardly.

    Attributes
    ----------
    batch_tokens : int or None
        The most tokens in one batch, padding included; by default what suits the device.
    device : str or None
        ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ``"mps"``; by default the best that is there.
    report : callable
        Called with the number of items done and of all items, after each batch.
    note : callable
        Called with a sentence that the user should read, such as that a premise was cut.
    journal : Journal or None
        Keeps what has been computed, so that an interrupted run can be taken up again.
    cache : Cache or None
        Keeps it for other runs, too, where the work can tell on what it depends.
    precision : str or None
        What a model computes in, one of :data:`shroom.inference.precision.PRECISIONS`.
        ``None`` is the detector's own default: float32 for every model of the user's, on every
        device; the model that ships with the kit keeps its own integers.
    in_sample : bool
        Whether a fitted detector answers for its training items with the model that has seen them,
        instead of their out-of-fold p.
    precisions : set of str
        What models have computed in so far, to which each adds its own.
    """

    batch_tokens: int | None = None
    device: str | None = None
    report: Callable[[int, int], None] = _silent
    note: Callable[[str], None] = _silent
    journal: Journal | None = None
    cache: Cache | None = None
    precision: str | None = None
    in_sample: bool = False
    precisions: set[str] = field(default_factory=set, compare=False)

    @property
    def tokens(self) -> int:
        """The most tokens in one batch on the run's device.

        Examples
        --------
        >>> Run(device="cuda:1").tokens, Run(64, "cuda").tokens
        (32768, 64)
        """
        if self.batch_tokens is not None:
            return self.batch_tokens
        return BATCH_TOKENS.get((self.device or "cpu").partition(":")[0], BATCH_TOKENS["cpu"])

    def to(self, device: str) -> Run:
        """Return this run on a device."""
        return replace(self, device=device)

    def bare(self) -> Run:
        """Return this run without what belongs to one process: reports, journal and cache."""
        return Run(
            self.batch_tokens, self.device, precision=self.precision, in_sample=self.in_sample
        )


#: A run of no special kind.
RUN = Run()


def over(
    items: Sequence[Item],
    work: Callable[[list[Item]], NDArray[Any]],
    *,
    lengths: Sequence[int],
    scope: str | Callable[[], str],
    run: Run,
    address: Callable[[], str | None] | None = None,
    workers: int = 1,
    precision: str | Callable[[], str] = "float32",
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> NDArray[np.float64]:
    """Return what ``work`` says of each item, each distinct item being computed once.

    Parameters
    ----------
    items : sequence of tuple, length n
        What the model is given, as json could write it.
    work : callable
        Takes a batch of items, gives an array with one row for each: shape [batch] or [batch, k].
    lengths : sequence of int, length n
        Tokens of each item. Items of like length go together, the longest first.
    scope : str or callable
        What else the values depend on, such as the model: part of the journal's keys. A callable
        returns it, and is asked anew for each batch, as the precision may change.
    run : Run
        How it is run.
    address : callable, optional
        Returns all that the values depend on beside the item, by its content: weights, precision,
        device. It is asked anew, too. Without it, or where it returns ``None``, the run's cache is
        not used.
    workers : int
        How many batches are computed at the same time, each in a thread of its own, which then
        has a core to itself. Neither the batches nor the order of what is written depend on it.
    precision : str or callable
        What ``work`` computes in, for the run's record. A callable is asked for each batch.
    bounds : (float, float)
        What values are always within, such as 0 and 1: others in the journal are damaged, and
        computed anew.

    Returns
    -------
    array, shape [n, k]
        With k = 1 where ``work`` gives one value for an item; shape [0, 1] of no items.

    Raises
    ------
    ShroomError
        Where a single item does not fit into memory, or a value is not finite.

    Examples
    --------
    >>> def letters(batch):
    ...     return np.array([len(text) for (text,) in batch])
    >>> over([("a",), ("bcd",), ("a",)], letters, lengths=[1, 3, 1], scope="", run=RUN)[:, 0]
    array([1., 3., 1.])
    """
    if len(items) != len(lengths):
        raise ValueError(f"{len(items)} items cannot have {len(lengths)} lengths")
    if not items:
        return np.empty((0, 1))
    length = {item: max(1, n) for item, n in zip(items, lengths)}
    distinct = sorted(length, key=length.__getitem__, reverse=True)
    place = {item: row for row, item in enumerate(distinct)}
    said = scope if callable(scope) else lambda: scope
    sizes = [length[item] for item in distinct]
    used = precision if callable(precision) else lambda: precision
    rows = _computed(distinct, sizes, work, said, run, address, workers, used, bounds)
    return rows[[place[item] for item in items]]


def _computed(
    items: list[Item],
    lengths: list[int],
    work: Callable[[list[Item]], NDArray[Any]],
    scope: Callable[[], str],
    run: Run,
    address: Callable[[], str | None] | None,
    workers: int,
    precision: Callable[[], str],
    bounds: tuple[float, float],
) -> NDArray[np.float64]:
    """Return the values of distinct items, the longest of which are first: shape [items, k]."""
    rows, cache = _Rows(len(items)), _Recall(run.cache, address)

    def recall() -> set[int]:
        """Take what an earlier run has computed; return the rows that are from the cache."""
        if run.journal and run.journal.known:
            _take_up(rows, items, scope(), run.journal, bounds, run.note)
        return cache.fill(rows, items)

    def changed(again: Again) -> None:
        again.change()
        recall()

    def worked(batch: list[Item]) -> NDArray[Any]:
        try:
            return work(batch)
        except Again as again:  # an earlier run has had to change, too
            raise Again(partial(changed, again)) from again

    recalled = recall()
    if recalled:
        share = f"{len(recalled)} of {len(items)} results"
        run.note(f"{share} are those of earlier runs, from the cache")
    # Batches are those that a run without a stop would form, so that its very values come out.
    order = [row for row in range(len(items)) if row not in recalled]
    with closing(
        batched(items, lengths, order, rows.known, worked, run.tokens, workers)
    ) as computed:
        for done, (batch, values) in enumerate(computed, start=1):
            rows.put(batch, values)
            run.precisions.add(precision())
            part = [items[row] for row in batch]
            if run.journal:
                told = scope()
                keys = [_key(told, item) for item in part]
                run.journal.add(list(zip(keys, values.tolist())))
            cache.keep(part, values)
            run.report(int(rows.known.sum()), len(items))
            if done % _OFTEN == 0:
                give_back()
    run.precisions.add(precision())  # where all were known, no batch has told it
    if rows.values is None:
        place, option = (run.journal, "--resume") if run.journal else (run.cache, "the cache")
        where = place.path if place else "a run"
        raise ShroomError(f"{where}: holds what no run wrote; go on without {option}")
    return rows.values


def _take_up(
    rows: _Rows,
    items: list[Item],
    scope: str,
    journal: Journal,
    bounds: tuple[float, float],
    note: Callable[[str], None],
) -> None:
    """Take what the journal knows into the rows that have no values."""
    least, most = bounds
    beyond = 0
    for row in np.flatnonzero(~rows.known).tolist():
        found = journal.known.get(_key(scope, items[row]))
        if found is None or all(least <= value <= most for value in found):
            rows.put([row], found)
        else:
            beyond += 1
    if beyond:
        said = f"{beyond} results are not from {least:g} to {most:g}"
        note(f"{journal.path}: {said}; they are computed anew")


class _Rows:
    """The values of items as they come, in one array, since there may be very many.

    Attributes
    ----------
    known : array of bool, shape [n]
        Which items have values.
    values : array, shape [n, k], or None
        ``None`` before the first, and for good once two items have unlike numbers of values.
    """

    def __init__(self, n: int) -> None:
        self.known = np.zeros(n, bool)
        self.values: NDArray[np.float64] | None = None

    def put(self, places: Sequence[int], found: Any) -> None:
        """Set the values of items: shape [places, k], or [k] of one; ``None`` sets none."""
        if found is None:
            return
        rows = np.asarray(found, np.float64).reshape(len(places), -1)
        if self.values is None and not self.known.any():
            self.values = np.empty((len(self.known), rows.shape[1]))
        if self.values is not None and self.values.shape[1] == rows.shape[1]:
            self.values[places] = rows
        else:
            self.values = None
        self.known[places] = True


class _Recall:
    """The run's cache for work of one kind; where there is none, it knows and keeps nothing."""

    def __init__(self, cache: Cache | None, address: Callable[[], str | None] | None) -> None:
        self._cache, self._address = cache, address

    def fill(self, rows: _Rows, items: Sequence[tuple[Any, ...]]) -> set[int]:
        """Put what is known into the rows that have no values; return which these are."""
        missing = np.flatnonzero(~rows.known).tolist()
        keys = self._keys([items[row] for row in missing])
        known = self._cache.get(keys) if self._cache and keys else {}
        found = {row: known[key] for row, key in zip(missing, keys) if key in known}
        for row, values in found.items():
            rows.put([row], values)
        return set(found)

    def keep(self, items: Sequence[tuple[Any, ...]], values: NDArray[np.float64]) -> None:
        """Keep what has been computed."""
        keys = self._keys(items)
        if self._cache and keys:
            self._cache.add(dict(zip(keys, values)))

    def _keys(self, items: Sequence[tuple[Any, ...]]) -> list[bytes]:
        address = self._address() if self._cache and self._address else None
        return [] if address is None else [key_of(address, item) for item in items]


def _key(scope: str, item: tuple[Any, ...]) -> str:
    text = json.dumps([scope, item])
    return hashlib.sha256(text.encode()).hexdigest()[:32]
