"""The responses of servers: the text of an answer, its tokens and their log-probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from shroom.core.problems import ShroomError, show
from shroom.inference.endpoint.answer import BLANKS, OPEN, THOUGHT, UNREADABLE, text_of

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
        The first token after any thought that means yes or no, likewise.
    tokens : (int, int) or None
        Numbers of input and output tokens, if the server reports them.
    """

    text: str
    first: Step | None = None
    verdict: Step | None = None
    tokens: tuple[int, int] | None = None


def reply_of(response: Any) -> Reply:
    """Return the reply in a response, of a chat or of a completion.

    Log-probabilities come in two forms, and servers mix them up: a list of tokens with their
    alternatives (``content``), and the older parallel lists (``token_logprobs``).
    """
    text, steps = text_of(response), steps_of(response)
    verdict = next((step for step in steps if meaning(step.token)), None)
    return Reply(text, steps[0] if steps else None, verdict, usage_of(response))


def steps_of(response: Any) -> list[Step]:
    """Return the tokens of an answer, without a thought before it.

    The list is empty without log-probabilities.
    """
    text, choice = text_of(response), response["choices"][0]
    logprobs = choice.get("logprobs") or {}
    try:
        steps = _after_thought(_steps(logprobs))
    except UNREADABLE as error:
        raise ShroomError(
            "the endpoint sent an answer whose log-probabilities cannot be read: "
            f"{show(logprobs, 120)}; use a server that sends finite numbers"
        ) from error
    return [] if not text.strip() and _thinks_apart(choice) else steps


def _after_thought(steps: list[Step]) -> list[Step]:
    """Return the tokens after a thought; none if the thought is unfinished."""
    thought = THOUGHT.match("".join(step.token for step in steps))
    if thought:
        starts = accumulate((len(step.token) for step in steps), initial=0)
        steps = [step for step, start in zip(steps, starts) if start >= thought.end()]
    return [] if OPEN.match("".join(step.token for step in steps)) else steps


def _thinks_apart(choice: dict[str, Any]) -> bool:
    """Return whether a server separates a thought from the answer; its tokens have no marks."""
    message = choice.get("message") or {}
    return any(message.get(key) for key in ("reasoning_content", "reasoning"))


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


def meaning(token: str) -> str | None:
    """Return ``"yes"``, ``"no"`` or ``None``: the meaning of a token, ignoring blanks and case.

    Examples
    --------
    >>> [meaning(token) for token in (" Yes", "▁no", "NO.", "not", "")]
    ['yes', 'no', 'no', None, None]
    """
    word = bare(token)
    return word if word in ("yes", "no") else None


def bare(token: str, signs: str = "") -> str:
    """Return a token in lower case, without blanks, punctuation and further signs around it.

    Examples
    --------
    >>> bare("▁No."), bare("“对”", "“”")
    ('no', '对')
    """
    return token.strip().strip(BLANKS).strip(" \t\r\n.,:;!?\"'`*_()[]" + signs).lower()
