"""The verdict in an answer, yes or no, and p(Hallucination): one rule for all judges."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any, NamedTuple

from shroom.core.problems import ShroomError
from shroom.inference.language_model.model import Reply, Step, bare

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
#: A verdict after a word for it, and at the end of a conclusion.
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


class Verdict(NamedTuple):
    """A verdict: the word in the answer, its meaning, and perhaps a reason."""

    word: str
    right: bool
    reason: str | None = None


def meaning(word: str) -> bool | None:
    """Return whether a word means yes; ``None`` if it means neither yes nor no."""
    word = " ".join(word.lower().split())
    return True if word in RIGHT else False if word in WRONG else None


def verdict_of(text: str) -> Verdict | None:
    """Return the verdict in an answer; ``None`` if it is neither yes nor no."""
    # In this order: JSON with ``answer`` or the like; what is boxed; what follows a word such as
    # ``Answer:``; the first word; the last word of a conclusion.
    answer = _object(text)
    if answer is None:
        match = _found(text)
        return Verdict(_word(match), bool(meaning(_word(match)))) if match else None
    value, reason = next(v for k, v in answer.items() if _is_key(k)), answer.get("reason")
    word = str(value).lower() if value in (True, False) else value
    match = _START.match(word) if isinstance(word, str) else None
    reason = reason if isinstance(reason, str) and reason.strip() else None
    return Verdict(word.strip(), bool(meaning(_word(match))), reason) if match else None


def step_of_verdict(reply: Reply) -> Step | None:
    """Return the token with which the verdict begins; ``None`` without a verdict."""
    tokens = [step.token.translate(_BLANKS) for step in reply.steps]
    text = "".join(tokens)
    answer = _last(_KEY, text)
    match = _START.match(text, answer.end()) if answer else _found(text)
    if match is None:
        return None
    start, ends = match.start(match.lastindex or 0), accumulate(map(len, tokens))
    return next((step for step, end in zip(reply.steps, ends) if end > start), None)


def side_of(token: str) -> bool | None:
    """Return whether words that begin with a token mean yes; ``None`` if they disagree."""
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


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(reversed(list(pattern.finditer(text))), None)


def _is_key(key: str) -> bool:
    return bool(re.fullmatch(_NAMES, key, re.IGNORECASE))


def _object(text: str) -> dict[str, Any] | None:
    """Return the last JSON object in a text that has a key of a verdict."""
    decoder, last, at = json.JSONDecoder(strict=False), None, text.find("{")
    while at >= 0:
        end = at + 1
        with suppress(ValueError, RecursionError):
            value, end = decoder.raw_decode(text, at)
            last = value if any(map(_is_key, value)) else last
        at = text.find("{", end)
    return last


#: Which side of a question a token is on.
Side = Callable[[str], bool | None]
#: Minimum probability that the tokens of an answer must have together to count as one.
LEAST_MASS = 0.001


class Judgement(NamedTuple):
    """p(Hallucination), if the answer is yes or no, and the word for the official baseline."""

    p: float | None
    word: str | None = None
    unfinished: bool = False


def share(top: Iterable[tuple[str, float]], side: Side, least: float = LEAST_MASS) -> float | None:
    """Return the share of True among the tokens of both sides; ``None`` if they are unlikely."""
    shares = {True: 0.0, False: 0.0, None: 0.0}
    for token, logprob in top:
        shares[side(token)] += math.exp(min(0.0, logprob))
    both = shares[True] + shares[False]
    return shares[True] / both if both >= least and both else None


def share_at(step: Step | None, side: Side) -> float | None:
    """Return :func:`share` of a token's alternatives, or of the token if it has none."""
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
    """Return the judgement by the log-probabilities if there are any, otherwise by the text."""
    # A server lists some alternatives; those of a model on this machine are ``exact``, and so count
    # however small they are if the text says neither.
    step = step_of_verdict(reply) or next(iter(reply.steps), None)
    in_english = step is None or says_no(step.token) is not None or _denies(step.token) is None
    p = share_at(step, says_no if in_english else _denies)
    if p is None and (verdict := verdict_of(reply.text)):
        p = float(not verdict.right)
    if p is None and exact and reply.steps:
        p = share(reply.steps[0].top, says_no, least=0)
    return Judgement(p, unfinished=p is None and reply.unfinished)


def from_samples(replies: Sequence[Reply]) -> Judgement:
    """Return the share of "no" among the samples that are yes or no."""
    wrong = [not verdict.right for reply in replies if (verdict := verdict_of(reply.text))]
    if not wrong:
        return Judgement(None, unfinished=any(reply.unfinished for reply in replies))
    return Judgement(sum(wrong) / len(wrong))


def official(reply: Reply) -> Judgement:
    """Return the judgement of the organisers' baseline: 1 - exp(logprob of yes), or exp(of no)."""
    # An answer that begins with no counts, as in nothing.
    start = reply.text.strip().lower()
    word = next((word for word in ("yes", "no") if start.startswith(word)), None)
    if word is None:
        return Judgement(None, None, reply.unfinished)
    if not reply.steps:
        raise ShroomError(
            "the official baseline needs the log-probability of the first token, which the "
            "endpoint does not return; use a server that returns it (llama.cpp, vLLM), or set "
            'scoring = "probability"'
        )
    return Judgement(_share_of_one(reply.steps[0].logprob, side=word == "no"), word)
