"""The answers of a language model, and p(Hallucination) of each."""

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
    from collections.abc import Callable, Iterable, Sequence

#: Minimum probability that the tokens of an answer must have together to count as one.
LEAST_MASS = 0.001
#: More tokens than any request has; a count above it, or below zero, is an error of the server.
_MOST_TOKENS = 10**9
_ANSWER = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Step:
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


def first_word(text: str) -> str | None:
    """Return ``"yes"``, ``"no"`` or ``None``: the word at the beginning of an answer.

    The text of a reasoning model before ``</think>`` is not part of its answer.

    Examples
    --------
    >>> [first_word(text) for text in ("**No**, it is not.", "<think>No?</think> Yes", "Nothing.")]
    ['no', 'yes', None]
    """
    match = _ANSWER.match(without_thought(text))
    return match[1].lower() if match else None


def share(top: Iterable[tuple[str, float]], side: Callable[[str], bool | None]) -> float | None:
    """Return the probability of tokens on the side True among all tokens on either side.

    Parameters
    ----------
    top : iterable of (str, float)
        Tokens with their log-probabilities.
    side : callable
        Returns the side of a token, or ``None``.

    Returns
    -------
    float or None
        ``None`` if both sides have less than ``LEAST_MASS`` together.

    Examples
    --------
    >>> top = [("Yes", math.log(0.6)), (" no", math.log(0.1)), ("NO", math.log(0.1))]
    >>> round(share(top, says_no), 9)
    0.25
    """
    mass = {True: 0.0, False: 0.0}
    for token, logprob in top:
        where = side(token)
        if where is not None:
            mass[where] += math.exp(min(0.0, logprob))
    both = mass[True] + mass[False]
    return mass[True] / both if both >= LEAST_MASS else None


def share_at(step: Step | None, side: Callable[[str], bool | None]) -> float | None:
    """Return :func:`share` of the alternatives of a token.

    The probability of a token without alternatives is that of its side, and the rest is that of
    the other side.
    """
    if step is None:
        return None
    if len(step.top) > 1:
        return share(step.top, side)
    where = side(step.token)
    return None if where is None else share_of_one(step.logprob, side=where)


def share_of_one(logprob: float, *, side: bool) -> float:
    """Return the probability of the side True, given that of a token on a side."""
    probability = math.exp(min(0.0, logprob))
    return probability if side else 1 - probability


def says_no(token: str) -> bool | None:
    """Return whether a token means no; ``None`` if it means neither yes nor no."""
    return {"yes": False, "no": True}.get(meaning(token) or "")


@dataclass(frozen=True)
class Judgement:
    """The p and the word of an answer.

    Attributes
    ----------
    p : float or None
        p(Hallucination); ``None`` if the answer is neither yes nor no.
    word : str or None
        ``"yes"``, ``"no"`` or ``None``.
    """

    p: float | None
    word: str | None = None


def from_reply(reply: Reply) -> float | None:
    """Return p from the log-probabilities if there are any, else from the text.

    Returns
    -------
    float or None
        ``None`` if the answer is neither yes nor no.
    """
    p = share_at(reply.verdict or reply.first, says_no)
    return {"yes": 0.0, "no": 1.0}.get(first_word(reply.text) or "") if p is None else p


def from_samples(replies: Sequence[Reply]) -> float | None:
    """Return the share of "no" among the samples that are yes or no; ``None`` without any."""
    words = [word for reply in replies if (word := first_word(reply.text))]
    return words.count("no") / len(words) if words else None


def official(reply: Reply) -> float | None:
    """Return p as the organisers' baseline does; ``None`` if the answer is neither yes nor no.

    An answer that begins with "yes" has p = 1 - exp(logprob of the first token), one that begins
    with "no" has p = exp(logprob); cf. :func:`official_word`.

    Raises
    ------
    ShroomError
        If the server gives no log-probabilities.

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
    return share_of_one(reply.first.logprob, side=word == "no")


def official_word(text: str) -> str | None:
    """Return the word that a text begins with, also as in "nothing"; ``None`` for others."""
    start = text.strip().lower()
    return next((word for word in ("yes", "no") if start.startswith(word)), None)


def reply_of(response: Any) -> Reply:
    """Return the reply in a response, of a chat or of a completion.

    Log-probabilities come in two forms, and servers mix them up: a list of tokens with their
    alternatives (``content``), and the older parallel lists (``token_logprobs``).

    Raises
    ------
    ShroomError
        If the response has no answer.
    """
    text, steps = text_of(response), steps_of(response)
    verdict = next((step for step in steps if meaning(step.token)), None)
    return Reply(text, steps[0] if steps else None, verdict, usage_of(response))


def steps_of(response: Any) -> list[Step]:
    """Return the tokens of an answer, without a thought before it.

    The list is empty without log-probabilities.

    Raises
    ------
    ShroomError
        If the response has no answer.
    """
    try:
        choice = response["choices"][0]
        steps = _after_thought(_steps(choice.get("logprobs") or {}))
        return [] if not text_of(response).strip() and _thinks_apart(choice) else steps
    except UNREADABLE as error:
        raise no_answer(response) from error


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
    return max(number, -1e4)  # servers write minus infinity in several ways


def usage_of(response: dict[str, Any]) -> tuple[int, int] | None:
    """Return the numbers of input and output tokens, if the server reports them."""
    usage = response.get("usage") or {}
    try:
        into, out = int(usage["prompt_tokens"]), int(usage.get("completion_tokens") or 0)
    except UNREADABLE:
        return None
    return (into, out) if min(into, out) >= 0 and max(into, out) <= _MOST_TOKENS else None
