"""The answers of language models without their thoughts: one rule for all models."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate, repeat
from operator import itemgetter
from typing import Any, NamedTuple

from shroom.core.problems import ShroomError, show

#: How vocabularies write blanks and line breaks at the start of a token.
BLANKS = "Ġ▁Ċĉ"
_TAG = r"(?:\w+:)?(?:think(?:ing)?|thought|reasoning)\|?[>\]▷]"
# A server that leaves out special tokens writes the channels of gpt-oss as plain words.
_CHANNEL = r"<\|channel\|>\s*final[^<]*<\|message\|>|(?<!\s)assistantfinal(?=\S)"
_END = rf"[<\[◁]\|?(?:/|END_){_TAG}|{_CHANNEL}"
_START = rf"[<\[◁]\|?(?:START_)?{_TAG}|<\|channel\|>"
#: The thought of a reasoning model, with its end; and the start of a thought.
_THOUGHT = re.compile(rf"^.*(?:{_END})", re.DOTALL | re.IGNORECASE)
_OPEN = re.compile(rf"[\s{BLANKS}]*(?:<\|start\|>assistant)?(?:{_START})", re.IGNORECASE)
_OPENED = re.compile(rf"(?:{_START})\s*$", re.IGNORECASE)
#: Errors raised by reading a response of an unexpected form.
_UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, OverflowError)


class Step(NamedTuple):
    """A token of an answer with its log-probability, and the likeliest alternatives."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


class Reply(NamedTuple):
    """An answer without a thought before it; empty if the thought is unfinished."""

    # ``tokens`` are of input and output. ``unfinished``: a larger ``max_tokens`` would give more of
    # it.

    text: str
    steps: tuple[Step, ...] = ()
    tokens: tuple[int, int] | None = None
    unfinished: bool = False


def reply(
    text: str,
    steps: Sequence[Step] = (),
    tokens: tuple[int, int] | None = None,
    *,
    cut: bool = False,
) -> Reply:
    """Return the answer in a model's output, which may begin with thoughts."""
    start = _end_of_thought(text)
    first = _end_of_thought("".join(step.token for step in steps))
    if start is None or first is None:
        steps, cut = (), cut or start is None
    else:
        starts = accumulate((len(step.token) for step in steps), initial=0)
        steps = tuple(step for step, place in zip(steps, starts) if place >= first)
    return Reply("" if start is None else text[start:], tuple(steps), tokens, cut)


def _end_of_thought(text: str) -> int | None:
    """Return the place at which the answer begins; ``None`` if the thought is unfinished."""
    match = _THOUGHT.match(text)
    end = match.end() if match else 0
    return None if _OPEN.match(text, end) else end


def opened_thought(prompt: str) -> str:
    """Return the mark with which a prompt opens a thought; an empty text if it opens none."""
    match = _OPENED.search(prompt)
    return match[0] if match else ""


def bare(token: str) -> str:
    """Return a token in lower case, without blanks and punctuation around it."""
    return token.strip().strip(BLANKS).strip(" \t\r\n.,:;!?\"'`*_()[]“”{}，。：！").lower()


def reply_of(response: Any) -> Reply:
    """Return the answer in a response; it is unfinished if there is only a separate thought."""
    try:
        choice = response["choices"][0]
        message = choice.get("message") or {}
        text = str(message.get("content", choice.get("text")) or "")
        thought = message.get("reasoning_content") or message.get("reasoning")
    except _UNREADABLE as error:
        raise ShroomError(
            f"the response of the endpoint contains no answer: {show(response)}"
        ) from error
    if not text.strip():
        text = str(message.get("refusal") or (f"<think>{thought}" if thought else text))
    cut = choice.get("finish_reason") == "length"
    return reply(text, _steps(choice.get("logprobs") or {}), _usage(response), cut=cut)


def _steps(logprobs: dict[str, Any]) -> list[Step]:
    """Return the tokens of a response; none without log-probabilities."""
    pairs = itemgetter("token", "logprob")
    try:
        if content := logprobs.get("content"):
            return [_step(pairs(one), map(pairs, one.get("top_logprobs") or ())) for one in content]
        values = logprobs.get("token_logprobs") or ()
        rows = zip(logprobs["tokens"] if values else (), values)
        tops = logprobs.get("top_logprobs") or repeat(None)
        return [_step(row, (top or {}).items()) for row, top in zip(rows, tops)]
    except _UNREADABLE as error:
        raise ShroomError(
            "the log-probabilities in the endpoint's response cannot be read: "
            f"{show(logprobs, 120)}; use a server that returns finite numbers"
        ) from error


def _step(pair: tuple[Any, Any], top: Iterable[tuple[Any, Any]]) -> Step:
    pairs = []
    for name, value in [pair, *top]:
        number = float(value)
        if not isinstance(name, str) or math.isnan(number) or number == math.inf:
            raise ValueError("expected a token and a log-probability")
        pairs.append((name, max(number, -1e4)))  # servers write minus infinity in several ways
    return Step(*pairs[0], tuple(pairs[1:]))


def _usage(response: dict[str, Any]) -> tuple[int, int] | None:
    """Return the numbers of input and output tokens, if the server reports them."""
    usage = response.get("usage") or {}
    try:
        into, out = int(usage["prompt_tokens"]), int(usage.get("completion_tokens") or 0)
    except _UNREADABLE:
        return None
    return (into, out) if min(into, out) >= 0 else None
