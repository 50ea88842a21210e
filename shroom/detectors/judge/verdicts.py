"""What an answer says, yes or no: the one rule for all judges, on this machine or served."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from shroom.inference.language_model.reply import Reply, Step, bare

#: The words of a verdict in English and Chinese, lower-cased.
_RIGHT = ("yes", "right", "correct", "true", "正确", "正確", "对", "對", "对的", "是", "是的")
_WRONG = (
    *("no", "wrong", "incorrect", "false", "not right", "not correct"),
    *("错误", "錯誤", "错", "錯", "错的", "不正确", "不正確", "不对", "不對", "否", "不", "不是"),
)
#: Yes and no in other languages: all of Mu-SHROOM and SHROOM-CAP, and some more.
_YES = """
ja oui si sí sì sim da да так tak ano áno igen kyllä evet bai ναι jah jā taip ya có はい 네
예 نعم بله ہاں हाँ हां होय হ্যাঁ હા అవును അതെ ஆம் ใช่ כן
"""
_NO = """
nein non não nee nej nei nu не нет ні nie ne nem ei hayır hayir ez όχι nē tidak bukan không
いいえ 아니요 아니오 لا خیر نه نہیں नहीं नाही না ના కాదు లేదు അല്ല ഇല്ല இல்லை ไม่ ไม่ใช่ לא
"""
RIGHT = (*_RIGHT, "supported", *_YES.split())
WRONG = (*_WRONG, "unsupported", "not supported", "not true", *_NO.split())


def _one_of(words: Sequence[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


# "正确答案是", "Right answers are" and "No doubt" are not verdicts, so a verdict is followed by
# punctuation or nothing; only a plain yes or no may begin a sentence about the text.
_WORD = rf"((?:{_one_of((*RIGHT, *WRONG))})(?=\s*(?:[^\w\s]|$)|[ \t]*\n))"
_ABOUT = r"(?=\s+(?:it|he|she|they|we|you|i|the|this|that|there|these|as|because|since|both)\b)"
_START = re.compile(
    rf"[\W_]*(?:\d+\s?[.):-][\W_]*)?(?:{_WORD}|((?:yes|no){_ABOUT}))", re.IGNORECASE
)
_ANSWER = (
    r"answer|verdict|judge?ment|conclusion|decision|result|antwort|réponse|respuesta|risposta|"
    r"resposta|ответ|відповідь|odpověď|odpowiedź|svar|vastaus|cevap|答案|答え|回答|判断|结论|답변?|"
    r"الإجابة|الجواب|پاسخ|उत्तर"
)
#: A verdict after a word for it, in a line with any label, and at the end of a conclusion.
_LABELLED = re.compile(
    rf"(?:{_ANSWER})[*_\"'”»]*(?:\s+(?:is|was|would be|ist|est|es|è|é)\b|は|是|为)?"
    rf"[\s:：*_\"'“”«»`(\[>-]+{_WORD}",
    re.IGNORECASE,
)
_LINE = re.compile(rf"^[^\n:：]{{1,40}}[:：][\W_]*?{_WORD}[^\w\n]*$", re.IGNORECASE | re.MULTILINE)
_LAST = re.compile(
    rf"(?:[:：.!?。！？\n–—-]|\b(?:is|be|say|conclude)\b)\W{{0,9}}{_WORD}[\W_]*$", re.IGNORECASE
)
#: After these labels, yes means no.
_OPPOSITE = re.compile(
    r"^[^\w\n]*(?:is[ _])?(?:hallucinat\w*|contradict\w*|unsupported|not[ _]supported)\W*[:：]",
    re.IGNORECASE | re.MULTILINE,
)
#: The part of a text in which the conclusion is looked for, in characters from its end.
_CONCLUSION = 200
_BOXED = re.compile(rf"\\boxed\s*\{{\s*(?:\\\w+\s*\{{)?\W*{_WORD}", re.IGNORECASE)
_QUOTE = r"""["'“”]"""
_NAMES = r"final[ _]?answer|answer|verdict|judge?ment|decision|result|(?:is[ _]?)?supported"
#: The key of a verdict in JSON.
_KEY = re.compile(rf"{_QUOTE}(?:{_NAMES}){_QUOTE}\s*[:：]\s*{_QUOTE}?\s*", re.IGNORECASE)
#: A verdict in JSON that no parser takes, as with quotation marks inside the reason.
_BROKEN = re.compile(rf"{_KEY.pattern}{_WORD}\s*{_QUOTE}?\s*(?:[,}}]|$)", re.IGNORECASE)


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
    """Return whether a word means yes or right; ``None`` if it means neither yes nor no.

    Examples
    --------
    >>> [meaning(word) for word in ("Correct", "不正确", "Non", "部分正确")]
    [True, False, False, None]
    """
    word = " ".join(word.lower().split())
    return True if word in RIGHT else False if word in WRONG else None


def verdict_of(text: str) -> Verdict | None:
    r"""Return the verdict in an answer; ``None`` if it is neither yes nor no.

    It is, in this order: a JSON object with ``answer`` or a similar key; what is boxed; what
    follows a word such as ``Answer:``; the first word; the last word of a conclusion.

    Examples
    --------
    >>> verdict_of('{"reason": "So it is.", "answer": "right"}')
    Verdict(word='right', right=True, reason='So it is.')
    >>> texts = ("**No**, it is not.", "1. Non.", "Answer: 否", r"So \boxed{no}", "It is, so: No.")
    >>> [verdict_of(text).right for text in texts]
    [False, False, False, False, False]
    >>> verdict_of("正确答案是一九九八年"), verdict_of("Yes and no")
    (None, None)
    """
    answer = _object(text)
    if answer is not None:
        value, reason = next(v for k, v in answer.items() if _is_key(k)), answer.get("reason")
        word = value if isinstance(value, str) else ""
        word = str(value).lower() if value in (True, False) else word
        reason = reason if isinstance(reason, str) and reason.strip() else None
        match = _START.match(word)
        return Verdict(word.strip(), _right(match), reason) if match else None
    match = _last(_BROKEN, text) or _found(text)
    return Verdict(_word(match), _right(match)) if match else None


def step_of_verdict(reply: Reply) -> Step | None:
    """Return the token with which the verdict begins; ``None`` without a verdict.

    Examples
    --------
    >>> step_of_verdict(Reply("Answer: Yes", (Step("Answer", -1), Step(":", -1), Step(" Yes", -2))))
    Step(token=' Yes', logprob=-2, top=())
    """
    tokens = [step.token.translate(_BLANKS) for step in reply.steps]
    text = "".join(tokens)
    answer = _last(_KEY, text)
    match = _START.match(text, answer.end()) if answer else _found(text)
    if match is None:
        return None
    start, ends = match.start(match.lastindex or 0), accumulate(map(len, tokens))
    return next((step for step, end in zip(reply.steps, ends) if end > start), None)


def side_of(token: str) -> bool | None:
    """Return whether the words that a token begins mean yes; ``None`` if they disagree.

    Examples
    --------
    >>> [side_of(token) for token in (" Yes", "wr", "不", "Ou", "The")]
    [True, False, False, True, None]
    """
    start = bare(token)
    for words in ((*_RIGHT, *_WRONG), (*RIGHT, *WRONG)):
        sides = {meaning(word) for word in words if word.startswith(start)}
        if start and len(sides) == 1:
            return sides.pop()
    return None


#: Marks of vocabularies that stand for blanks and line breaks.
_BLANKS = str.maketrans("Ġ▁Ċĉ", "  \n\t")


def _found(text: str) -> re.Match[str] | None:
    """Return the match of the verdict in a text that is not JSON."""
    match = _last(_BOXED, text) or _last(_LABELLED, text) or _START.match(text)
    if match or _OPPOSITE.search(text):
        return match
    return _last(_LINE, text) or _LAST.search(text, max(0, len(text) - _CONCLUSION))


def _word(match: re.Match[str]) -> str:
    return match[match.lastindex or 0]


def _right(match: re.Match[str]) -> bool:
    return bool(meaning(_word(match)))


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(reversed(list(pattern.finditer(text))), None)


def _is_key(key: str) -> bool:
    return bool(re.fullmatch(_NAMES, key, re.IGNORECASE))


def _object(text: str) -> dict[str, Any] | None:
    """Return the last JSON object in a text that has a key of a verdict."""
    decoder, last, at = json.JSONDecoder(strict=False), None, text.find("{")
    while at >= 0:
        end = at + 1
        try:
            value, end = decoder.raw_decode(text, at)
            if isinstance(value, dict) and any(map(_is_key, value)):
                last = value
        except (ValueError, RecursionError):
            pass
        at = text.find("{", end)
    return last
