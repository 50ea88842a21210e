"""How much a set of queries repeats itself, and the seeds that it was made from."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.datasets.queries.generate.rouge_l import References, words
from shroom.datasets.queries.reader import folded, is_debate_question

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Likeness:
    """How many queries are near-duplicates: ROUGE-L F of at least ``threshold``.

    Attributes
    ----------
    queries : int
        How many there are.
    debate : int
        How many are debate questions, as the original generator has it.
    doubled : int
        How many were there before, whatever their case and blanks.
    threshold : float
        The ROUGE-L F from which a query is a near-duplicate.
    near_other : int
        How many are near-duplicates of any other.
    near_earlier : int
        How many are near-duplicates of one before them.
    near_seed : int or None
        How many are near-duplicates of a seed; ``None`` without seeds.
    left : int
        How many the generator would have kept: going through them, each is dropped that is a
        near-duplicate of a seed or of one that is left.
    """

    queries: int
    debate: int
    doubled: int
    threshold: float
    near_other: int
    near_earlier: int
    near_seed: int | None
    left: int

    def to_dict(self) -> dict[str, Any]:
        """Return the counts by name."""
        return asdict(self)


def describe(queries: Sequence[str], seeds: Sequence[str] | None, threshold: float) -> Likeness:
    """Return how much queries repeat each other, and the seeds.

    Examples
    --------
    >>> queries = ["Should zoos be closed?", "Should all zoos be closed?", "Should art be free?"]
    >>> found = describe(queries, ["Should all art be free?"], 0.7)
    >>> found.near_other, found.near_earlier, found.near_seed
    (2, 1, 1)
    >>> found.left
    1
    """
    said = [words(text) for text in queries]
    among, models = References(said), References(map(words, seeds or ()))
    other, earlier, seed, left = np.zeros((4, len(queries)), dtype=bool)
    for place, text in enumerate(said):
        near = among.rouge_l(text) >= threshold
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
