"""Concurrent requests, whose replies are kept as they arrive."""

from __future__ import annotations

import concurrent.futures as futures
from typing import TYPE_CHECKING, Any, NamedTuple

from shroom.core.problems import ShroomError
from shroom.detectors.judge.budget import tokens_in

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Iterator

    from shroom.detectors.judge.budget import Reservation
    from shroom.detectors.judge.cache import Cache
    from shroom.detectors.judge.responses import Reply
    from shroom.detectors.judge.service import Service
    from shroom.inference.run import Run


class BudgetExhausted(ShroomError):  # noqa: N818 - it names a state
    """The next request might exceed the maximum cost."""


class Request(NamedTuple):
    """A request: the key of its answer in the cache, its prompt and its fields."""

    key: str
    prompt: str
    body: dict[str, Any]

    @property
    def tokens(self) -> tuple[int, int]:
        """Approximate number of input tokens, and maximum number of output tokens."""
        return tokens_in(self.prompt), int(self.body["max_tokens"])


class Sending:
    """The requests of one run while they are sent.

    Parameters
    ----------
    service : Service
        Where requests are sent, and what they may cost.
    cache : Cache
        Keeps the replies.
    waiting : deque of Request
        The requests that the cache does not answer.
    total : int
        Number of requests, including those that the cache answers.
    run : Run
        Receives the progress.
    read : callable
        Makes a reply of a decoded response.
    """

    def __init__(
        self,
        service: Service,
        cache: Cache,
        waiting: deque[Request],
        total: int,
        run: Run,
        read: Callable[[Any], Reply],
    ) -> None:
        self.endpoint, self.budget = service.endpoint, service.budget
        self.concurrency = service.settings.concurrency
        self.cache, self.waiting, self.total, self.run = cache, waiting, total, run
        self.read = read
        self.done = total - len(waiting)
        self.sent: dict[futures.Future[Reply], tuple[Request, Reservation]] = {}

    def run_all(self) -> Iterator[tuple[str, Reply | ShroomError]]:
        """Send the waiting requests, ``concurrency`` at a time, and yield their replies."""
        self.endpoint.stopped.clear()
        with futures.ThreadPoolExecutor(self.concurrency) as pool:
            try:
                while self.waiting or self.sent:
                    self._send(pool)
                    finished, _ = futures.wait(self.sent, return_when=futures.FIRST_COMPLETED)
                    for future in finished:
                        yield self._taken(future)
                        self.run.report(self.done, self.total)
            except BaseException:
                self.endpoint.stopped.set()
                self._keep_the_rest()
                raise

    def _send(self, pool: futures.ThreadPoolExecutor) -> None:
        """Send the next requests, as many as threads and budget allow."""
        while self.waiting and len(self.sent) < self.concurrency:
            reserved = self.budget.reserve(*self.waiting[0].tokens)
            if reserved is None:
                break
            request = self.waiting.popleft()
            self.sent[pool.submit(self._reply, request.body)] = request, reserved
        if not self.sent:  # requests under way may cost less than was reserved
            raise BudgetExhausted(self._exhausted())

    def _reply(self, body: dict[str, Any]) -> Reply:
        return self.read(self.endpoint.ask(body))

    def _taken(self, future: futures.Future[Reply]) -> tuple[str, Reply | ShroomError]:
        """Keep and return the reply of a finished request, or return the reason for its failure."""
        request, reserved = self.sent.pop(future)
        try:
            reply = future.result()
        except ShroomError as error:
            self.budget.release(reserved)
            return request.key, error
        except BaseException:
            self.budget.release(reserved)
            raise
        self.budget.settle(reserved, reply.tokens)
        self.cache.add(request.key, reply)
        self.done += 1
        return request.key, reply

    def _keep_the_rest(self) -> None:
        """Keep the replies to the requests under way."""
        futures.wait(self.sent)
        for future in list(self.sent):
            if future.exception() is None:
                self._taken(future)

    def _exhausted(self) -> str:
        kept = f"kept in {self.cache.path}" if self.cache.path else "lost, for there is no cache"
        most = self.budget.settings.max_cost
        return (
            f"max_cost {most:g}: the next request might exceed it; {self.done} of {self.total} "
            f"requests are answered and {kept}, and this run has cost about "
            f"{self.budget.spent:.4g}; give a higher max_cost to go on from there"
        )
