"""Which items go together through a model, and computing them so: halving, and side by side."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from shroom.core.problems import ShroomError
from shroom.inference.ordered_pool import Ahead

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from numpy.typing import NDArray

Item = TypeVar("Item", bound="tuple[Any, ...]")
#: How torch (on CUDA, MPS and the CPU) and ONNX Runtime say that memory does not suffice.
_NO_MEMORY = re.compile(
    r"out of memory|(allocate|not enough) memory|bad_alloc|STATUS_ALLOC_FAILED", re.IGNORECASE
)
#: The most numbers that the attention of a head has for all batches computed at a time: those of a
#: single text of 4096 tokens, which take 0.8 GiB with 12 heads.
_SCORES = 4096**2


def lacks_memory(error: BaseException) -> bool:
    """Return whether an error says that memory does not suffice."""
    return isinstance(error, MemoryError) or bool(_NO_MEMORY.search(str(error)))


def batched(
    items: list[Item],
    lengths: list[int],
    order: list[int],
    known: NDArray[np.bool_],
    work: Callable[[list[Item]], NDArray[Any]],
    tokens: int,
    workers: int,
    fall_back: Callable[[], bool],
) -> Generator[tuple[list[int], NDArray[np.float64]], None, None]:
    """Yield the rows and values, shape [batch, k], of one batch after the other.

    Parameters
    ----------
    items : list
        What ``work`` is given.
    lengths : list of int
        Tokens of each item.
    order : list of int
        The rows of items, the longest of which are first.
    known : array of bool, shape [items]
        Which have values already: batches are formed with them, and computed without.
    work : callable
        Takes a batch of items, gives an array with one row for each.
    tokens : int
        The most in one batch; halved for good where memory does not suffice.
    workers : int
        How many batches are computed at the same time.
    fall_back : callable
        As for :func:`shroom.inference.computation.compute`.

    Raises
    ------
    ShroomError
        Where a single item does not fit into memory, or a value is not finite.
    """
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
                    call = partial(_values, work, [items[row] for row in batch])
                    ahead.ask((start, batch, size), call)
                start = stop
            if not ahead.waiting:
                return
            (begun, batch, size), result = ahead.next()
            scores -= size
            try:
                values = result()
            except MemoryError as error:
                ahead.forget()
                start, scores = begun, 0
                if len(batch) > 1:  # the next ones would not fit either
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
                del result  # it keeps what a failed call had in memory
            if np.isfinite(values).all():
                yield batch, values
                continue
            ahead.forget()
            start, scores = begun, 0
            if not fall_back():
                raise ShroomError(
                    "the model gave a value that is not a number; its weights may be damaged, or "
                    "the device computes them wrongly: try --device cpu"
                )


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
        if lacks_memory(error):
            raise MemoryError from error
        raise
    return values
