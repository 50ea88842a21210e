"""Batches of items of similar length, several of which are computed at the same time."""

from __future__ import annotations

import os
import re
import sys
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from shroom.core.problems import ShroomError

Values = NDArray[np.float64]

Item = TypeVar("Item", bound="tuple[Any, ...]")
#: The messages of torch (on CUDA, MPS and the CPU) and ONNX Runtime where memory does not suffice.
_NO_MEMORY = re.compile(
    r"out of memory|(allocate|not enough) memory|bad_alloc|STATUS_ALLOC_FAILED", re.IGNORECASE
)
#: Maximum number of attention scores of one head in all batches that are computed at a time: those
#: of a single text of 4096 tokens, which take 0.8 GiB with 12 heads.
_MAX_SCORES = 4096**2
#: Maximum number of threads: no machine has more cores.
_MAX_THREADS = 1024
#: The processor time that a container may use: microseconds, or ``max``, in each period.
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def lacks_memory(error: BaseException) -> bool:
    """Return whether an error reports a lack of memory."""
    return isinstance(error, MemoryError) or bool(_NO_MEMORY.search(str(error)))


def threads() -> int:
    """Return the number of threads for the cores of this process, at least 1.

    ``OMP_NUM_THREADS`` counts if it is set. Otherwise it is the number of cores that the process
    may use, at most the container's share of time: more threads would wait for each other.
    """
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if asked.isdecimal() and int(asked):
        return min(int(asked), _MAX_THREADS)
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text(encoding="ascii").split()
        return max(1, min(cores, -(-int(quota) // int(period))))
    except (OSError, ValueError, ZeroDivisionError):  # there is no limit
        return cores


def batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[range]:
    """Yield ranges of neighbours, of which the longest times their number is ``batch_tokens``.

    The longest come first. An item that is longer than ``batch_tokens`` forms a batch of its own.

    Examples
    --------
    >>> list(batches([9, 4, 4, 2, 1], 8))
    [range(0, 1), range(1, 3), range(3, 5)]
    """
    start = 0
    while start < len(lengths):
        batch = _batch(lengths, start, batch_tokens)
        yield batch
        start = batch.stop


def _batch(lengths: Sequence[int], start: int, batch_tokens: int) -> range:
    """Return the batch that begins at ``start``."""
    size = max(1, batch_tokens // max(1, lengths[start]))
    return range(start, min(start + size, len(lengths)))


class _Running(NamedTuple):
    """A batch that is being computed; its values are ``None`` if it does not fit into memory."""

    batch: range
    scores: int
    values: Future[Values | None]


def computed(
    items: list[Item],
    lengths: Sequence[int],
    work: Callable[[list[Item]], NDArray[Any]],
    tokens: int,
    workers: int,
) -> Generator[tuple[range, Values], None, None]:
    """Yield the places and values, shape [batch, k], of one batch after the other.

    ``items`` are sorted by ``lengths``, the longest first; ``work`` gives a row for each. A batch
    has at most so many ``tokens``, and half of them once memory has not sufficed.
    """
    running: deque[_Running] = deque()
    ahead, start = workers + 1, 0
    with side_by_side(workers) as submit:
        while start < len(items) or running:
            if start < len(items):
                batch = _batch(lengths, start, tokens)
                scores = len(batch) * lengths[start] ** 2
                fits = scores + sum(each.scores for each in running) <= _MAX_SCORES
                if not running or (len(running) < ahead and fits):
                    values = submit(_values, work, items[start : batch.stop])
                    running.append(_Running(batch, scores, values))
                    start = batch.stop
                    continue
            batch, _, future = running.popleft()
            found = future.result()
            if found is None:  # the next ones would not fit either
                wait([each.values for each in running])
                if len(batch) > 1:
                    tokens = min(tokens, lengths[batch.start] * len(batch) // 2)
                else:
                    ahead = 1
                found = _alone(work, items[batch.start : batch.stop])
            if not np.isfinite(found).all():
                raise ShroomError(
                    "the model gave a value that is not a number; its weights may be damaged, or "
                    "the device computes them wrongly: try --device cpu, and --precision float32 "
                    "if it computes in 16 bits"
                )
            yield batch, found


@contextmanager
def side_by_side(workers: int) -> Iterator[Callable[..., Future[Any]]]:
    """Give a function that starts a call in one of some threads, and returns its future.

    Several threads for one batch would wait for each other after every small step of a model. So
    each batch has one thread, and several batches are computed at the same time. With one worker,
    torch has the threads that it had.
    """
    torch = sys.modules.get("torch") if workers > 1 else None
    before = torch.get_num_threads() if torch else 0
    alone = (_set_torch_threads, (1,)) if workers > 1 else ()
    pool = ThreadPoolExecutor(workers, "batch", *alone)
    try:
        yield pool.submit
    finally:
        pool.shutdown(cancel_futures=True)
        if before:  # what a thread sets holds for all threads that come after it
            _set_torch_threads(before)


def _set_torch_threads(n: int) -> None:
    torch = sys.modules.get("torch")
    if torch:
        torch.set_num_threads(n)


def _values(work: Callable[[list[Item]], NDArray[Any]], batch: list[Item]) -> Values | None:
    """Return the values of a batch, shape [batch, k], or ``None`` if memory does not suffice."""
    try:
        return np.asarray(work(batch), np.float64).reshape(len(batch), -1)
    except (MemoryError, RuntimeError) as error:
        if not lacks_memory(error):
            raise
        return None  # without the error, which refers to the memory of the call


def _alone(work: Callable[[list[Item]], NDArray[Any]], batch: list[Item]) -> Values:
    """Return the values of a batch while nothing else is computed, in halves if it must be."""
    values = _values(work, batch)
    if values is not None:
        return values
    if len(batch) == 1:
        raise ShroomError(
            "one datapoint alone does not fit into the device's memory: try --device cpu, or a "
            "smaller model"
        )
    half = len(batch) // 2
    return np.concatenate([_alone(work, batch[:half]), _alone(work, batch[half:])])
