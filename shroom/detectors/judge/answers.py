"""The answers of a language model, and p(Hallucination) of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from shroom.core.problems import ShroomError
from shroom.detectors.judge.responses import Reply, Step
from shroom.detectors.judge.verdicts import bare, side_of, verdict_of

#: Minimum probability that the tokens of an answer must have together to count as one.
LEAST_MASS = 0.001


def share(top: Iterable[tuple[str, float]], side: Callable[[str], bool | None]) -> float | None:
    """Return the probability of tokens on the side True among all tokens on either side.

    Tokens come with their log-probabilities; ``side`` gives ``None`` for a token on neither. The
    result is ``None`` if both sides have less than ``LEAST_MASS`` together.

    Examples
    --------
    >>> top = [("Yes", math.log(0.6)), (" no", math.log(0.1)), ("NO", math.log(0.1))]
    >>> round(share(top, says_no), 9)
    0.25
    """
    mass = {True: 0.0, False: 0.0}
    for token, logprob in top:
        token_side = side(token)
        if token_side is not None:
            mass[token_side] += math.exp(min(0.0, logprob))
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
    token_side = side(step.token)
    return None if token_side is None else share_of_one(step.logprob, side=token_side)


def share_of_one(logprob: float, *, side: bool) -> float:
    """Return the probability of the side True, given that of a token on a side."""
    probability = math.exp(min(0.0, logprob))
    return probability if side else 1 - probability


def says_no(token: str) -> bool | None:
    """Return whether a token means no; ``None`` if it means neither yes nor no."""
    return {"yes": False, "no": True}.get(bare(token))


def _denies(token: str) -> bool | None:
    """Return whether a token begins a word of any language that means no."""
    side = side_of(token)
    return None if side is None else not side


class Judgement(NamedTuple):
    """The judgement that an answer gives.

    Attributes
    ----------
    p : float or None
        p(Hallucination); ``None`` if the answer is neither yes nor no.
    word : str or None
        ``"yes"``, ``"no"`` or ``None``: the official baseline's.
    unfinished : bool
        Whether the answer ended before it was yes or no.
    """

    p: float | None
    word: str | None = None
    unfinished: bool = False


def from_reply(reply: Reply) -> Judgement:
    """Return the judgement by the log-probabilities if there are any, else by the text."""
    step = reply.verdict or reply.first
    in_english = step is None or says_no(step.token) is not None or _denies(step.token) is None
    p = share_at(step, says_no if in_english else _denies)
    verdict = verdict_of(reply.text)
    if p is None and verdict:
        p = float(not verdict.right)
    return Judgement(p, unfinished=p is None and reply.unfinished)


def from_samples(replies: Sequence[Reply]) -> Judgement:
    """Return the share of "no" among the samples that are yes or no."""
    verdicts = [verdict for reply in replies if (verdict := verdict_of(reply.text))]
    if not verdicts:
        return Judgement(None, unfinished=any(reply.unfinished for reply in replies))
    return Judgement(sum(not verdict.right for verdict in verdicts) / len(verdicts))


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
    >>> from shroom.detectors.judge.responses import Reply, Step
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
