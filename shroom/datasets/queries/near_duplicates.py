"""Which debate questions are new: the screening of answers, and near-duplicates within a set.

ROUGE-L is the share of two texts' words that are in the same order in both. With L the length of
the longest common subsequence of words, recall is L over the reference's length and precision L
over the candidate's; F, their harmonic mean, is 2L over the sum of both lengths. This is the Indel
similarity of rapidfuzz, 2L, over that sum.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shroom.core.extras import require
from shroom.datasets.queries.reader import folded, is_debate_question
from shroom.inference.endpoint.answer import without_thought

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

_WORD = re.compile(r"[a-z0-9]+")
#: Decoration of a line in chats: list markers, labels, quotes, asterisks.
_MARK = re.compile(r"(?:[-•–]\s+|\d+[.)]\s+|(?:debate )?(?:question|query):)[*\s]*", re.IGNORECASE)
_AROUND = " *_`\"'“”‘’"

EMPTY, NO_QUESTION, NEAR = "empty", "no debate question", "near-duplicate"
#: Reasons for dropping an answer.
REASONS = (NEAR, NO_QUESTION, EMPTY)


def words(text: str) -> list[str]:
    """Return the words that ROUGE compares: runs of a–z and 0–9, in lower case, unstemmed.

    Examples
    --------
    >>> words("Should the UK's schools re-open?")
    ['should', 'the', 'uk', 's', 'schools', 're', 'open']
    """
    return _WORD.findall(text.lower())


def rouge_l(candidate: Sequence[str], references: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """Return ROUGE-L F of a candidate with each reference: shape [n], in [0, 1].

    It is 0 if either has no words.

    References
    ----------
    Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries, section 3.1.

    Examples
    --------
    >>> references = [words("Should zoos close?"), words("Is art for all?")]
    >>> rouge_l(words("Should all zoos close?"), references).round(6)
    array([0.857143, 0.25    ])
    """
    require("data", "rapidfuzz")
    from rapidfuzz.distance import Indel
    from rapidfuzz.process import cdist

    twice = cdist([candidate], references, scorer=Indel.similarity)[0]
    lengths = np.array([len(candidate) + len(reference) for reference in references], np.int64)
    f: NDArray[np.float64] = twice / np.maximum(lengths, 1)
    return f


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
        require("data", "rapidfuzz")
        self.threshold = threshold
        self._questions = list(seeds)
        self._words = [words(question) for question in self._questions]

    def judge(self, answer: str) -> Screening:
        """Return the screening of an answer; a kept question is no longer new afterwards."""
        query = first_line(answer)
        if not is_debate_question(query):
            return Screening(query, NO_QUESTION if query else EMPTY)
        similarity = rouge_l(words(query), self._words)
        place = int(similarity.argmax())
        nearest, highest = self._questions[place], float(similarity[place])
        if highest >= self.threshold:
            return Screening(query, NEAR, nearest, highest)
        self._questions.append(query)
        self._words.append(words(query))
        return Screening(query, None, nearest, highest)


@dataclass(frozen=True)
class Likeness:
    """Numbers of near-duplicate queries: those with ROUGE-L F of at least ``threshold``.

    Attributes
    ----------
    queries : int
        Number of queries.
    debate : int
        Number of debate questions, by the original generator's rule.
    doubled : int
        Number of repeated queries, ignoring case and blanks.
    threshold : float
        The ROUGE-L F from which a query is a near-duplicate.
    near_other : int
        Number of near-duplicates of any other query.
    near_earlier : int
        Number of near-duplicates of an earlier query.
    near_seed : int or None
        Number of near-duplicates of a seed; ``None`` without seeds.
    left : int
        Number of queries that the generator would keep: in order, each is dropped that is a
        near-duplicate of a seed or of a kept query.
    """

    queries: int
    debate: int
    doubled: int
    threshold: float
    near_other: int
    near_earlier: int
    near_seed: int | None
    left: int


def describe(queries: Sequence[str], seeds: Sequence[str] | None, threshold: float) -> Likeness:
    """Return the numbers of near-duplicates among queries, and of seeds.

    Examples
    --------
    >>> queries = ["Should zoos be closed?", "Should all zoos be closed?", "Should art be free?"]
    >>> likeness = describe(queries, ["Should all art be free?"], 0.7)
    >>> likeness.near_other, likeness.near_earlier, likeness.near_seed
    (2, 1, 1)
    >>> likeness.left
    1
    """
    texts, models = [words(query) for query in queries], [words(seed) for seed in seeds or ()]
    other, earlier, seed, left = np.zeros((4, len(queries)), dtype=bool)
    for place, text in enumerate(texts):
        near = rouge_l(text, texts) >= threshold
        earlier[place] = near[:place].any()
        other[place] = earlier[place] or near[place + 1 :].any()
        seed[place] = (rouge_l(text, models) >= threshold).any()
        left[place] = not (seed[place] or (near & left).any())
    return Likeness(
        queries=len(queries),
        debate=sum(map(is_debate_question, queries)),
        doubled=len(queries) - len(set(map(folded, queries))),
        threshold=threshold,
        near_other=int(other.sum()),
        near_earlier=int(earlier.sum()),
        near_seed=None if seeds is None else int(seed.sum()),
        left=int(left.sum()),
    )
