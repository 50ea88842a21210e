"""A language model behind an endpoint, with a cache, a budget and concurrent requests."""

from __future__ import annotations

import concurrent.futures as futures
import json
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from shroom.core.problems import ShroomError
from shroom.inference.language_model.endpoint import Endpoint
from shroom.inference.language_model.model import (
    Estimate,
    Question,
    Reply,
    Sampling,
    places_of,
    reply_of,
    store,
    stored,
    tokens_in,
)
from shroom.inference.run_settings import RUN, Run
from shroom.inference.store import RunStore, Store

#: The name of the file of answers, and the most bytes that it takes: what is paid for stays.
_NAME, _MOST = "answers.sqlite", 1 << 40
#: After so many failures in a row, no further requests are sent.
HOPELESS = 50

#: The prompt and the seed of a request.
_Key = tuple[str, "int | None"]
#: Requests under way.
_Sent = dict["futures.Future[Reply | ShroomError]", _Key]


@dataclass
class Budget:
    """Accepts requests while their total cost is at most the maximum."""

    #: Prices of a million input and output tokens.
    price_in: float | None = None
    price_out: float | None = None
    #: The maximum cost.
    most: float | None = None
    spent: float = 0.0
    _reserved: float = 0.0
    _ratio: float = 1.0
    _lock: Lock = field(default_factory=Lock)

    def cost(self, into: float, out: float) -> float:
        """Return the cost of input and output tokens; 0 without prices."""
        return (into * (self.price_in or 0) + out * (self.price_out or 0)) / 1e6

    def reserve(self, into: int, out: int) -> float | None:
        """Reserve and return the cost of a request; ``None`` if it might exceed the maximum."""
        with self._lock:
            cost = self.cost(into * self._ratio, out)
            total = self.spent + self._reserved + cost
            # Sums are inexact in the last digit.
            if self.most is not None and total > self.most * (1 + 1e-9):
                return None
            self._reserved += cost
            return cost

    def settle(self, into: int, reserved: float, used: tuple[int, int] | None) -> None:
        """Count the tokens that the server reports, or the reserve; ``into`` is an estimate."""
        with self._lock:
            self._reserved = max(0.0, self._reserved - reserved)
            self.spent += self.cost(*used) if used else reserved
            if used and into:
                # If texts have more tokens than estimated, later estimates are raised accordingly.
                self._ratio = max(self._ratio, used[0] / into)


