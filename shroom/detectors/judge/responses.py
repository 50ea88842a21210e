"""The responses of servers: the text of an answer, its tokens and their log-probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from shroom.core.problems import ShroomError, show
from shroom.detectors.judge.verdicts import place_of_verdict
from shroom.inference.endpoint.answer import UNREADABLE, end_of_thought, text_of

#: More tokens than any request has; a count above it, or below zero, is an error of the server.
_MOST_TOKENS = 10**9


class Step(NamedTuple):
    """A token of an answer, with its alternatives.

    Attributes
    ----------
    token : str
        The token.
    logprob : float
        Its log-probability.
    top : tuple of (str, float)
        The most likely tokens, with their log-probabilities.
    """

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Reply:
    """The answer of a server.

    Attributes
    ----------
    text : str
        The answer.
    first : Step or None
        Its first token after any thought, if the server gives log-probabilities.
    verdict : Step or None
        The token with which its verdict begins, likewise.
    tokens : (int, int) or None
        Numbers of input and output tokens, if the server reports them.
    cut : bool
        Whether it ended at ``max_tokens``.
    """

    text: str
    first: Step | None = None
    verdict: Step | None = None
    tokens: tuple[int, int] | None = None
    cut: bool = False

    @property
    def unfinished(self) -> bool:
        """Whether a larger ``max_tokens`` would give more of it."""
        return self.cut or end_of_thought(self.text) is None


def reply_of(response: Any) -> Reply:
    """Return the reply in a response, of a chat or of a completion.

    Log-probabilities come in two forms, and servers mix them up: a list of tokens with their
    alternatives (``content``), and the older parallel lists (``token_logprobs``).
    """
    text, steps = text_of(response), _steps_of(response)
    choice = response["choices"][0]
    if not text.strip():  # a refusal may be separate
        text = str((choice.get("message") or {}).get("refusal") or text)
    place = place_of_verdict([step.token for step in steps])
    return Reply(
        text,
        steps[0] if steps else None,
        None if place is None else steps[place],
        usage_of(response),
        choice.get("finish_reason") == "length",
    )


def _steps_of(response: Any) -> list[Step]:
    """Return the tokens of an answer, without a thought before it.

    The list is empty without log-probabilities, and for an unfinished thought.
    """
    logprobs = response["choices"][0].get("logprobs") or {}
    try:
        steps = _steps(logprobs)
    except UNREADABLE as error:
        raise ShroomError(
            "the endpoint sent an answer whose log-probabilities cannot be read: "
            f"{show(logprobs, 120)}; use a server that sends finite numbers"
        ) from error
    end = end_of_thought("".join(step.token for step in steps))
    if end is None or end_of_thought(text_of(response)) is None:
        return []
    starts = accumulate((len(step.token) for step in steps), initial=0)
    return [step for step, start in zip(steps, starts) if start >= end]


def _steps(logprobs: dict[str, Any]) -> list[Step]:
    if content := logprobs.get("content"):
        return [_step(token, token.get("top_logprobs") or ()) for token in content]
    if not logprobs.get("token_logprobs"):
        return []
    tokens, values = logprobs["tokens"], logprobs["token_logprobs"]
    tops = logprobs.get("top_logprobs") or [None] * len(tokens)
    return [
        Step(
            _token(token), _logprob(value), tuple((t, _logprob(v)) for t, v in (top or {}).items())
        )
        for token, value, top in zip(tokens, values, tops)
    ]


def _step(token: dict[str, Any], top: Iterable[dict[str, Any]]) -> Step:
    alternatives = tuple((_token(t["token"]), _logprob(t["logprob"])) for t in top)
    return Step(_token(token["token"]), _logprob(token["logprob"]), alternatives)


def _token(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("expected a token")
    return value


def _logprob(value: Any) -> float:
    number = float(value)
    if math.isnan(number) or number == math.inf:
        raise ValueError("expected a log-probability")
    return max(number, -1e4)  # servers write minus infinity in several ways


def usage_of(response: dict[str, Any]) -> tuple[int, int] | None:
    """Return the numbers of input and output tokens, if the server reports them."""
    usage = response.get("usage") or {}
    try:
        into, out = int(usage["prompt_tokens"]), int(usage.get("completion_tokens") or 0)
    except UNREADABLE:
        return None
    return (into, out) if min(into, out) >= 0 and max(into, out) <= _MOST_TOKENS else None
