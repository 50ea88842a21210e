"""How many of the answer's words a generation has, and how rare its keywords are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from typing import Literal

from shroom.annotate.base import Item, Scorer, Scores
from shroom.annotate.words import CHINESE, LANGUAGES, Language, Words, language, language_of
from shroom.core.problems import ShroomError
from shroom.detectors.settings import Count, File
from shroom.inference.run_settings import Run

#: Added to divisors, which are then not 0.
EPSILON = 1e-6


@dataclass(eq=False)
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
    >>> from shroom.annotate.run_scorers import score
    >>> from shroom.datasets.dreamcatcher import Generation, Question
    >>> texts = (Generation("Paris, France", "normal"), Generation("London", "normal"))
    >>> question = Question("Capital of France?", "Paris", None, texts)
    >>> for each in score([question], [Unigram(language="other")]).questions[0].generation:
    ...     overlap, surprise = each.unigram_overlap_with_answer_score, each.top_k_avg_probs_score
    ...     print(round(overlap, 4), round(surprise, 4))
    1.0 1.0397
    0.0 1.3863
    """

    # Liang et al. (2024), *Learning to Trust Your Feelings*, arXiv:2401.15449, section 3.

    name = "unigram"
    fields = (
        "unigram_overlap_with_answer_score",
        "onegram_probs",
        "top_k_avg_probs_score",
    )
    top_k: Count = 5
    language: Literal["auto", "zh", "en", "other"] = "auto"
    dictionary: File | None = None

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        self._languages: dict[str, Language] = {}
        if self.dictionary is None:
            return
        if self.language not in ("auto", CHINESE):
            raise ShroomError(f"dictionary: is for Chinese, and language is {self.language}")
        if not Path(self.dictionary).is_file():
            raise ShroomError(f"dictionary: {self.dictionary}: there is no such file")

    @cached_property
    def identity(self) -> str:
        """The settings, and the libraries that find the words."""
        names = LANGUAGES if self.language == "auto" else (self.language,)
        finders = ", ".join(self._finder(name).identity for name in names)
        return f"unigram 1 top_k={self.top_k} language={self.language} ({finders})"

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
        """Return the scores of each generation."""
        del run  # there is no model
        counted: dict[Item, tuple[dict[str, Words], Counter[str]]] = {}
        scores: list[Scores] = []
        for question, answer, generations, place in items:
            texts = (question, answer, *(text for text, _ in generations))
            if texts not in counted:
                counted[texts] = self._counted(*texts)
            words_of, count = counted[texts]
            words, tokens = words_of[generations[place][0]], words_of[answer].tokens
            surprise = surprises(words.keywords, count)
            values = (
                overlap(tokens, words.vocabulary),
                tuple(zip(words.keywords, surprise)),
                least_average(surprise, self.top_k),
            )
            scores.append(dict(zip(self.fields, values)))
        return scores

    def _counted(self, question: str, *texts: str) -> tuple[dict[str, Words], Counter[str]]:
        """Return the words of texts, and how often each is a keyword, of refusals too."""
        name = language_of((question, *texts)) if self.language == "auto" else self.language
        finder = self._finder(name)
        words_of = {text: finder.words(text) for text in dict.fromkeys(texts)}
        return words_of, Counter(keyword for text in texts for keyword in words_of[text].keywords)

    def _finder(self, name: str) -> Language:
        if name not in self._languages:
            self._languages[name] = language(name, self.dictionary)
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
