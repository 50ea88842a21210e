"""New debate queries: asking for them, call by call, until there are enough or no more come."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

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
    """All that answers and verdicts depend on, beside the seeds.

    Attributes
    ----------
    model : str or None
        The name that the endpoint knows; without one, the server chooses.
    examples : int
        How many a prompt has.
    seed : int
        Of the draws of examples, and of the server's own.
    threshold : float
        The ROUGE-L F from which a question is a near-duplicate, in (0, 1].
    temperature : float
        At which the model samples.
    max_tokens : int
        The longest answer.
    """

    model: str | None = None
    examples: int = 10
    seed: int = 0
    threshold: float = 0.7
    temperature: float = 1.0
    max_tokens: int = 100

    def to_dict(self) -> dict[str, Any]:
        """Return them by name."""
        return asdict(self)


@dataclass(frozen=True)
class Generation:
    """What a run has come to.

    Attributes
    ----------
    queries : tuple of str
        The new ones, in the order in which they came.
    calls : int
        How many answers there were, those of earlier runs included.
    dropped : dict of int
        How many answers were dropped, by reason.
    complete : bool
        Whether there are as many as were wanted.
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
    """Return n new queries, or fewer where ``patience`` calls in a row have given none.

    What is made of a call depends on its answer and on the calls before it alone, so answers out
    of the log and from the endpoint give the same queries.

    Parameters
    ----------
    n : int
        How many are wanted.
    prompts, settings, endpoint
        What is asked, how, and of whom.
    log : Log
        Open; calls that it knows are not asked again.
    patience : int
        How many calls in a row may give nothing new.
    report : callable
        Gets the number of queries and of calls, after each call.

    Raises
    ------
    ShroomError
        Where the endpoint refuses or is not there; what it has answered is in the log.
    """
    screen = Screen(prompts.seeds, threshold=settings.threshold)
    queries: list[str] = []
    dropped = Counter(dict.fromkeys(REASONS, 0))
    call = barren = 0
    while len(queries) < n and barren < patience:
        known = call in log.known
        prompt = prompts.of(call)
        answer = log.known[call] if known else _ask(call, prompt, settings, endpoint, log)
        verdict = screen.judge(answer)
        if not known:
            decided = "dropped" if verdict.why else "kept"
            about = {"call": call, "prompt": prompt, "answer": answer, "verdict": decided}
            log.add({**about, **asdict(verdict)})
        if verdict.why:
            dropped[verdict.why] += 1
            barren += 1
        else:
            queries.append(verdict.query)
            barren = 0
        call += 1
        report(len(queries), call)
    return Generation(tuple(queries), call, dict(dropped), len(queries) == n)


def _ask(call: int, prompt: str, settings: Settings, endpoint: Endpoint, log: Log) -> str:
    """Return what the endpoint answers, having logged what went wrong if it does not."""
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
