"""Batches of items of similar length, and computing several of them at the same time, in order."""

from __future__ import annotations

import os
import re
import sys
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Generic, TypeVar

import numpy as np

from shroom.core.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from numpy.typing import NDArray

Item = TypeVar("Item", bound="tuple[Any, ...]")
Result = TypeVar("Result")
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
    """Yield ranges of neighbours whose longest times their number is at most ``batch_tokens``.

    A longer item forms a batch of its own.

    Examples
    --------
    >>> list(batches([9, 4, 4, 2, 1], 8))
    [range(0, 1), range(1, 3), range(3, 5)]
    """
    start = 0
    while start < len(lengths):
        stop = _end(lengths, start, batch_tokens)
        yield range(start, stop)
        start = stop


def _end(lengths: Sequence[int], start: int, batch_tokens: int) -> int:
    """Return where the batch that begins at ``start`` ends."""
    longest = 0
    for place in range(start, len(lengths)):
        longest = max(longest, lengths[place])
        if place > start and longest * (place + 1 - start) > batch_tokens:
            return place
    return len(lengths)


def batched(
    items: list[Item],
    lengths: list[int],
    order: list[int],
    done: NDArray[np.bool_],
    work: Callable[[list[Item]], NDArray[Any]],
    tokens: int,
    workers: int,
    fall_back: Callable[[], bool],
) -> Generator[tuple[list[int], NDArray[np.float64]], None, None]:
    """Yield the rows and values, shape [batch, k], of one batch after the other.

    Parameters
    ----------
    items : list
        The inputs of ``work``.
    lengths : list of int
        The number of tokens of each item.
    order : list of int
        The rows of items that form batches; those of the longest items come first.
    done : array of bool, shape [items]
        The items that have values already: batches are formed with them, and computed without.
        It is read again for each batch.
    work : callable
        Takes a batch of items, returns an array with one row for each.
    tokens : int
        Maximum number of tokens in one batch; halved for the rest if memory does not suffice.
    workers : int
        The number of batches that are computed at the same time.
    fall_back : callable
        As for :func:`shroom.inference.computation.compute`.

    Raises
    ------
    ShroomError
        If a single item does not fit into memory, or a value is not finite.
    """
    ordered = [lengths[row] for row in order]
    start = scores = 0
    with Ahead[Any](workers) as ahead:
        while True:
            while start < len(order) and not ahead.full:
                stop = _end(ordered, start, tokens)
                size = (stop - start) * ordered[start] ** 2
                if ahead.waiting and scores + size > _MAX_SCORES:
                    break
                batch = [row for row in order[start:stop] if not done[row]]
                if batch:
                    scores += size
                    call = partial(_values, work, [items[row] for row in batch])
                    ahead.ask((start, batch, size), call)
                start = stop
            if not ahead.waiting:
                return
            (begin, batch, size), result = ahead.next()
            scores -= size
            try:
                values = result()
            except MemoryError as error:
                if len(batch) > 1:  # the next ones would not fit either
                    tokens = lengths[batch[0]] * len(batch) // 2
                elif ahead.workers > 1:
                    ahead.workers = 1
                else:
                    raise ShroomError(
                        "one datapoint alone does not fit into the device's memory: try --device "
                        "cpu, or a smaller model"
                    ) from error
            else:
                if np.isfinite(values).all():
                    yield batch, values
                    continue
                ahead.forget()
                if not fall_back():
                    raise ShroomError(
                        "the model gave a value that is not a number; its weights may be damaged, "
                        "or the device computes them wrongly: try --device cpu"
                    )
            finally:
                del result  # it refers to the memory of a failed call
            ahead.forget()
            start, scores = begin, 0


def _values(work: Callable[[list[Item]], NDArray[Any]], batch: list[Item]) -> NDArray[np.float64]:
    """Return the values of a batch, shape [batch, k]; MemoryError if memory does not suffice."""
    try:
        return np.asarray(work(batch), np.float64).reshape(len(batch), -1)
    except RuntimeError as error:
        if lacks_memory(error):
            raise MemoryError from error
        raise


class Ahead(Generic[Result]):
    """Calls that are made before their results are needed, in as many threads as workers.

    Several threads for one batch would wait for each other after every small step of a model. So
    each batch has one thread, and several batches are computed at the same time.

    Parameters
    ----------
    workers : int
        With one, a call is made in the caller's thread when its result is needed. With more, each
        has a thread in which torch starts no others.

    Attributes
    ----------
    workers : int
        May be lowered to 1.

    Examples
    --------
    >>> with Ahead(2) as ahead:
    ...     for n in (3, 4):
    ...         ahead.ask(f"{n} squared", lambda n=n: n * n)
    ...     while ahead.waiting:
    ...         name, result = ahead.next()
    ...         print(name, "is", result())
    3 squared is 9
    4 squared is 16
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._calls: deque[tuple[Any, Callable[[], Result], Future[Result] | None]] = deque()
        self._pool: ThreadPoolExecutor | None = None
        self._torch_threads = 0

    def __enter__(self) -> Ahead[Result]:
        if self.workers > 1:
            torch = sys.modules.get("torch")
            self._torch_threads = torch.get_num_threads() if torch else 0
            self._pool = ThreadPoolExecutor(self.workers, "batch", _set_torch_threads, (1,))
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool:
            self._pool.shutdown(cancel_futures=True)
            if self._torch_threads:  # what a thread sets holds for all threads that come after it
                _set_torch_threads(self._torch_threads)

    @property
    def waiting(self) -> int:
        """The number of results that have not been taken."""
        return len(self._calls)

    @property
    def full(self) -> bool:
        """Whether every worker has a call, and another call waits."""
        return self.waiting >= (self.workers + 1 if self.workers > 1 else 1)

    def ask(self, about: Any, call: Callable[[], Result]) -> None:
        """Submit a call; ``about`` is returned with its result."""
        future = self._pool.submit(call) if self._pool else None
        self._calls.append((about, future.result if future else call, future))

    def next(self) -> tuple[Any, Callable[[], Result]]:
        """Return ``about`` of the first call whose result was not taken, and a function for it.

        The function returns the result, or raises the exception of the call.
        """
        about, result, _ = self._calls.popleft()
        return about, result

    def forget(self) -> None:
        """Wait for the running calls, and discard all results."""
        wait([future for *_, future in self._calls if future and not future.cancel()])
        self._calls.clear()


def _set_torch_threads(n: int) -> None:
    torch = sys.modules.get("torch")
    if torch:
        torch.set_num_threads(n)
