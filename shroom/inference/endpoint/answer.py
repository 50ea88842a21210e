"""The text of a language model's answer."""

from __future__ import annotations

import re
from typing import Any

from shroom.core.problems import ShroomError, show

#: How vocabularies write blanks and line breaks at the start of a token.
BLANKS = "Ġ▁Ċĉ"
#: The thought of a reasoning model, with its end; and the start of a thought.
THOUGHT = re.compile(r"^.*</think(?:ing)?>", re.DOTALL)
OPEN = re.compile(rf"[\s{BLANKS}]*<think(?:ing)?>")
#: Errors raised by reading a response of an unexpected form.
UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, OverflowError)


def text_of(response: Any) -> str:
    """Return the text in a response, of a chat or of a completion.

    It is empty if there is none, as in a refusal.

    Examples
    --------
    >>> text_of({"choices": [{"message": {"content": "Yes."}}]}), text_of({"choices": [{}]})
    ('Yes.', '')
    """
    try:
        choice = response["choices"][0]
        return str((choice.get("message") or {}).get("content", choice.get("text")) or "")
    except UNREADABLE as error:
        raise ShroomError(
            f"the endpoint sent a response without an answer: {show(response)}"
        ) from error


def without_thought(text: str) -> str:
    r"""Return the answer after a thought; an empty text if the thought is unfinished.

    Examples
    --------
    >>> without_thought("<think>Or no?</think>Yes."), without_thought("<think>Yes, or")
    ('Yes.', '')
    """
    rest = THOUGHT.sub("", text)
    return "" if OPEN.match(rest) else rest
