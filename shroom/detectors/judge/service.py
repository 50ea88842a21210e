"""A language model behind an endpoint, as every judge uses it."""

from __future__ import annotations

import concurrent.futures as futures
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from shroom.core.problems import ShroomError
from shroom.core.result_log import computed_anew
from shroom.detectors.judge.budget import Budget, Estimate, Reservation, tokens_in
from shroom.detectors.judge.cache import Cache, key_of
from shroom.detectors.judge.responses import Reply, reply_of
from shroom.detectors.judge.settings import BudgetSettings, EndpointSettings, PromptSettings
from shroom.inference.endpoint.client import Endpoint
from shroom.inference.run_settings import Run


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


class Service:
    """Sends requests to a model behind an endpoint, within a budget, and keeps the answers.

    Answers that another version of the code has read (``reading``) are requested again; ``shorter``
    is the advice if the server refuses a request as too long.
    """

    def __init__(
        self,
        prompt: PromptSettings,
        settings: EndpointSettings,
        budget: BudgetSettings,
        body: dict[str, Any],
        *,
        mode: str,
        reading: int | str,
        shorter: str,
    ) -> None:
        self.settings, self.budget = settings, Budget(budget)
        self.body, self.revision, self.reading = body, prompt.revision, reading
        self.endpoint = Endpoint(
            str(settings.endpoint),
            mode=mode,
            key_env=settings.api_key_env,
            timeout=settings.timeout,
            retries=settings.retries,
            per_minute=settings.per_minute,
            shorter=shorter,
        )

    def key(self, body: dict[str, Any]) -> str:
        """Return the digest of all that the answer to a request depends on."""
        return key_of(self.reading, self.endpoint.url, self.revision, body)

    def request(self, prompt: str, **fields: Any) -> Request:
        """Return the request for a prompt, with further fields."""
        body = {**self.body, **self.endpoint.prompt(prompt), **fields}
        return Request(self.key(body), prompt, body)

    def answered(
        self, requests: Sequence[Request], run: Run
    ) -> Generator[tuple[str, Reply | ShroomError]]:
        """Yield the key and the reply of each distinct request, or the reason for its failure.

        Replies from the cache come first, the others as they arrive. The threads only wait for the
        server; the caller's thread updates the cache, the budget and the progress. When the run
        stops, because of the budget, Ctrl-C or the caller, the requests under way are awaited and
        their replies kept, since they are paid for; a second Ctrl-C does not wait.

        Raises
        ------
        BudgetExhausted
            If the next request might exceed the maximum cost.
        """
        cache = self._cache()
        with cache.open():
            distinct = {request.key: request for request in requests}
            waiting = deque(
                request for key, request in distinct.items() if key not in cache.replies
            )
            yield from [(key, cache.replies[key]) for key in distinct if key in cache.replies]
            if waiting:
                if cache.path and cache.damaged:
                    run.note(computed_anew(cache.path, cache.damaged))
                sending = _Sending(self, cache, waiting, len(distinct), run)
                try:
                    yield from sending.run_all()
                finally:
                    for note in self.endpoint.notes():
                        run.note(note)

    def replies(self, requests: Sequence[Request], run: Run) -> list[Reply]:
        """Return the replies to requests, in their order.

        Raises
        ------
        ShroomError
            If any request fails, or the budget is exhausted.
        """
        replies: dict[str, Reply] = {}
        with closing(self.answered(requests, run)) as pairs:
            for key, reply in pairs:
                if isinstance(reply, ShroomError):
                    raise reply
                replies[key] = reply
        return [replies[request.key] for request in requests]

    def estimate(self, requests: Sequence[Request]) -> Estimate:
        """Return the cost of requests, without sending them; cached answers are free."""
        distinct = {request.key: request for request in requests}
        cached = self._cache().read().replies
        waiting = [request for key, request in distinct.items() if key not in cached]
        into = sum(request.tokens[0] for request in waiting)
        out = sum(request.tokens[1] for request in waiting)
        cost = self.budget.cost((into, out)) if self.budget.settings.priced else None
        first = requests[0].prompt if requests else ""
        return Estimate(len(waiting), len(distinct) - len(waiting), into, out, cost, first)

    def _cache(self) -> Cache:
        return Cache(self.settings.folder, f"{self.endpoint.url} {self.body['model']}")


class _Sending:
    """The requests of one run while they are sent; ``waiting`` are those not in the cache."""

    def __init__(
        self,
        service: Service,
        cache: Cache,
        waiting: deque[Request],
        total: int,
        run: Run,
    ) -> None:
        self.endpoint, self.budget = service.endpoint, service.budget
        self.concurrency = service.settings.concurrency
        self.cache, self.waiting, self.total, self.run = cache, waiting, total, run
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
                futures.wait(self.sent)
                for future in [sent for sent in self.sent if sent.exception() is None]:
                    self._taken(future)
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
        return reply_of(self.endpoint.ask(body))

    def _taken(self, future: futures.Future[Reply]) -> tuple[str, Reply | ShroomError]:
        """Keep and return the reply of a finished request, or return the reason for its failure."""
        request, reserved = self.sent.pop(future)
        try:
            reply = future.result()
        except BaseException as error:
            self.budget.settle(reserved, (0, 0))
            if isinstance(error, ShroomError):
                return request.key, error
            raise
        self.budget.settle(reserved, reply.tokens)
        self.cache.add(request.key, reply)
        self.done += 1
        return request.key, reply

    def _exhausted(self) -> str:
        storage = f"kept in {self.cache.path}" if self.cache.path else "lost, for there is no cache"
        most = self.budget.settings.max_cost
        return (
            f"max_cost {most:g}: the next request might exceed it; {self.done} of {self.total} "
            f"requests are answered and {storage}, and this run has cost about "
            f"{self.budget.spent:.4g}; give a higher max_cost to go on from there"
        )
