"""A language model behind an endpoint, as every judge uses it."""

from __future__ import annotations

from collections import deque
from contextlib import closing
from typing import TYPE_CHECKING, Any

from shroom.core.checksummed_lines import computed_anew
from shroom.core.problems import ShroomError
from shroom.detectors.judge.asking import Request, Sending
from shroom.detectors.judge.budget import Budget, Estimate
from shroom.detectors.judge.cache import Cache, key_of
from shroom.detectors.judge.responses import reply_of
from shroom.inference.endpoint.client import Endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from shroom.detectors.judge.responses import Reply
    from shroom.detectors.judge.settings import BudgetSettings, EndpointSettings, PromptSettings
    from shroom.inference.run import Run


class Service:
    """Sends requests to a model behind an endpoint, within a budget, and keeps the answers.

    Parameters
    ----------
    prompt : PromptSettings
        Which model is asked.
    settings : EndpointSettings
        Where requests are sent; the URL is required.
    budget : BudgetSettings
        What they may cost.
    body : dict
        The fields that all requests have, including the model's name.
    mode : str
        ``"chat"`` or ``"completion"``.
    reading : int or str
        Version of the code that reads responses: answers read by another one are requested again.
    shorter : str
        Advice for the user if the server refuses a request as too long.
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
        self, requests: Sequence[Request], run: Run, read: Callable[[Any], Reply] = reply_of
    ) -> Generator[tuple[str, Reply | ShroomError]]:
        """Yield the key and the reply of each distinct request, or the reason for its failure.

        Replies from the cache come first, the others as they arrive. The threads only wait for the
        server; the caller's thread updates the cache, the budget and the progress. When the run
        stops, because of the budget, Ctrl-C or the caller, the requests under way are awaited and
        their replies kept, since they are paid for; a second Ctrl-C does not wait.

        Parameters
        ----------
        read : callable
            Makes a reply of a decoded response. A :class:`ShroomError` is the failure of one
            request.

        Raises
        ------
        BudgetExhausted
            If the next request might exceed the maximum cost.
        """
        cache = self._cache()
        with cache.open():
            distinct = {request.key: request for request in requests}
            waiting = deque(one for key, one in distinct.items() if key not in cache.known)
            yield from [(key, cache.known[key]) for key in distinct if key in cache.known]
            if waiting:
                if cache.path and cache.damaged:
                    run.note(computed_anew(cache.path, cache.damaged))
                sending = Sending(self, cache, waiting, len(distinct), run, read)
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
        cached = self._cache().read().known
        waiting = [request for key, request in distinct.items() if key not in cached]
        into = sum(request.tokens[0] for request in waiting)
        out = sum(request.tokens[1] for request in waiting)
        cost = self.budget.cost((into, out)) if self.budget.settings.priced else None
        first = requests[0].prompt if requests else ""
        return Estimate(len(waiting), len(distinct) - len(waiting), into, out, cost, first)

    def _cache(self) -> Cache:
        return Cache(self.settings.folder, f"{self.endpoint.url} {self.body['model']}")
