"""The screening of answers for new debate questions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shroom.datasets.queries.generate.rouge_l import References, words
from shroom.datasets.queries.reader import is_debate_question
from shroom.inference.endpoint.answer import without_thought

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Decoration of a line in chats: list markers, labels, quotes, asterisks.
_MARK = re.compile(r"(?:[-•–]\s+|\d+[.)]\s+|(?:debate )?(?:question|query):)[*\s]*", re.IGNORECASE)
_AROUND = " *_`\"'“”‘’"

EMPTY, NO_QUESTION, NEAR = "empty", "no debate question", "near-duplicate"
#: Reasons for dropping an answer.
REASONS = (NEAR, NO_QUESTION, EMPTY)


def first_line(answer: str) -> str:
    r"""Return the first line of an answer that is not blank, without decoration.

    Examples
    --------
    >>> first_line('<think>Cats?</think>\n\n1. "Should cats  vote?"\nShould dogs?')
    'Should cats vote?'
    """
    lines = (" ".join(line.split()) for line in without_thought(answer).splitlines())
    line = next(filter(None, lines), "").strip(_AROUND)
    return _MARK.sub("", line, count=1).strip(_AROUND) if _MARK.match(line) else line


@dataclass(frozen=True)
class Screening:
    """The result of screening an answer.

    Attributes
    ----------
    query : str
        Its first line.
    why : str or None
        The reason for dropping it, one of ``REASONS``; ``None`` if it is kept.
    nearest : str or None
        The most similar seed or kept query, if it is a debate question.
    rouge_l : float or None
        Their similarity, in [0, 1].
    """

    query: str
    why: str | None
    nearest: str | None = None
    rouge_l: float | None = None


class Screen:
    """Keeps questions that are new.

    Parameters
    ----------
    seeds : iterable of str
        The questions that are not new at the start.
    threshold : float
        A question is a near-duplicate if its ROUGE-L F with a seed or a kept question is at least
        this; at 1, if it has the same words in the same order.

    Examples
    --------
    >>> screen = Screen(["Should zoos be closed?"], threshold=0.7)
    >>> screen.judge("Should all zoos be closed?").why, screen.judge("Close the zoos!").why
    ('near-duplicate', 'no debate question')
    >>> screen.judge("Should circuses have animals?")
    Screening(query='Should circuses ...?', why=None, nearest='Should zoos ...', rouge_l=0.25)
    """

    def __init__(self, seeds: Iterable[str], *, threshold: float) -> None:
        self.threshold = threshold
        self._questions: list[str] = []
        self._references = References()
        for seed in seeds:
            self._add(seed)

    def judge(self, answer: str) -> Screening:
        """Return the screening of an answer; a kept question is no longer new afterwards."""
        query = first_line(answer)
        if not is_debate_question(query):
            return Screening(query, NO_QUESTION if query else EMPTY)
        similarity = self._references.rouge_l(words(query))
        place = int(similarity.argmax())
        nearest, rouge_l = self._questions[place], float(similarity[place])
        if rouge_l >= self.threshold:
            return Screening(query, NEAR, nearest, rouge_l)
        self._add(query)
        return Screening(query, None, nearest, rouge_l)

    def _add(self, query: str) -> None:
        self._questions.append(query)
        self._references.add(words(query))