@dataclass
class Served:
    """Asks a model behind an endpoint, within a budget."""

    # Each thread stores the answers that it receives, and counts their cost. When the run stops,
    # requests under way are awaited, as they are paid for; a second Ctrl-C does not wait.
    # ``unsent`` fields are left to the server's own values; ``more`` are further ones.

    name: str
    revision: str | None
    endpoint: Endpoint
    sampling: Sampling
    budget: Budget
    folder: Path | None
    concurrency: int = 8
    logprobs: int | None = None
    system: str | None = None
    unsent: Sequence[str] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """The model's name and revision; a server does not report its weights."""
        return "@".join(filter(None, (self.name, self.revision)))

    def answers(
        self, questions: Sequence[Question], run: Run = RUN
    ) -> Generator[tuple[int, Reply | ShroomError]]:
        """Yield the place of each question with its answer, or the reason for its failure."""
        # After many failures in a row, or if the maximum cost would be exceeded, the others fail.
        places, stores = places_of(map(self._key, questions)), self._stores(run)
        known = stored(stores, self._scope, places)
        for key, known_reply in known.items():
            yield from ((place, known_reply) for place in places[key])
        new = deque(key for key in places if key not in known)
        if new:
            for key, reply in self._requested(new, len(known), stores, run):
                yield from ((place, reply) for place in places[key])

    def estimate(self, questions: Sequence[Question], run: Run = RUN) -> Estimate:
        """Return the requests for answers and their cost; stored answers are free."""
        keys = list(dict.fromkeys(map(self._key, questions)))
        known = stored(self._stores(run), self._scope, keys)
        new = [prompt for prompt, seed in keys if (prompt, seed) not in known]
        into, out = sum(map(tokens_in, new)), len(new) * self.sampling.max_tokens
        unknown = None in (self.budget.price_in, self.budget.price_out)
        cost = None if unknown else self.budget.cost(into, out)
        return Estimate(len(new), len(known), into, out, cost, keys[0][0] if keys else "")

    def _requested(
        self, waiting: deque[_Key], done: int, stores: Sequence[Store], run: Run
    ) -> Iterator[tuple[_Key, Reply | ShroomError]]:
        """Yield the answers to requests as they arrive; ``done`` is the number of stored ones."""
        sent: _Sent = {}
        total, failing, why = done + len(waiting), 0, ""
        self.endpoint.stopped.clear()
        with futures.ThreadPoolExecutor(self.concurrency) as pool:
            try:
                while True:
                    if not why:
                        self._send(waiting, sent, pool, stores)
                    if not sent:  # requests under way may cost less than was reserved
                        break
                    finished, _ = futures.wait(sent, return_when=futures.FIRST_COMPLETED)
                    for future in finished:
                        key, reply = sent.pop(future), future.result()
                        failed = isinstance(reply, ShroomError)
                        failing, done = (failing + 1, done) if failed else (0, done + 1)
                        if failing == HOPELESS:
                            why = f"not sent, because {HOPELESS} requests in a row failed: {reply}"
                        yield key, reply
                        run.report(done, total)
            finally:
                self.endpoint.stopped.set()  # nothing is sent any more
                for note in self.endpoint.notes():
                    run.note(note)
        if waiting and not why:
            why = (
                f"the next request might exceed max_cost {self.budget.most:g}; this run has cost "
                f"about {self.budget.spent:.4g}; to continue, run again with a higher max_cost"
            )
        yield from ((key, ShroomError(why)) for key in waiting)

    def _send(
        self, waiting: deque[_Key], sent: _Sent, pool: futures.Executor, stores: Sequence[Store]
    ) -> None:
        """Send the next requests, as many as threads and budget allow."""
        while waiting and len(sent) < self.concurrency:
            reserved = self.budget.reserve(tokens_in(waiting[0][0]), self.sampling.max_tokens)
            if reserved is None:
                break
            key = waiting.popleft()
            sent[pool.submit(self._answer, key, reserved, stores)] = key

    def _answer(self, key: _Key, reserved: float, stores: Sequence[Store]) -> Reply | ShroomError:
        """Return the answer to a request, which is stored and paid, or why there is none."""
        used: tuple[int, int] | None = 0, 0
        try:
            reply = self._reply(*key)
            store(stores, self._scope, key, reply)
            used = reply.tokens
        except ShroomError as error:
            return error
        finally:
            self.budget.settle(tokens_in(key[0]), reserved, used)
        return reply

    def _reply(self, prompt: str, seed: int | None) -> Reply:
        """Return the answer to a request."""
        body = {**self._body, **({} if seed is None else {"seed": seed})}
        if self.endpoint.chat:
            system = [] if self.system is None else [{"role": "system", "content": self.system}]
            body["messages"] = [*system, {"role": "user", "content": prompt}]
        else:
            body["prompt"] = prompt
        body.update(body.pop("extra_body", {}))
        sent = {name: value for name, value in body.items() if name not in self.unsent}
        return reply_of(self.endpoint.ask(sent))

    @property
    def _body(self) -> dict[str, Any]:
        """The fields of every request."""
        fields = {"temperature": self.sampling.temperature, "max_tokens": self.sampling.max_tokens}
        body: dict[str, Any] = {"model": self.name, **fields, **self.more}
        if self.sampling.top_p is not None:
            body["top_p"] = self.sampling.top_p
        if self.logprobs is None:
            return body
        if self.endpoint.chat:
            return {**body, "logprobs": True, "top_logprobs": self.logprobs}
        return {**body, "logprobs": self.logprobs}

    @property
    def _scope(self) -> str:
        """A text for all that an answer depends on besides the prompt and the seed."""
        return json.dumps([self.endpoint.url, self.revision, self.system, self._body])

    def _key(self, question: Question) -> _Key:
        number = question.number
        return question.prompt, None if number is None else self.sampling.seed + number

    def _stores(self, run: Run) -> list[Store]:
        """Return the stores of answers: the store of the run, and the file in the folder."""
        stores: list[Store] = [store for store in run.stores if isinstance(store, RunStore)]
        if self.folder is not None:
            stores.append(Store(self.folder / _NAME, _MOST, run.note))
        return stores
