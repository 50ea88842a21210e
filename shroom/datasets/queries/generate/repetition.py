"""Near-duplicates within a set of queries, and of the seeds that it was made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shroom.datasets.queries.generate.rouge_l import References, words
from shroom.datasets.queries.reader import folded, is_debate_question

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    texts = [words(query) for query in queries]
    references, models = References(texts), References(map(words, seeds or ()))
    other, earlier, seed, left = np.zeros((4, len(queries)), dtype=bool)
    for place, text in enumerate(texts):
        near = references.rouge_l(text) >= threshold
        earlier[place] = near[:place].any()
        other[place] = earlier[place] or near[place + 1 :].any()
        seed[place] = (models.rouge_l(text) >= threshold).any()
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
