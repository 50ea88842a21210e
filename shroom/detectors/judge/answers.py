"""p(Hallucination) from the answers of a language model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from shroom.core.problems import ShroomError
from shroom.detectors.judge.verdicts import side_of, step_of_verdict, verdict_of
from shroom.inference.language_model.reply import Reply, Step, bare

#: Minimum probability that the tokens of an answer must have together to count as one.
LEAST_MASS = 0.001


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


def share(
    top: Iterable[tuple[str, float]],
    side: Callable[[str], bool | None],
    least: float = LEAST_MASS,
) -> float | None:
    """Return the probability of tokens on the side True among all tokens on either side.

    Tokens come with their log-probabilities; ``side`` gives ``None`` for a token on neither. The
    result is ``None`` if both sides have less than ``least`` together.

    Examples
    --------
    >>> top = [("Yes", math.log(0.6)), (" no", math.log(0.1)), ("NO", math.log(0.1))]
    >>> round(share(top, says_no), 9)
    0.25
    """
    shares = {True: 0.0, False: 0.0, None: 0.0}
    for token, logprob in top:
        shares[side(token)] += math.exp(min(0.0, logprob))
    both = shares[True] + shares[False]
    return shares[True] / both if both >= least and both else None


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
    return None if token_side is None else _share_of_one(step.logprob, side=token_side)


def _share_of_one(logprob: float, *, side: bool) -> float:
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


def judgement(reply: Reply, *, exact: bool = False) -> Judgement:
    """Return the judgement by the log-probabilities if there are any, else by the text.

    A server lists only some alternatives of a token. The probabilities of yes and no of a model on
    this machine are ``exact``, so they count however small they are if the text says neither.
    """
    step = step_of_verdict(reply) or next(iter(reply.steps), None)
    in_english = step is None or says_no(step.token) is not None or _denies(step.token) is None
    p = share_at(step, says_no if in_english else _denies)
    verdict = verdict_of(reply.text)
    if p is None and verdict:
        p = float(not verdict.right)
    if p is None and exact and reply.steps:
        p = share(reply.steps[0].top, says_no, least=0)
    return Judgement(p, unfinished=p is None and reply.unfinished)


def from_samples(replies: Sequence[Reply]) -> Judgement:
    """Return the share of "no" among the samples that are yes or no."""
    verdicts = [verdict for reply in replies if (verdict := verdict_of(reply.text))]
    if not verdicts:
        return Judgement(None, unfinished=any(reply.unfinished for reply in replies))
    return Judgement(sum(not verdict.right for verdict in verdicts) / len(verdicts))


def official(reply: Reply) -> Judgement:
    """Return the judgement of the organisers' baseline; p is ``None`` for neither yes nor no.

    An answer that begins with "yes" has p = 1 - exp(logprob of the first token), one that begins
    with "no", also as in "nothing", has p = exp(logprob).

    Raises
    ------
    ShroomError
        If the server gives no log-probabilities.

    Examples
    --------
    >>> official(Reply(" Yes", (Step(" Yes", math.log(0.75)),)))
    Judgement(p=0.25, word='yes', unfinished=False)
    """
    start = reply.text.strip().lower()
    word = next((word for word in ("yes", "no") if start.startswith(word)), None)
    if word is None:
        return Judgement(None, None, reply.unfinished)
    if not reply.steps:
        raise ShroomError(
            "the official baseline needs the first token's log-probability, and the endpoint gives "
            'none; use a server that does (llama.cpp, vLLM), or scoring = "probability"'
        )
    return Judgement(_share_of_one(reply.steps[0].logprob, side=word == "no"), word)


def mass(reply: Reply) -> float:
    """Return the probability of the alternatives of the first token together."""
    return sum(math.exp(logprob) for _, logprob in reply.steps[0].top) if reply.steps else 0.0
