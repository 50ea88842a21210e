"""The verdicts of a language model on a student's answer: right or wrong, and the reason."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from shroom.detectors.judge.responses import Reply, Step, bare, steps_of, usage_of
from shroom.inference.endpoint.answer import text_of, without_thought

#: The words of a verdict, in English and Chinese, lower-cased.
RIGHT = ("yes", "right", "correct", "true", "正确", "对", "对的", "是", "是的")
WRONG = (
    *("no", "wrong", "incorrect", "false", "not right", "not correct"),
    *("错误", "错", "错的", "不正确", "不对", "否", "不是"),
)
_WORDS = "|".join(sorted(map(re.escape, (*RIGHT, *WRONG)), key=len, reverse=True))
# "正确答案是" and "Right answers are" are not verdicts, so a word other than yes and no must be
# followed by punctuation or nothing.
_START = re.compile(rf"[\W_]*(yes\b|no\b|(?:{_WORDS})(?=\s*(?:[^\w\s]|$)))", re.IGNORECASE)
#: A verdict in JSON that no parser takes, as with quotation marks inside the reason.
_BROKEN = re.compile(
    rf"""["'“”]answer["'“”]\s*[:：]\s*["'“”]?\s*({_WORDS})\s*["'“”]?\s*(?:[,}}]|$)""", re.IGNORECASE
)

#: The key of a verdict in JSON.
_KEY = re.compile(r"""["'“”]answer["'“”]\s*[:：]\s*["'“”]?\s*""")


@dataclass(frozen=True)
class Verdict:
    """A verdict.

    Attributes
    ----------
    word : str
        The verdict as it was given, such as ``"正确"``.
    right : bool
        Its meaning.
    reason : str or None
        The reason, if the model gives one.
    """

    word: str
    right: bool
    reason: str | None = None


def meaning(word: str) -> bool | None:
    """Return whether a word means right; ``None`` if it means neither right nor wrong.

    Examples
    --------
    >>> [meaning(word) for word in ("Correct", "不正确", "部分正确")]
    [True, False, None]
    """
    word = " ".join(word.lower().split())
    return True if word in RIGHT else False if word in WRONG else None


def verdict_of(text: str) -> Verdict | None:
    """Return the verdict in an answer: a JSON object with ``answer``, or its first word.

    It is ``None`` if it means neither right nor wrong.

    Examples
    --------
    >>> verdict_of('{"reason": "So it is.", "answer": "right"}')
    Verdict(word='right', right=True, reason='So it is.')
    >>> verdict_of("不正确，年份有误。").right, verdict_of("正确答案是一九九八年")
    (False, None)
    """
    text = without_thought(text)
    answer = _object(text)
    if answer is not None:
        value, reason = answer.get("answer"), answer.get("reason")
        word = value if isinstance(value, str) else ""
        word = str(value).lower() if value in (True, False) else word
        reason = reason if isinstance(reason, str) and reason.strip() else None
        match = _START.match(word)
        return Verdict(word.strip(), _right(match), reason) if match else None
    match = _last(_BROKEN, text) or _START.match(text)
    return Verdict(match[1], _right(match)) if match else None


def _right(match: re.Match[str]) -> bool:
    return bool(meaning(match[1]))


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(reversed(list(pattern.finditer(text))), None)


def _object(text: str) -> dict[str, Any] | None:
    """Return the last JSON object with the key ``answer`` in a text."""
    decoder, last, at = json.JSONDecoder(strict=False), None, text.find("{")
    while at >= 0:
        end = at + 1
        try:
            value, end = decoder.raw_decode(text, at)
            if isinstance(value, dict) and "answer" in value:
                last = value
        except (ValueError, RecursionError):
            pass
        at = text.find("{", end)
    return last


def reply_of(response: Any) -> Reply:
    """Return the reply in a response; its ``verdict`` is the first token of the verdict.

    Without other text, the text is the refusal that a server sends separately.
    """
    text, steps = text_of(response), steps_of(response)
    if not text.strip():
        text = str((response["choices"][0].get("message") or {}).get("refusal") or text)
    return Reply(text, steps[0] if steps else None, _decisive(steps), usage_of(response))


def _decisive(steps: list[Step]) -> Step | None:
    """Return the first token of the verdict."""
    text = "".join(step.token.replace("Ġ", " ").replace("▁", " ") for step in steps)
    answer = _last(_KEY, text)
    match = _START.match(text, answer.end()) if answer else _START.match(text)
    if match is None:
        return None
    ends = accumulate(len(step.token) for step in steps)
    return next((step for step, end in zip(steps, ends) if end > match.start(1)), None)


def side_of(token: str) -> bool | None:
    """Return whether the words that a token begins mean right; ``None`` if they disagree.

    Examples
    --------
    >>> from shroom.detectors.judge.answers import share
    >>> import math
    >>> top = (("正确", math.log(0.6)), ("错误", math.log(0.1)), ("不", math.log(0.1)))
    >>> round(share(top, side_of), 12)
    0.75
    """
    start = bare(token, "“”{}，。：！")
    sides = {meaning(word) for word in (*RIGHT, *WRONG) if word.startswith(start)}
    return sides.pop() if start and len(sides) == 1 else None
