"""What a language model has answered, and the p(Hallucination) that follows from it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from shroom.core.problems import ShroomError
from shroom.inference.endpoint.answer import (
    BLANKS,
    OPEN,
    THOUGHT,
    UNREADABLE,
    no_answer,
    text_of,
    without_thought,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: The least share of the first token's probability that yes and no must have to be an answer.
LEAST_MASS = 0.001
#: More tokens than any request has; a server that counts more, or fewer than none, miscounts.
_MOST_TOKENS = 10**9
_ANSWER = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Step:
    """A token of an answer, and what else could have stood there.

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
    """An answer as a server gives it.

    Attributes
    ----------
    text : str
        The answer.
    first : Step or None
        Its first token after any thought, where the server gives log-probabilities.
    verdict : Step or None
        The first token after any thought that means yes or no, likewise.
    tokens : (int, int) or None
        How many tokens went in and came out, where the server counts them.
    """

    text: str
    first: Step | None = None
    verdict: Step | None = None
    tokens: tuple[int, int] | None = None


def meaning(token: str) -> str | None:
    """Return ``"yes"``, ``"no"`` or ``None``: what a token means, whatever blanks and case it has.

    Examples
    --------
    >>> [meaning(token) for token in (" Yes", "▁no", "NO.", "not", "")]
    ['yes', 'no', 'no', None, None]
    """
    word = token.strip().strip(BLANKS).strip(" \t\r\n.,:;!?\"'`*_()[]").lower()
    return word if word in ("yes", "no") else None


def said(text: str) -> str | None:
    """Return ``"yes"``, ``"no"`` or ``None``: the word that an answer begins with.

    What a reasoning model writes before ``</think>`` is not its answer.

    Examples
    --------
    >>> said("**No**, because it is not."), said("<think>No?</think> Yes"), said("Nothing.")
    ('no', 'yes', None)
    """
    found = _ANSWER.match(without_thought(text))
    return found[1].lower() if found else None


def from_mass(top: Iterable[tuple[str, float]]) -> float | None:
    """Return p = no/(yes + no) from the probabilities of tokens that mean yes or no.

    Returns
    -------
    float or None
        ``None`` where the two have less than ``LEAST_MASS`` together.

    Examples
    --------
    >>> top = [("Yes", math.log(0.6)), (" no", math.log(0.1)), ("NO", math.log(0.1))]
    >>> round(from_mass(top), 9)
    0.25
    """
    mass = {"yes": 0.0, "no": 0.0}
    for token, logprob in top:
        if word := meaning(token):
            mass[word] += math.exp(min(0.0, logprob))
    both = mass["yes"] + mass["no"]
    return mass["no"] / both if both >= LEAST_MASS else None


@dataclass(frozen=True)
class Verdict:
    """What is made of an answer.

    Attributes
    ----------
    p : float or None
        p(Hallucination); ``None`` where the answer is neither yes nor no.
    word : str or None
        ``"yes"``, ``"no"`` or ``None``.
    """

    p: float | None
    word: str | None = None


def from_reply(reply: Reply) -> float | None:
    """Return p from the log-probabilities where there are some, else from the text alone.

    Returns
    -------
    float or None
        ``None`` where the answer is neither yes nor no.
    """
    step = reply.verdict or reply.first
    if step is not None and len(step.top) > 1:
        p = from_mass(step.top)
        if p is not None:
            return p
    elif step is not None and (word := meaning(step.token)):
        # Of one token alone it is known how sure it is, and what is left is the other's.
        return from_one(word, step.logprob)
    return {"yes": 0.0, "no": 1.0}.get(said(reply.text) or "")


def from_one(word: str, logprob: float) -> float:
    """Return p, where of a token it is only known how sure it is: what is left is the other's."""
    probability = math.exp(min(0.0, logprob))
    return 1 - probability if word == "yes" else probability


