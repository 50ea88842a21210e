"""How many of the answer's words a generation contains, and how rare its keywords are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from operator import add
from typing import Literal

from shroom.annotate.base import Item, Scorer, Scores
from shroom.annotate.words import LANGUAGES, Words, language_of, versions
from shroom.detectors.settings import Count
from shroom.inference.run_settings import Run

#: Added to divisors so that they are not 0.
EPSILON = 1e-6


@dataclass(eq=False)
class Unigram(Scorer):
    """Overlap with the answer, and the average −ln probability of the most probable keywords."""

    # Liang et al. (2024), *Learning to Trust Your Feelings*, arXiv:2401.15449, section 3.

    name = "unigram"
    fields = ("unigram_overlap_with_answer_score", "onegram_probs", "top_k_avg_probs_score")
    top_k: Count = 5  # the number of keywords of a generation that are averaged
    language: Literal["auto", "zh", "en", "other"] = "auto"

    @cached_property
    def identity(self) -> str:
        return f"unigram 3 top_k={self.top_k} language={self.language} ({versions()})"

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
        del run  # there is no model
        words_of = cache(self._words)  # the generations of a question share their texts
        scores: list[Scores] = []
        for question, answer, generations, place in items:
            words, count = words_of(question, answer, *(text for text, _ in generations))
            own, tokens = words[generations[place][0]], words[answer].tokens
            total = sum(count.values()) + EPSILON
            rarity = [-math.log(count[keyword] / total) for keyword in own.keywords]
            least = sorted(rarity)[: self.top_k]
            overlap = sum(token in own.vocabulary for token in tokens) / (len(tokens) + EPSILON)
            # Added from the left: the sum() of newer Pythons differs in the last digit.
            average = reduce(add, least, 0.0) / (len(least) + EPSILON)
            values = overlap, tuple({word: it} for word, it in zip(own.keywords, rarity)), average
            scores.append(dict(zip(self.fields, values)))
        return scores

    def _words(self, question: str, *texts: str) -> tuple[dict[str, Words], Counter[str]]:
        """Return the words of texts, and the frequency of each keyword, refusals included."""
        name = language_of((question, *texts)) if self.language == "auto" else self.language
        words = {text: LANGUAGES[name](text) for text in dict.fromkeys(texts)}
        return words, Counter(keyword for text in texts for keyword in words[text].keywords)
