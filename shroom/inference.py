"""The one place that runs a model over many items: batches by length, progress, resumption.

A detector says what its items are, how long each is and what the model makes of a batch; which
items go together, what is already known from an interrupted run and what to do when memory runs
out is decided here, alike for all.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from shroom.ahead import Ahead
from shroom.cache import key_of
from shroom.cores import give_back
from shroom.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from numpy.typing import NDArray

    from shroom.cache import Cache
    from shroom.journal import Journal

#: How torch (on CUDA, MPS and the CPU) and ONNX Runtime say that memory does not suffice.
NO_MEMORY = re.compile(r"out of memory|(allocate|not enough) memory|bad_alloc", re.IGNORECASE)
Item = TypeVar("Item", bound="tuple[Any, ...]")


def _silent(*_: object) -> None:
    """Say nothing."""


#: The most tokens in one batch: what lies in a processor's cache, and what fills a GPU.
BATCH_TOKENS = {"cpu": 384, "cuda": 32768, "mps": 8192}
#: The most numbers that the attention of a head has for all batches computed at a time: those of a
#: single text of 4096 tokens, which take 0.8 GiB with 12 heads.
_SCORES = 4096**2
#: After how many batches freed memory is given back.
_OFTEN = 64


class Again(Exception):  # noqa: N818 - it asks for something, and is no error
    """Raised of a batch by work that has to change before it can compute it.

    Parameters
    ----------
    change : callable
        Called when everything before the batch has been computed, and nothing behind it.
    """

    def __init__(self, change: Callable[[], None]) -> None:
        super().__init__()
        self.change = change


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
    precision : str
        What a classifier computes in, one of :data:`shroom.precision.PRECISIONS`: by default the
        fastest that agrees with float32.
    """

    batch_tokens: int | None = None
    device: str | None = None
    report: Callable[[int, int], None] = _silent
    note: Callable[[str], None] = _silent
    journal: Journal | None = None
    cache: Cache | None = None
    precision: str = "auto"

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
        return Run(self.batch_tokens, self.device, precision=self.precision)


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
    rows = _computed(distinct, sizes, partial(_values, work), said, run, address, workers)
    return rows[[place[item] for item in items]]


def _computed(
    items: list[Item],
    lengths: list[int],
    values_of: Callable[[list[Item]], NDArray[np.float64]],
    scope: Callable[[], str],
    run: Run,
    address: Callable[[], str | None] | None,
    workers: int,
) -> NDArray[np.float64]:
    """Return the values of distinct items, the longest of which are first: shape [items, k]."""
    rows = _Rows(len(items))
    if run.journal and run.journal.known:
        told = scope()
        for row, item in enumerate(items):
            rows.put([row], run.journal.known.get(_key(told, item)))
    cache = _Recall(run.cache, address)
    recalled = cache.fill(rows, items)
    if recalled:
        share = f"{len(recalled)} of {len(items)} results"
        run.note(f"{share} are those of earlier runs, from the cache")
    # Batches are those that a run without a stop would form, so that its very values come out.
    order = [row for row in range(len(items)) if row not in recalled]
    with closing(
        _batched(items, lengths, order, rows.known, values_of, run.tokens, workers)
    ) as computed:
        for done, (batch, values) in enumerate(computed, start=1):
            rows.put(batch, values)
            part = [items[row] for row in batch]
            if run.journal:
                told = scope()
                keys = [_key(told, item) for item in part]
                run.journal.add(list(zip(keys, values.tolist())))
            cache.keep(part, values)
            run.report(int(rows.known.sum()), len(items))
            if done % _OFTEN == 0:
                give_back()
    if rows.values is None:
        place, option = (run.journal, "--resume") if run.journal else (run.cache, "the cache")
        where = place.path if place else "a run"
        raise ShroomError(f"{where}: holds what no run wrote; go on without {option}")
    return rows.values


def _batched(
    items: list[Item],
    lengths: list[int],
    order: list[int],
    known: NDArray[np.bool_],
    values_of: Callable[[list[Item]], NDArray[np.float64]],
    tokens: int,
    workers: int,
) -> Generator[tuple[list[int], NDArray[np.float64]], None, None]:
    """Yield the rows and values of one batch after the other, without those that are known."""
    start = scores = 0
    with Ahead[Any](workers) as ahead:
        while True:
            while start < len(order) and not ahead.full:
                stop = _end(lengths, order, start, tokens)
                size = (stop - start) * lengths[order[start]] ** 2
                if ahead.waiting and scores + size > _SCORES:
                    break
                batch = [row for row in order[start:stop] if not known[row]]
                if batch:
                    scores += size
                    call = partial(values_of, [items[row] for row in batch])
                    ahead.ask((start, batch, size), call)
                start = stop
            if not ahead.waiting:
                return
            (begun, batch, size), result = ahead.next()
            scores -= size
            try:
                values = result()
            except (Again, MemoryError) as error:
                ahead.forget()
                start, scores = begun, 0
                if isinstance(error, Again):
                    error.change()
                elif len(batch) > 1:  # the next ones would not fit either
                    tokens = lengths[batch[0]] * len(batch) // 2
                elif ahead.workers > 1:
                    ahead.workers = 1
                else:
                    raise ShroomError(
                        "one datapoint alone does not fit into the device's memory: try --device "
                        "cpu, or a smaller model"
                    ) from error
                continue
            finally:
                del result  # it holds on to what a failed call had in memory
            yield batch, values


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


def batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[range]:
    """Yield ranges of neighbours whose longest times their number is at most ``batch_tokens``.

    An item that is longer by itself has a batch of its own.

    Examples
    --------
    >>> list(batches([9, 4, 4, 2, 1], 8))
    [range(0, 1), range(1, 3), range(3, 5)]
    """
    start = 0
    while start < len(lengths):
        stop = _end(lengths, range(len(lengths)), start, batch_tokens)
        yield range(start, stop)
        start = stop


def _end(lengths: Sequence[int], order: Sequence[int], start: int, batch_tokens: int) -> int:
    """Return where the batch that begins at ``start`` ends."""
    longest = 0
    for place in range(start, len(order)):
        longest = max(longest, lengths[order[place]])
        if place > start and longest * (place + 1 - start) > batch_tokens:
            return place
    return len(order)


def _values(work: Callable[[list[Item]], NDArray[Any]], batch: list[Item]) -> NDArray[np.float64]:
    """Return the values of a batch, shape [batch, k]; MemoryError where memory does not suffice."""
    try:
        values = np.asarray(work(batch), np.float64).reshape(len(batch), -1)
    except RuntimeError as error:
        if NO_MEMORY.search(str(error)):
            raise MemoryError from error
        raise
    if not np.isfinite(values).all():
        raise ShroomError(
            "the model gave a value that is not a number; its weights may be damaged, or the "
            "device computes them wrongly: try --device cpu"
        )
    return values


def _key(scope: str, item: tuple[Any, ...]) -> str:
    text = json.dumps([scope, item])
    return hashlib.sha256(text.encode()).hexdigest()[:32]
