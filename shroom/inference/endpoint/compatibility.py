"""What servers refuse though others need it, and how a request is put without.

APIs that call themselves compatible differ: some give five alternatives of a token at most, or no
log-probabilities; newer models of OpenAI want ``max_completion_tokens`` and no temperature.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple


class Concession(NamedTuple):
    """Something that servers refuse, though others need it.

    ``word`` is in their message, ``applies`` tells whether a request has it, and ``apply`` gives
    the request without.
    """

    word: str
    applies: Callable[[dict[str, Any]], bool]
    apply: Callable[[dict[str, Any]], dict[str, Any]]


def _alternatives(body: dict[str, Any]) -> int:
    """Return how many alternatives of a token a request asks for."""
    logprobs = body.get("logprobs")
    return int(body.get("top_logprobs", 0) if logprobs is True else logprobs or 0)


def _fewer(body: dict[str, Any]) -> dict[str, Any]:
    if _alternatives(body) <= 5:
        return body
    return {**body, ("top_logprobs" if body["logprobs"] is True else "logprobs"): 5}


def _without(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda body: {key: value for key, value in body.items() if key not in names}


def _renamed(body: dict[str, Any]) -> dict[str, Any]:
    renamed = {"max_tokens": "max_completion_tokens"}
    return {renamed.get(key, key): value for key, value in body.items()}


#: What is tried in turn, by the name that notes give it.
CONCESSIONS = {
    "more than 5 log-probabilities": Concession("logprob", lambda b: _alternatives(b) > 5, _fewer),
    "log-probabilities": Concession(
        "logprob", lambda b: "logprobs" in b, _without("logprobs", "top_logprobs")
    ),
    "max_tokens": Concession("max_completion_tokens", lambda b: "max_tokens" in b, _renamed),
    "temperature": Concession("temperature", lambda b: "temperature" in b, _without("temperature")),
    "seed": Concession("seed", lambda b: "seed" in b, _without("seed")),
}
