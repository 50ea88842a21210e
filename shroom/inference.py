"""The one place that runs a model over many items: batches by length, progress, resumption.

A detector says what its items are, how long each is and what the model makes of a batch; which
items go together, what is already known from an interrupted run and what to do when memory runs
out is decided here, alike for all.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from shroom.cache import key_of
from shroom.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from shroom.cache import Cache

#: How torch (on CUDA, MPS and the CPU) and ONNX Runtime say that memory does not suffice.
_NO_MEMORY = re.compile(r"out of memory|(allocate|not enough) memory|bad_alloc", re.IGNORECASE)
Item = TypeVar("Item", bound="tuple[Any, ...]")


def _silent(*_: object) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class Run:
    """How a prediction is run. Nothing here changes what is predicted.

    Attributes
    ----------
    batch_tokens : int
        The most tokens in one batch, padding included.
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
    """

    batch_tokens: int = 2048
    device: str | None = None
    report: Callable[[int, int], None] = _silent
    note: Callable[[str], None] = _silent
    journal: Journal | None = None
    cache: Cache | None = None


#: A run of no special kind.
RUN = Run()


class Journal:
    """What a run has computed so far, one line of json for each item, on disk as it comes.

    Parameters
    ----------
    path : path
        The file; made with the first entry.
    resume : bool
        Whether what is in the file counts; without, the file is begun anew.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "journal"
    >>> Journal(path).add([("a key", [0.5])])
    >>> Journal(path, resume=True).known
    {'a key': [0.5]}
    """

    def __init__(self, path: str | Path, *, resume: bool = False) -> None:
        self.path = Path(path)
        self.known: dict[str, list[float]] = {}
        if resume and self.path.is_file():
            self.known = dict(self._entries())
        elif self.path.exists():
            self.path.unlink()

    def add(self, entries: Sequence[tuple[str, list[float]]]) -> None:
        """Keep these keys and values."""
        self.known.update(entries)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.writelines(json.dumps(entry) + "\n" for entry in entries)

    def remove(self) -> None:
        """Forget everything: the run has ended well."""
        self.path.unlink(missing_ok=True)

    def _entries(self) -> Iterator[tuple[str, list[float]]]:
        """Yield the entries that are whole, and cut off what a killed run left half written."""
        whole = 0
        with self.path.open("rb") as stream:
            for line in stream:
                if line.endswith(b"\n"):
                    whole += len(line)
                    yield from _entry(line)
        os.truncate(self.path, whole)


def _entry(line: bytes) -> Iterator[tuple[str, list[float]]]:
    """Yield the key and the values of a line, or nothing where they are not sound."""
    try:
        key, values = json.loads(line)
        numbers = [float(value) for value in values]
    except (ValueError, TypeError, OverflowError):
        return
    if np.isfinite(numbers).all():
        yield str(key), numbers


def over(
    items: Sequence[Item],
    work: Callable[[list[Item]], NDArray[Any]],
    *,
    lengths: Sequence[int],
    scope: str,
    run: Run,
    address: Callable[[], str | None] | None = None,
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
    scope : str
        What else the values depend on, such as the model: part of the journal's keys.
    run : Run
        How it is run.
    address : callable, optional
        Returns all that the values depend on beside the item, by its content: weights, precision,
        device. It is asked anew after each batch, as the precision may change. Without it, or
        where it returns ``None``, the run's cache is not used.

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
    rows = _computed(distinct, [length[item] for item in distinct], work, scope, run, address)
    return rows[[place[item] for item in items]]


def _computed(
    items: list[Item],
    lengths: list[int],
    work: Callable[[list[Item]], NDArray[Any]],
    scope: str,
    run: Run,
    address: Callable[[], str | None] | None,
) -> NDArray[np.float64]:
    """Return the values of distinct items, the longest of which are first: shape [items, k]."""
    keys = [_key(scope, item) for item in items] if run.journal else []
    before = run.journal.known if run.journal else {}
    rows: list[NDArray[np.float64] | None] = [None] * len(items)
    for row, key in enumerate(keys):
        if key in before:
            rows[row] = np.array(before[key])
    cache = _Recall(run.cache, address)
    recalled = cache.fill(rows, items)
    if recalled:
        run.note(f"{recalled} of {len(items)} results are those of earlier runs, from the cache")
    waiting = [row for row, values in enumerate(rows) if values is None]
    start, tokens = 0, run.batch_tokens
    while start < len(waiting):
        stop = _end(lengths, waiting, start, tokens)
        batch = waiting[start:stop]
        values = _values([items[row] for row in batch], work)
        if values is None:  # the next ones would not fit either
            tokens = lengths[batch[0]] * len(batch) // 2
            continue
        for row, found in zip(batch, values):
            rows[row] = found
        if run.journal:
            run.journal.add([(keys[row], found.tolist()) for row, found in zip(batch, values)])
        cache.keep([items[row] for row in batch], values)
        start = stop
        run.report(len(items) - len(waiting) + start, len(items))
    found = [values for values in rows if values is not None]
    if len({values.shape for values in found}) > 1:
        place, option = (run.journal, "--resume") if run.journal else (run.cache, "the cache")
        where = place.path if place else "a run"
        raise ShroomError(f"{where}: holds what no run wrote; go on without {option}")
    return np.stack(found)


class _Recall:
    """The run's cache for work of one kind; where there is none, it knows and keeps nothing."""

    def __init__(self, cache: Cache | None, address: Callable[[], str | None] | None) -> None:
        self._cache, self._address = cache, address

    def fill(self, rows: list[NDArray[np.float64] | None], items: Sequence[tuple[Any, ...]]) -> int:
        """Put what is known into the rows that have no values; return how many it was."""
        missing = [row for row, values in enumerate(rows) if values is None]
        keys = self._keys([items[row] for row in missing])
        known = self._cache.get(keys) if self._cache and keys else {}
        for row, key in zip(missing, keys):
            rows[row] = known.get(key)
        return len(known)

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


def _values(
    batch: list[Item], work: Callable[[list[Item]], NDArray[Any]]
) -> NDArray[np.float64] | None:
    """Return the values of a batch, shape [batch, k], or ``None`` where memory does not suffice."""
    try:
        values = np.asarray(work(batch), np.float64).reshape(len(batch), -1)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not _NO_MEMORY.search(str(error)):
            raise
        if len(batch) == 1:
            raise ShroomError(
                "one datapoint alone does not fit into the device's memory: try --device cpu, or "
                "a smaller model"
            ) from error
        return None
    if not np.isfinite(values).all():
        raise ShroomError(
            "the model gave a value that is not a number; its weights may be damaged, or the "
            "device computes them wrongly: try --device cpu"
        )
    return values


def _key(scope: str, item: tuple[Any, ...]) -> str:
    text = json.dumps([scope, item])
    return hashlib.sha256(text.encode()).hexdigest()[:32]
