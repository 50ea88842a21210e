"""The text of a language model's answer, and the thought before it."""

from __future__ import annotations

import re
from typing import Any

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
UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, OverflowError)


def text_of(response: Any) -> str:
    """Return the text in a response, of a chat or of a completion.

    It is empty if there is none, as in a refusal. A thought that a server separates from an answer
    that is missing is returned as an unfinished one.

    Examples
    --------
    >>> text_of({"choices": [{"message": {"content": "Yes."}}]}), text_of({"choices": [{}]})
    ('Yes.', '')
    >>> text_of({"choices": [{"message": {"content": None, "reasoning": "Yes, or"}}]})
    '<think>Yes, or'
    """
    try:
        choice = response["choices"][0]
        message = choice.get("message") or {}
        text = str(message.get("content", choice.get("text")) or "")
        thought = message.get("reasoning_content") or message.get("reasoning")
    except UNREADABLE as error:
        raise ShroomError(
            f"the endpoint sent a response without an answer: {show(response)}"
        ) from error
    return f"<think>{thought}" if thought and not text.strip() else text


def end_of_thought(text: str) -> int | None:
    """Return the place at which the answer begins; ``None`` if the thought is unfinished.

    Examples
    --------
    >>> end_of_thought("Yes."), end_of_thought("<think>Or"), end_of_thought("Or no?</think>Yes.")
    (0, None, 14)
    """
    match = _THOUGHT.match(text)
    end = match.end() if match else 0
    return None if _OPEN.match(text, end) else end


def without_thought(text: str) -> str:
    r"""Return the answer after a thought; an empty text if the thought is unfinished.

    Examples
    --------
    >>> without_thought("<think>Or no?</think>Yes."), without_thought("<think>Yes, or")
    ('Yes.', '')
    >>> without_thought("<|channel|>analysis<|message|>No?<|channel|>final<|message|>Yes.")
    'Yes.'
    """
    end = end_of_thought(text)
    return "" if end is None else text[end:]


def opened_thought(prompt: str) -> str:
    r"""Return the mark with which a prompt opens a thought; an empty text if it opens none.

    Examples
    --------
    >>> opened_thought("<|assistant|>\n<think>\n"), opened_thought("<think></think>")
    ('<think>\n', '')
    """
    match = _OPENED.search(prompt)
    return match[0] if match else ""
