"""New debate queries: one call after another, until there are enough or no more come."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from shroom.core.problems import ShroomError
from shroom.datasets.queries.generate.screening import REASONS, Screen
from shroom.inference.endpoint.answer import text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from shroom.datasets.queries.generate.call_log import Log
    from shroom.datasets.queries.generate.prompts import Prompts
    from shroom.inference.endpoint.client import Endpoint


@dataclass(frozen=True)
class Settings:
    """All that answers and screening depend on, except the seeds.

    Attributes
    ----------
    model : str or None
        Name of the model at the endpoint; by default the server's own.
    examples : int
        Number of examples in a prompt.
    seed : int
        Seed of the examples, and of the server's sampling.
    threshold : float
        The ROUGE-L F from which a question is a near-duplicate, in (0, 1].
    temperature : float
        Sampling temperature of the model.
    max_tokens : int
        Maximum length of an answer.
    """

    model: str | None = None
    examples: int = 10
    seed: int = 0
    threshold: float = 0.7
    temperature: float = 1.0
    max_tokens: int = 100


@dataclass(frozen=True)
class Generation:
    """The result of a run.

    Attributes
    ----------
    queries : tuple of str
        The new queries, in their order.
    calls : int
        Number of answers, including those of earlier runs.
    dropped : dict of int
        Number of dropped answers, by reason.
    complete : bool
        Whether there are as many queries as requested.
    """

    queries: tuple[str, ...]
    calls: int
    dropped: dict[str, int]
    complete: bool


def generate(
    n: int,
    *,
    prompts: Prompts,
    settings: Settings,
    endpoint: Endpoint,
    log: Log,
    patience: int,
    report: Callable[[int, int], object] = lambda *_: None,
) -> Generation:
    """Return n new queries, or fewer if ``patience`` calls in a row give none.

    The result of a call depends only on its answer and on the calls before it, so answers from the
    log and from the endpoint give the same queries.

    Parameters
    ----------
    n : int
        Number of queries.
    prompts, settings, endpoint
        The prompts, the settings of the run, and where requests are sent.
    log : Log
        An open log, whose answers are not requested again.
    patience : int
        Number of calls in a row that may give nothing new.
    report : callable
        Receives the numbers of queries and of calls after each call.

    Raises
    ------
    ShroomError
        If a request fails. The answers so far are in the log.
    """
    screen = Screen(prompts.seeds, threshold=settings.threshold)
    queries: list[str] = []
    dropped = Counter(dict.fromkeys(REASONS, 0))
    call = barren = 0
    while len(queries) < n and barren < patience:
        logged = call in log.known
        prompt = prompts.of(call)
        answer = log.known[call] if logged else _ask(call, prompt, settings, endpoint, log)
        screened = screen.judge(answer)
        if not logged:
            verdict = "dropped" if screened.why else "kept"
            line = {"call": call, "prompt": prompt, "answer": answer, "verdict": verdict}
            log.add({**line, **asdict(screened)})
        if screened.why:
            dropped[screened.why] += 1
            barren += 1
        else:
            queries.append(screened.query)
            barren = 0
        call += 1
        report(len(queries), call)
    return Generation(tuple(queries), call, dict(dropped), len(queries) == n)


def _ask(call: int, prompt: str, settings: Settings, endpoint: Endpoint, log: Log) -> str:
    """Return the endpoint's answer; log the error if there is none."""
    body = {
        **({} if settings.model is None else {"model": settings.model}),
        **endpoint.prompt(prompt),
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
        "seed": settings.seed + call,
    }
    try:
        return text_of(endpoint.ask(body))
    except ShroomError as error:
        log.add({"call": call, "prompt": prompt, "error": str(error)})
        raise
