"""The text of what a language model has answered."""

from __future__ import annotations

import re
from typing import Any

from shroom.core.problems import ShroomError, show

#: How vocabularies write blanks and line ends at the start of a token.
BLANKS = "Ġ▁Ċĉ"
#: What a reasoning model writes before its answer, with its end; and how it begins.
THOUGHT = re.compile(r"^.*</think(?:ing)?>", re.DOTALL)
OPEN = re.compile(rf"[\s{BLANKS}]*<think(?:ing)?>")
#: What reading a response as one of another form may raise.
UNREADABLE = (LookupError, TypeError, ValueError, AttributeError, OverflowError)


def text_of(response: Any) -> str:
    """Return the text in what a server has sent, of a chat or of a completion.

    It is empty where there is none, as in a refusal.

    Raises
    ------
    ShroomError
        Where it is no answer.

    Examples
    --------
    >>> text_of({"choices": [{"message": {"content": "Yes."}}]}), text_of({"choices": [{}]})
    ('Yes.', '')
    """
    try:
        choice = response["choices"][0]
        return str((choice.get("message") or {}).get("content", choice.get("text")) or "")
    except UNREADABLE as error:
        raise no_answer(response) from error


def no_answer(response: Any) -> ShroomError:
    """Return what is told of something that is no answer."""
    return ShroomError(f"the endpoint sent something that is no answer: {show(response)}")


def without_thought(text: str) -> str:
    r"""Return the answer itself; nothing where the thought before it has no end.

    Examples
    --------
    >>> without_thought("<think>Or no?</think>Yes."), without_thought("<think>Yes, or")
    ('Yes.', '')
    """
    rest = THOUGHT.sub("", text)
    return "" if OPEN.match(rest) else rest
