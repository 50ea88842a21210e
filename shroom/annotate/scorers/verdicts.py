"""What a language model has said of a student's answer: right or wrong, how surely, and why."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from shroom.detectors.judge.answers import LEAST_MASS, Reply, steps_of, usage_of
from shroom.inference.endpoint.answer import BLANKS, text_of, without_thought

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shroom.detectors.judge.answers import Step

#: The words of a verdict, in English and Chinese, lower-cased.
RIGHT = ("yes", "right", "correct", "true", "正确", "对", "对的", "是", "是的")
WRONG = (
    *("no", "wrong", "incorrect", "false", "not right", "not correct"),
    *("错误", "错", "错的", "不正确", "不对", "否", "不是"),
)
_WORDS = "|".join(sorted(map(re.escape, (*RIGHT, *WRONG)), key=len, reverse=True))
# "正确答案是" and "Right answers are" begin no verdict, so that but for yes and no a sign must
# follow, or nothing.
_START = re.compile(rf"[\W_]*(yes\b|no\b|(?:{_WORDS})(?=\s*(?:[^\w\s]|$)))", re.IGNORECASE)
#: A verdict in JSON that no parser takes, as with quotation marks inside the reason.
_BROKEN = re.compile(
    rf"""["'“”]answer["'“”]\s*[:：]\s*["'“”]?\s*({_WORDS})\s*["'“”]?\s*(?:[,}}]|$)""", re.IGNORECASE
)


@dataclass(frozen=True)
class Verdict:
    """What is made of an answer.

    Attributes
    ----------
    word : str
        The verdict as it was given, such as ``"正确"``.
    right : bool
        What it means.
    reason : str or None
        What the model gives as its reason, where it was asked for one.
    """

    word: str
    right: bool
    reason: str | None = None


def meaning(word: str) -> bool | None:
    """Return whether a word says right; ``None`` where it says neither.

    Examples
    --------
    >>> [meaning(word) for word in ("Correct", "不正确", "部分正确")]
    [True, False, None]
    """
    word = " ".join(word.lower().split())
    return True if word in RIGHT else False if word in WRONG else None


def verdict_of(text: str) -> Verdict | None:
    """Return the verdict in an answer: an object with ``answer``, or its first word.

    Returns
    -------
    Verdict or None
        ``None`` where it says neither right nor wrong.

    Examples
    --------
    >>> verdict_of('{"reason": "So it is.", "answer": "right"}')
    Verdict(word='right', right=True, reason='So it is.')
    >>> verdict_of("不正确，年份有误。").right, verdict_of("正确答案是一九九八年")
    (False, None)
    """
    text = without_thought(text)
    found = _object(text)
    if found is not None:
        said, reason = found.get("answer"), found.get("reason")
        word = said if isinstance(said, str) else str(said).lower() if said in (True, False) else ""
        reason = reason if isinstance(reason, str) and reason.strip() else None
        match = _START.match(word)
        return Verdict(word.strip(), _right(match), reason) if match else None
    match = _last(_BROKEN, text) or _START.match(text)
    return Verdict(match[1], _right(match)) if match else None


def _right(match: re.Match[str]) -> bool:
    return bool(meaning(match[1]))


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = None
    for found in pattern.finditer(text):  # noqa: B007 - the last one is what is wanted
        pass
    return found


def _object(text: str) -> dict[str, Any] | None:
    """Return the last JSON object of a text that has an answer."""
    decoder, found, at = json.JSONDecoder(strict=False), None, text.find("{")
    while at >= 0:
        end = at + 1
        try:
            value, end = decoder.raw_decode(text, at)
            if isinstance(value, dict) and "answer" in value:
                found = value
        except (ValueError, RecursionError):
            pass
        at = text.find("{", end)
    return found


def reply_of(response: Any) -> Reply:
    """Return the reply in what a server has sent; its ``verdict`` is the token of the verdict.

    A refusal that the server sends apart is the text where there is no other.

    Raises
    ------
    ShroomError
        Where it is no answer.
    """
    text, steps = text_of(response), steps_of(response)
    if not text.strip():
        text = str((response["choices"][0].get("message") or {}).get("refusal") or text)
    return Reply(text, steps[0] if steps else None, _decisive(steps), usage_of(response))


def _decisive(steps: list[Step]) -> Step | None:
    """Return the token with which the verdict begins."""
    text = "".join(step.token.replace("Ġ", " ").replace("▁", " ") for step in steps)
    answer = None
    for answer in re.finditer(r"""["'“”]answer["'“”]\s*[:：]\s*["'“”]?\s*""", text):  # noqa: B007
        pass
    match = _START.match(text, answer.end()) if answer else _START.match(text)
    if match is None:
        return None
    ends = accumulate(len(step.token) for step in steps)
    return next((step for step, end in zip(steps, ends) if end > match.start(1)), None)


def p_right(step: Step | None) -> float | None:
    """Return how sure a verdict is to be right, by the tokens that could have begun it.

    A token stands for the words that it begins, unless these disagree.

    Parameters
    ----------
    step : Step or None
        The first token of the verdict, with its alternatives.

    Returns
    -------
    float or None
        In [0, 1]; ``None`` where it cannot be told.

    Examples
    --------
    >>> from shroom.detectors.judge.answers import Step
    >>> top = (("正确", math.log(0.6)), ("错误", math.log(0.1)), ("不", math.log(0.1)))
    >>> round(p_right(Step(*top[0], top)), 12)
    0.75
    """
    if step is None:
        return None
    if len(step.top) < 2:  # of one token alone it is known how sure it is; the rest is the other's
        side, one = _side(step.token), math.exp(min(0.0, step.logprob))
        return None if side is None else one if side else 1 - one
    return _mass(step.top)


def _mass(top: Iterable[tuple[str, float]]) -> float | None:
    mass = {True: 0.0, False: 0.0}
    for token, logprob in top:
        side = _side(token)
        if side is not None:
            mass[side] += math.exp(min(0.0, logprob))
    both = mass[True] + mass[False]
    return mass[True] / both if both >= LEAST_MASS else None


def _side(token: str) -> bool | None:
    """Return what the words mean that a token begins."""
    start = token.strip().strip(BLANKS).strip(" \t\r\n.,:;!?\"'“”`*_()[]{}，。：！").lower()
    sides = {meaning(word) for word in (*RIGHT, *WRONG) if word.startswith(start)}
    return sides.pop() if start and len(sides) == 1 else None
