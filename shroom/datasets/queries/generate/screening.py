"""Which answers are new debate questions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shroom.datasets.queries.generate.rouge_l import References, words
from shroom.datasets.queries.reader import is_debate_question
from shroom.inference.endpoint.answer import without_thought

if TYPE_CHECKING:
    from collections.abc import Iterable

#: What chats put around a line: marks of lists, names of what follows, quotes, stars.
_MARK = re.compile(r"(?:[-•–]\s+|\d+[.)]\s+|(?:debate )?(?:question|query):)[*\s]*", re.IGNORECASE)
_AROUND = " *_`\"'“”‘’"

EMPTY, NO_QUESTION, NEAR = "empty", "no debate question", "near-duplicate"
#: Why answers are dropped.
REASONS = (NEAR, NO_QUESTION, EMPTY)


def first_line(answer: str) -> str:
    r"""Return the first line of an answer that is not blank, without what chats put around it.

    Examples
    --------
    >>> first_line('<think>Cats?</think>\n\n1. "Should cats  vote?"\nShould dogs?')
    'Should cats vote?'
    """
    lines = (" ".join(line.split()) for line in without_thought(answer).splitlines())
    line = next(filter(None, lines), "").strip(_AROUND)
    return _MARK.sub("", line, count=1).strip(_AROUND) if _MARK.match(line) else line


@dataclass(frozen=True)
class Verdict:
    """What is made of an answer.

    Attributes
    ----------
    query : str
        Its first line.
    why : str or None
        Why it is dropped, one of ``REASONS``; ``None`` where it is kept.
    nearest : str or None
        The seed or kept query that is most like it, where it is a question at all.
    rouge_l : float or None
        How much, in [0, 1].
    """

    query: str
    why: str | None
    nearest: str | None = None
    rouge_l: float | None = None


class Screen:
    """Keeps questions that are new, and knows all that it has kept.

    Parameters
    ----------
    seeds : iterable of str
        What is not new to begin with.
    threshold : float
        A question is a near-duplicate where ROUGE-L F is at least this with a seed or with a
        question that was kept; with 1, where it has the same words in the same order.

    Examples
    --------
    >>> screen = Screen(["Should zoos be closed?"], threshold=0.7)
    >>> screen.judge("Should all zoos be closed?").why, screen.judge("Close the zoos!").why
    ('near-duplicate', 'no debate question')
    >>> screen.judge("Should circuses have animals?")
    Verdict(query='Should circuses ...?', why=None, nearest='Should zoos ...', rouge_l=0.25)
    """

    def __init__(self, seeds: Iterable[str], *, threshold: float) -> None:
        self.threshold = threshold
        self._known: list[str] = []
        self._references = References()
        for seed in seeds:
            self._add(seed)

    def judge(self, answer: str) -> Verdict:
        """Return the verdict on an answer; a question that is kept is known from then on."""
        query = first_line(answer)
        if not is_debate_question(query):
            return Verdict(query, NO_QUESTION if query else EMPTY)
        likeness = self._references.rouge_l(words(query))
        place = int(likeness.argmax())
        nearest, rouge_l = self._known[place], float(likeness[place])
        if rouge_l >= self.threshold:
            return Verdict(query, NEAR, nearest, rouge_l)
        self._add(query)
        return Verdict(query, None, nearest, rouge_l)

    def _add(self, query: str) -> None:
        self._known.append(query)
        self._references.add(words(query))
