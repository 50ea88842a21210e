"""How many of the answer's words a generation contains, and how rare its keywords are."""

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

#: Added to divisors so that they are not 0.
EPSILON = 1e-6


@dataclass(eq=False)
class Unigram(Scorer):
    """Overlap with the answer, and the average −ln probability of the most probable keywords."""

    # Liang et al. (2024), *Learning to Trust Your Feelings*, arXiv:2401.15449, section 3.

    name = "unigram"
    fields = (
        "unigram_overlap_with_answer_score",
        "onegram_probs",
        "top_k_avg_probs_score",
    )
    top_k: Count = 5  # the number of keywords of a generation that are averaged
    language: Literal["auto", "zh", "en", "other"] = "auto"
    dictionary: File | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._languages: dict[str, Language] = {}
        if self.dictionary is None:
            return
        if self.language not in ("auto", CHINESE):
            raise ShroomError(
                f"a dictionary is used only for Chinese, but language is {self.language}"
            )
        if not Path(self.dictionary).is_file():
            raise ShroomError(f"dictionary: {self.dictionary}: no such file")

    @cached_property
    def identity(self) -> str:
        names = LANGUAGES if self.language == "auto" else (self.language,)
        finders = ", ".join(self._finder(name).identity for name in names)
        return f"unigram 2 top_k={self.top_k} language={self.language} ({finders})"

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
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
                tuple({word: value} for word, value in zip(words.keywords, surprise)),
                least_average(surprise, self.top_k),
            )
            scores.append(dict(zip(self.fields, values)))
        return scores

    def _counted(self, question: str, *texts: str) -> tuple[dict[str, Words], Counter[str]]:
        """Return the words of texts, and the frequency of each keyword, refusals included."""
        name = language_of((question, *texts)) if self.language == "auto" else self.language
        finder = self._finder(name)
        words_of = {text: finder.words(text) for text in dict.fromkeys(texts)}
        return words_of, Counter(keyword for text in texts for keyword in words_of[text].keywords)

    def _finder(self, name: str) -> Language:
        if name not in self._languages:
            self._languages[name] = language(name, self.dictionary)
        return self._languages[name]


def overlap(tokens: Sequence[str], words: Collection[str]) -> float:
    """Return the share of the answer's tokens, with repeats, that a generation contains."""
    # In [0, 1), because the divisor is n + ε; 0 if there are no tokens.
    return sum(token in words for token in tokens) / (len(tokens) + EPSILON)


def surprises(keywords: Sequence[str], count: Counter[str]) -> list[float]:
    """Return −ln(c / (Σ c + ε)) of each keyword: at least 0, and greater for rarer keywords."""
    total = sum(count.values()) + EPSILON
    return [-math.log(count[keyword] / total) for keyword in keywords]


def least_average(values: Sequence[float], k: int) -> float:
    """Return the average of the k smallest values, or of all if there are fewer."""
    least = sorted(values)[:k]
    # Added from the left: the sum() of newer Pythons differs in the last digit.
    return reduce(add, least, 0.0) / (len(least) + EPSILON)