def from_samples(replies: Sequence[Reply]) -> float | None:
    """Return the share of "no" among the samples that are yes or no; ``None`` if none is."""
    words = [word for reply in replies if (word := said(reply.text))]
    return words.count("no") / len(words) if words else None


def official(reply: Reply) -> float | None:
    """Return p as the organisers' baseline has it; ``None`` for what is neither yes nor no.

    An answer that begins with "yes" has p = 1 - exp(logprob of the first token), one that begins
    with "no" has p = exp(logprob); cf. :func:`official_word`.

    Raises
    ------
    ShroomError
        Where the server gives no log-probabilities.

    Examples
    --------
    >>> official(Reply(" Yes", Step(" Yes", math.log(0.75))))
    0.25
    """
    word = official_word(reply.text)
    if word is None:
        return None
    if reply.first is None:
        raise ShroomError(
            "the official baseline needs the first token's log-probability, and the endpoint gives "
            'none; use a server that does (llama.cpp, vLLM), or scoring = "probability"'
        )
    return from_one(word, reply.first.logprob)


def official_word(text: str) -> str | None:
    """Return ``"yes"`` or ``"no"`` where the text begins so, as in "nothing"; else ``None``."""
    start = text.strip().lower()
    return next((word for word in ("yes", "no") if start.startswith(word)), None)


def reply_of(response: Any) -> Reply:
    """Return the reply in what a server has sent, of a chat or of a completion.

    Log-probabilities come in two forms, and servers mix them up: a list of tokens with their
    alternatives (``content``), and the older parallel lists (``token_logprobs``).

    Raises
    ------
    ShroomError
        Where it is no answer.
    """
    text, steps = text_of(response), steps_of(response)
    verdict = next((step for step in steps if meaning(step.token)), None)
    return Reply(text, steps[0] if steps else None, verdict, usage_of(response))


def steps_of(response: Any) -> list[Step]:
    """Return the tokens of an answer itself, without a thought before it; none if not given.

    Raises
    ------
    ShroomError
        Where it is no answer.
    """
    try:
        choice = response["choices"][0]
        steps = _after_thought(_steps(choice.get("logprobs") or {}))
        return [] if not text_of(response).strip() and _thinks_apart(choice) else steps
    except UNREADABLE as error:
        raise no_answer(response) from error


def _after_thought(steps: list[Step]) -> list[Step]:
    """Return the tokens of the answer itself: none where the thought before it has no end."""
    thought = THOUGHT.match("".join(step.token for step in steps))
    if thought:
        starts = accumulate((len(step.token) for step in steps), initial=0)
        steps = [step for step, start in zip(steps, starts) if start >= thought.end()]
    return [] if OPEN.match("".join(step.token for step in steps)) else steps


def _thinks_apart(choice: dict[str, Any]) -> bool:
    """Return whether a server has put a thought beside the answer; its tokens have no mark then."""
    message = choice.get("message") or {}
    return any(message.get(key) for key in ("reasoning_content", "reasoning"))


def _steps(logprobs: dict[str, Any]) -> list[Step]:
    content = logprobs.get("content")
    if content:
        return [
            Step(
                _token(step["token"]),
                _logprob(step["logprob"]),
                tuple(
                    (_token(t["token"]), _logprob(t["logprob"]))
                    for t in step.get("top_logprobs") or ()
                ),
            )
            for step in content
        ]
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


def _token(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("expected a token")
    return value


def _logprob(value: Any) -> float:
    number = float(value)
    if math.isnan(number) or number == math.inf:
        raise ValueError("expected a log-probability")
    return max(number, -1e4)  # servers write minus infinity in several ways, of which json has none


def usage_of(response: dict[str, Any]) -> tuple[int, int] | None:
    """Return how many tokens went in and came out, where the server counts them."""
    usage = response.get("usage") or {}
    try:
        into, out = int(usage["prompt_tokens"]), int(usage.get("completion_tokens") or 0)
    except UNREADABLE:
        return None
    return (into, out) if min(into, out) >= 0 and max(into, out) <= _MOST_TOKENS else None
