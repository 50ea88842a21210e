"""How many of the answer's words a generation has, and how rare its own keywords are.

The source's program is that of Liang et al. (2024), *Learning to Trust Your Feelings*,
arXiv:2401.15449, section 3.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, reduce
from operator import add
from pathlib import Path

from shroom.annotate.base import Scorer, Scores, Work
from shroom.annotate.words import CHINESE, LANGUAGES, Chinese, English, Other, language, language_of
from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher import Question
from shroom.detectors import settings
from shroom.inference.run_settings import Run

#: Added to divisors, which are then not 0.
EPSILON = 1e-6
AUTO = "auto"


class Unigram(Scorer):
    """Overlap with the answer, and the average −ln probability of the most probable keywords.

    Parameters
    ----------
    top_k : int
        The number of keywords of a generation that are averaged.
    language : str
        One of ``LANGUAGES``, or ``auto``: by the script of a question's texts.
    dictionary : path, optional
        jieba's dictionary, for Chinese; by default the one that comes with jieba.

    Examples
    --------
    >>> from shroom.annotate.base import Work
    >>> from shroom.datasets.dreamcatcher import Generation, Question
    >>> from shroom.inference.run_settings import RUN
    >>> texts = (Generation("Paris, France", "normal"), Generation("London", "normal"))
    >>> question = Question("Capital of France?", "Paris", None, texts)
    >>> for _, place, scores in Unigram(language="other").score([Work(question, (0, 1))], RUN):
    ...     overlap, _, surprise = scores.values()
    ...     print(place, round(overlap, 4), round(surprise, 4))
    0 1.0 1.0397
    1 0.0 1.3863
    """

    name = "unigram"
    fields = ("unigram_overlap_with_answer_score", "onegram_probs", "top_k_avg_probs_score")

    def __init__(
        self, top_k: int = 5, language: str = AUTO, dictionary: str | Path | None = None
    ) -> None:
        self._top_k = settings.integer("top_k", top_k, 1)
        self._language = settings.one_of("language", language, (AUTO, *LANGUAGES))
        if dictionary is not None and self._language not in (AUTO, CHINESE):
            raise ShroomError(f"dictionary: is for Chinese, and language is {self._language}")
        self._dictionary = None if dictionary is None else settings.path("dictionary", dictionary)
        if self._dictionary is not None and not self._dictionary.is_file():
            raise ShroomError(f"dictionary: {self._dictionary}: there is no such file")
        self._languages: dict[str, English | Chinese | Other] = {}

    @cached_property
    def identity(self) -> str:
        """The settings, and the libraries that find the words."""
        names = LANGUAGES if self._language == AUTO else (self._language,)
        finders = ", ".join(self._finder(name).identity for name in names)
        return f"unigram 1 top_k={self._top_k} language={self._language} ({finders})"

    def score(self, work: Sequence[Work], run: Run) -> Iterator[tuple[int, int, Scores]]:
        """Yield the scores of each generation that is wanted, question by question."""
        del run  # there is no model
        for place, item in enumerate(work):
            if item.pending:
                for generation, scores in self._of(item.question, item.pending):
                    yield place, generation, scores

    def _of(self, question: Question, pending: Collection[int]) -> Iterator[tuple[int, Scores]]:
        """Yield the scores of some generations; the keywords of all, refusals too, are counted."""
        texts = [question.answer, *(generation.text for generation in question.generation)]
        name = self._language
        if name == AUTO:
            name = language_of([question.question, *texts])
        finder = self._finder(name)
        words_of = {text: finder.words(text) for text in dict.fromkeys(texts)}
        count = Counter(keyword for text in texts for keyword in words_of[text].keywords)
        tokens = words_of[question.answer].tokens
        for place in pending:
            words = words_of[question.generation[place].text]
            surprise = surprises(words.keywords, count)
            yield (
                place,
                {
                    "unigram_overlap_with_answer_score": overlap(tokens, words.vocabulary),
                    "onegram_probs": tuple(zip(words.keywords, surprise)),
                    "top_k_avg_probs_score": least_average(surprise, self._top_k),
                },
            )

    def _finder(self, name: str) -> English | Chinese | Other:
        if name not in self._languages:
            self._languages[name] = language(name, self._dictionary if name == CHINESE else None)
        return self._languages[name]


def overlap(tokens: Sequence[str], words: Collection[str]) -> float:
    """Return the share of the answer's tokens, repeats counted, that a generation has.

    It is in [0, 1), as n + ε is divided by; 0 of no tokens.

    Examples
    --------
    >>> round(overlap(["a", "b", "a", "c"], {"a"}), 5)
    0.5
    """
    return sum(token in words for token in tokens) / (len(tokens) + EPSILON)


def surprises(keywords: Sequence[str], count: Counter[str]) -> list[float]:
    """Return −ln(c / (Σ c + ε)) of each keyword: at least 0, the rarer the greater."""
    total = sum(count.values()) + EPSILON
    return [-math.log(count[keyword] / total) for keyword in keywords]


def least_average(values: Sequence[float], k: int) -> float:
    """Return the average of the k least values, or of all where there are fewer.

    Examples
    --------
    >>> round(least_average([3.0, 1.0, 2.0], 2), 5)
    1.5
    """
    least = sorted(values)[:k]
    # From the left, in plain floats: the sum of newer Pythons differs in the last digit.
    return reduce(add, least, 0.0) / (len(least) + EPSILON)
