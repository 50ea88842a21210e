"""Running a model over many items: batches by length, a worker for each core, storing, progress.

It decides for all detectors which items share a batch, which are stored already, and what to do
if memory runs out.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shroom.core.problems import ShroomError
from shroom.core.version import __version__
from shroom.inference.run_settings import Run
from shroom.inference.store import Store

Item = TypeVar("Item")
Work = Callable[[list[Item]], NDArray[Any]]
Values = NDArray[np.float64]
Lengths = Sequence[int] | NDArray[np.integer[Any]]

#: The messages of torch (on CUDA, MPS and the CPU) and ONNX Runtime if memory does not suffice.
_NO_MEMORY = re.compile(
    r"out of memory|(allocate|not enough) memory|bad_alloc|STATUS_ALLOC_FAILED", re.IGNORECASE
)
#: Maximum number of attention scores of one head in all batches that are computed at a time, as for
#: a single text of 4096 tokens, which needs 0.8 GiB with 12 heads.
_MAX_SCORES = 4096**2
#: The number of items that are looked up at a time in a store.
_SLICE = 1000
#: Number of batches after which freed memory is returned to the system.
_BATCHES_BETWEEN_TRIMS = 64
#: The processor time that a container may use in a period: microseconds or ``max``.
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def compute(
    items: Sequence[Item],
    work: Work[Item],
    *,
    lengths: Lengths,
    scope: Callable[[], str | None],
    run: Run,
    precision: str = "float32",
    workers: int = 1,
) -> Values:
    """Return the model's values of each item; equal items are computed once.

    Parameters
    ----------
    items : sequence, length n
        The model's inputs: texts, or tuples that JSON can represent.
    work : callable
        Takes a batch of items, returns an array with one row for each: shape [batch] or [batch, k].
    lengths : sequence of int, length n
        Tokens of each item. Items of similar length share a batch, the longest come first.
    scope : callable
        Returns a text that identifies everything that the values depend on besides the items, by
        content, so that it is the same on any machine; ``None`` if it is unknown and nothing can be
        stored. It is called only if there is a store, because reading weights takes time.
    run : Run
        The settings of the run.
    precision : str
        The number format that the model computes in.
    workers : int
        The number of batches that are computed at the same time, each in its own thread on its own
        core. Neither the batches nor the order in which they are stored depend on it.

    Returns
    -------
    array, shape [n, k]
        With k = 1 if ``work`` gives one value for an item; shape [0, 1] without items.

    Raises
    ------
    ShroomError
        If a value is not finite, or a single item does not fit into memory.

    Examples
    --------
    >>> from shroom.inference.run_settings import RUN
    >>> def letters(batch):
    ...     return np.array([len(text) for text in batch])
    >>> texts = ["a", "bcd", "a"]
    >>> compute(texts, letters, lengths=[1, 3, 1], scope=lambda: "letters", run=RUN)[:, 0]
    array([1., 3., 1.])
    """
    if not items:
        return np.empty((0, 1))
    # Each distinct item has a number. A dictionary of items and values would need more memory than
    # the texts.
    numbers: dict[Item, int] = {}
    row = np.array([numbers.setdefault(item, len(numbers)) for item in items], np.int32)
    distinct = list(numbers)
    del numbers
    length = np.empty(len(distinct), np.int64)
    length[row] = np.maximum(lengths, 1)
    stores, content = run.stores, scope() if run.stores else None
    if stores and content is None:
        run.note("the version of the model is unknown, so its results are not stored")
        stores = ()
    place = f"{__version__} {precision} {content}"
    known = _looked_up(stores, place, distinct)  # bytes need less memory than arrays
    missing = np.array([number for number, value in enumerate(known) if not value], np.intp)
    order = missing[np.argsort(-length[missing], kind="stable")].tolist()
    done = len(distinct) - len(order)

    def by_number(batch: list[int]) -> NDArray[Any]:
        return work([distinct[number] for number in batch])

    with closing(_computed(order, length.tolist(), by_number, run.tokens, workers)) as computed:
        for n, (batch, values) in enumerate(computed, start=1):
            for number, value in zip(batch, values):
                known[number] = value.tobytes()
            for store in stores:
                store.put(place, {distinct[number]: known[number] for number in batch})
            done += len(batch)
            run.report(done, len(distinct))
            if n % _BATCHES_BETWEEN_TRIMS == 0:
                give_back()
    run.precisions.add(precision)
    if len(set(map(len, known))) > 1:
        raise ShroomError(
            "the stored results of the earlier run cannot be used here; omit --resume"
        )
    found = np.frombuffer(b"".join(known)).reshape(len(known), -1)
    known.clear()
    return found[row]


def _looked_up(stores: Iterable[Store], place: str, items: Sequence[Item]) -> list[bytes]:
    """Return the stored values of each item; empty if it has none."""
    known = [b""] * len(items)
    for store in stores:
        missing = [number for number, value in enumerate(known) if not value]
        for start in range(0, len(missing), _SLICE):
            part = missing[start : start + _SLICE]
            values = store.get(place, [items[number] for number in part])
            for number in part:
                known[number] = values.get(items[number], b"")
    return known


def batches(items: Sequence[Item], length: Any, tokens: int) -> Iterator[list[Item]]:
    """Yield batches of neighbours; the longest length times the number is at most ``tokens``."""
    # ``length[item]`` is the number of an item's tokens; the longest items come first.
    start = 0
    while start < len(items):
        size = max(1, tokens // length[items[start]])
        yield list(items[start : start + size])
        start += size


def threads() -> int:
    """Return ``OMP_NUM_THREADS``, otherwise the cores that the process may use, at least 1."""
    # More than the container's share of time would wait for each other.
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if asked.isdecimal() and int(asked):
        return int(asked)
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    with suppress(OSError, ValueError, ZeroDivisionError):  # there is no limit
        quota, period = _QUOTA.read_text(encoding="ascii").split()
        return max(1, min(cores, -(-int(quota) // int(period))))
    return cores


def lacks_memory(error: BaseException) -> bool:
    """Return whether an error reports a lack of memory."""
    return isinstance(error, MemoryError) or bool(_NO_MEMORY.search(str(error)))


def give_back() -> None:
    """Return freed memory to the system if the C library keeps it."""
    # Batches have ever new sizes: after thousands, the retained memory is as large as the model.
    with suppress(OSError, TypeError, AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)


def _computed(
    items: Sequence[int], length: Sequence[int], work: Work[int], tokens: int, workers: int
) -> Generator[tuple[list[int], Values], None, None]:
    """Yield batches with their values, [batch, k]."""
    running: deque[tuple[list[int], Future[Values]]] = deque()

    def scores(batch: list[int]) -> int:
        return len(batch) * length[batch[0]] ** 2

    def finished() -> tuple[list[int], Values]:
        batch, future = running.popleft()
        values = future.result()
        if not np.isfinite(values).all():
            raise ShroomError(
                "the model returned a value that is not a finite number; try --precision float32 "
                "and --device cpu, or download the model again: its weights may be damaged"
            )
        return batch, values

    # Threads for one batch would wait for each other after every small step of a model, so each
    # batch has one. With one worker, torch has the threads that it had.
    torch = sys.modules.get("torch") if workers > 1 else None
    before = torch.get_num_threads() if torch else 0
    one_thread = partial(torch.set_num_threads, 1) if torch else None
    pool = ThreadPoolExecutor(workers, "batch", initializer=one_thread)
    try:
        for batch in batches(items, length, tokens):
            while running and (
                len(running) > workers
                or scores(batch) + sum(scores(each) for each, _ in running) > _MAX_SCORES
            ):
                yield finished()
            running.append((batch, pool.submit(_values, work, batch)))
        while running:
            yield finished()
    finally:
        pool.shutdown(cancel_futures=True)
        if torch:  # what a thread sets holds for all threads that come after it
            torch.set_num_threads(before)


def _values(work: Work[Item], batch: list[Item]) -> Values:
    """Return the values of a batch, shape [batch, k], in halves if memory does not suffice."""
    try:
        return np.asarray(work(batch), np.float64).reshape(len(batch), -1)
    except (MemoryError, RuntimeError) as error:
        if not lacks_memory(error):
            raise
        if len(batch) == 1:
            raise ShroomError(
                "a single datapoint does not fit into the device's memory; use --device cpu or a "
                "smaller model"
            ) from error
    # Here, the error no longer refers to the memory of the call.
    half = len(batch) // 2
    return np.concatenate([_values(work, batch[:half]), _values(work, batch[half:])])
