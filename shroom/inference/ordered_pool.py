"""Computing ahead: several calls at the same time, their results in the order of the calls."""

from __future__ import annotations

import sys
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Lock
from typing import TYPE_CHECKING, Any, Callable, Generic, TypeVar

if TYPE_CHECKING:
    from types import TracebackType

Result = TypeVar("Result")
#: How many threads torch had when the first of those began that are open now.
_BEFORE: list[int] = []
_LOCK = Lock()


class Ahead(Generic[Result]):
    """Calls made before their results are wanted, as many at a time as there are workers.

    A model's small steps leave most of its threads waiting for each other. Batches do not: each
    has a thread to itself, so that the cores are busy whatever the steps are.

    Parameters
    ----------
    workers : int
        With one, a call is made in the caller's own thread when its result is wanted. With more,
        each has a thread in which torch may not start others.

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

    def __enter__(self) -> Ahead[Result]:
        if self.workers > 1:
            torch = sys.modules.get("torch")
            with _LOCK:
                _BEFORE.append(_BEFORE[0] if _BEFORE else torch.get_num_threads() if torch else 0)
            self._pool = ThreadPoolExecutor(self.workers, initializer=_alone)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._pool:
            return
        try:
            self._pool.shutdown(cancel_futures=True)
        finally:
            with _LOCK:
                threads = _BEFORE.pop()
                if threads and not _BEFORE:  # a thread's setting applies to those after it
                    sys.modules["torch"].set_num_threads(threads)

    @property
    def waiting(self) -> int:
        """How many results have not been taken."""
        return len(self._calls)

    @property
    def full(self) -> bool:
        """Whether every worker has a call, and another one waits for the first that is free."""
        return self.waiting >= (self.workers + 1 if self.workers > 1 else 1)

    def ask(self, about: Any, call: Callable[[], Result]) -> None:
        """Have a call made; ``about`` comes back with its result."""
        future = self._pool.submit(call) if self._pool else None
        self._calls.append((about, future.result if future else call, future))

    def next(self) -> tuple[Any, Callable[[], Result]]:
        """Return what the first call is about that has not been taken, and how to get its result.

        Whatever the call raises comes with the result.
        """
        about, call, _ = self._calls.popleft()
        return about, call

    def forget(self) -> None:
        """Wait for what is being computed, and take none of it."""
        running = [future for *_, future in self._calls if future and not future.cancel()]
        wait(running)
        self._calls.clear()


def _alone() -> None:
    """Let torch use no other threads in this one."""
    torch = sys.modules.get("torch")
    if torch:
        torch.set_num_threads(1)
