"""The fields of a request that some servers refuse, and how to send it without them.

Compatible APIs differ: some give at most five alternatives of a token, or no log-probabilities;
newer models of OpenAI need ``max_completion_tokens`` and accept no temperature.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple


class Concession(NamedTuple):
    """A part of a request that some servers refuse.

    Attributes
    ----------
    word : str
        A word of their error message.
    applies : callable
        Returns whether a request has the part.
    apply : callable
        Returns the request without it.
    """

    word: str
    applies: Callable[[dict[str, Any]], bool]
    apply: Callable[[dict[str, Any]], dict[str, Any]]


def _alternatives(body: dict[str, Any]) -> int:
    """Return the number of alternatives of a token in a request."""
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


#: The concessions in the order in which they are tried, by their names in notes.
CONCESSIONS = {
    "more than 5 log-probabilities": Concession("logprob", lambda b: _alternatives(b) > 5, _fewer),
    "log-probabilities": Concession(
        "logprob", lambda b: "logprobs" in b, _without("logprobs", "top_logprobs")
    ),
    "max_tokens": Concession("max_completion_tokens", lambda b: "max_tokens" in b, _renamed),
    "temperature": Concession("temperature", lambda b: "temperature" in b, _without("temperature")),
    "repeat_penalty": Concession(
        "repeat_penalty", lambda b: "extra_body" in b, _without("extra_body")
    ),
    "seed": Concession("seed", lambda b: "seed" in b, _without("seed")),
}
