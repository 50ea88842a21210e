"""Many requests at once: each distinct one is sent once, and kept as soon as it is answered."""

from __future__ import annotations

import concurrent.futures as futures
from collections import deque
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from shroom.core.checksummed_lines import computed_anew
from shroom.core.problems import ShroomError
from shroom.detectors.judge.answers import Reply, reply_of
from shroom.detectors.judge.budget import Estimate, tokens_in

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from shroom.detectors.judge.budget import Budget, Reservation
    from shroom.detectors.judge.cache import Cache
    from shroom.inference.endpoint.client import Endpoint
    from shroom.inference.run import Run


class TooDear(ShroomError):  # noqa: N818 - it names what is the matter
    """The budget does not suffice."""


class Question(NamedTuple):
    """A request: what its answer is kept under, the prompt, and what is sent."""

    key: str
    prompt: str
    body: dict[str, Any]

    @property
    def tokens(self) -> tuple[int, int]:
        """About how many tokens go in, and how many may come out."""
        return tokens_in(self.prompt), int(self.body["max_tokens"])


def ask(
    questions: Sequence[Question],
    endpoint: Endpoint,
    cache: Cache,
    budget: Budget,
    *,
    concurrency: int,
    run: Run,
) -> list[Reply]:
    """Return the reply to each question, in their order; see :func:`answered`.

    Raises
    ------
    ShroomError
        Where the server refuses or is not there, or the budget does not suffice.
    """
    found: dict[str, Reply] = {}
    with closing(
        answered(questions, endpoint, cache, budget, concurrency=concurrency, run=run)
    ) as replies:
        for key, reply in replies:
            if isinstance(reply, ShroomError):
                raise reply
            found[key] = reply
    return [found[question.key] for question in questions]


def answered(
    questions: Sequence[Question],
    endpoint: Endpoint,
    cache: Cache,
    budget: Budget,
    *,
    concurrency: int,
    run: Run,
    read: Callable[[Any], Reply] = reply_of,
) -> Generator[tuple[str, Reply | ShroomError]]:
    """Yield the key of each distinct question with the reply, or why there is none.

    What the cache knows comes first, the others as they are answered. Threads do nothing but wait
    for the server; the cache, the budget and the progress are minded by the caller's thread. Where
    something stops the run, be it the budget, Ctrl-C or the end of the caller's interest, what is
    under way is waited for and kept, since it is paid for; a second Ctrl-C does not wait.

    Parameters
    ----------
    read : callable
        Makes a reply of what the server has sent; its :class:`ShroomError` is a question's own.

    Raises
    ------
    TooDear
        Where the budget does not suffice.
    """
    with cache.open():
        distinct = {question.key: question for question in questions}
        waiting = deque(q for key, q in distinct.items() if key not in cache.known)
        yield from [(key, cache.known[key]) for key in distinct if key in cache.known]
        if waiting:
            if cache.path and cache.damaged:
                run.note(computed_anew(cache.path, cache.damaged))
            rounds = _Rounds(endpoint, cache, budget, waiting, len(distinct), run, read)
            yield from rounds.go(concurrency)


def estimate(questions: Sequence[Question], cache: Cache, budget: Budget) -> Estimate:
    """Return what asking would take: what the cache knows is free."""
    distinct = {question.key: question for question in questions}
    known = cache.read().known
    waiting = [question for key, question in distinct.items() if key not in known]
    into = sum(question.tokens[0] for question in waiting)
    out = sum(question.tokens[1] for question in waiting)
    priced = None not in (budget.price_in, budget.price_out)
    cost = budget.cost((into, out)) if priced else None
    first = questions[0].prompt if questions else ""
    return Estimate(len(waiting), len(distinct) - len(waiting), into, out, cost, first)


class _Rounds:
    """The requests of one call while they are sent."""

    def __init__(
        self,
        endpoint: Endpoint,
        cache: Cache,
        budget: Budget,
        waiting: deque[Question],
        total: int,
        run: Run,
        read: Callable[[Any], Reply],
    ) -> None:
        self.endpoint, self.cache, self.budget = endpoint, cache, budget
        self.waiting, self.total, self.run = waiting, total, run
        self.read = read
        self.done = total - len(waiting)
        self.sent: dict[futures.Future[Reply], tuple[Question, Reservation]] = {}

    def go(self, concurrency: int) -> Iterator[tuple[str, Reply | ShroomError]]:
        """Send what waits, ``concurrency`` at a time, and yield what comes of it."""
        self.endpoint.stopped.clear()
        with futures.ThreadPoolExecutor(concurrency) as pool:
            try:
                while self.waiting or self.sent:
                    self._send(pool, concurrency)
                    finished, _ = futures.wait(self.sent, return_when=futures.FIRST_COMPLETED)
                    for future in finished:
                        yield self._taken(future)
                        self.run.report(self.done, self.total)
            except BaseException:
                self.endpoint.stopped.set()
                self._keep_the_rest()
                raise

    def _send(self, pool: futures.ThreadPoolExecutor, concurrency: int) -> None:
        """Send the next questions, as many as threads and budget let it."""
        while self.waiting and len(self.sent) < concurrency:
            reserved = self.budget.reserve(*self.waiting[0].tokens)
            if reserved is None:
                break
            question = self.waiting.popleft()
            self.sent[pool.submit(self._reply, question.body)] = question, reserved
        if not self.sent:  # what was under way may have come out cheaper than was reserved
            raise TooDear(self._too_dear())

    def _reply(self, body: dict[str, Any]) -> Reply:
        return self.read(self.endpoint.ask(body))

    def _taken(self, future: futures.Future[Reply]) -> tuple[str, Reply | ShroomError]:
        """Keep the reply of a request that has ended; return it, or why there is none."""
        question, reserved = self.sent.pop(future)
        try:
            reply = future.result()
        except ShroomError as error:
            self.budget.release(reserved)
            return question.key, error
        except BaseException:
            self.budget.release(reserved)
            raise
        self.budget.settle(reserved, reply.tokens)
        self.cache.add(question.key, reply)
        self.done += 1
        return question.key, reply

    def _keep_the_rest(self) -> None:
        """Keep the replies to what is still under way."""
        futures.wait(self.sent)
        for future in list(self.sent):
            if future.exception() is None:
                self._taken(future)

    def _too_dear(self) -> str:
        kept = f"kept in {self.cache.path}" if self.cache.path else "lost, for there is no cache"
        return (
            f"max_cost {self.budget.most:g}: the next request might exceed it; {self.done} of "
            f"{self.total} requests are answered and {kept}, and this run has cost about "
            f"{self.budget.spent:.4g}; give a higher max_cost to go on from there"
        )
