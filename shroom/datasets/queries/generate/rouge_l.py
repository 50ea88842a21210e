"""ROUGE-L: the share of two texts' words that are in the same order in both.

With L the length of the longest common subsequence of words, recall is L over the reference's
length and precision L over the candidate's; F, their harmonic mean, is 2L over the sum of both
lengths. This is rapidfuzz's Indel similarity, 2L, over that sum.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from shroom.core.extras import require

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

_WORD = re.compile(r"[a-z0-9]+")


def words(text: str) -> list[str]:
    """Return the words that ROUGE compares: runs of a–z and 0–9, in lower case, unstemmed.

    Examples
    --------
    >>> words("Should the UK's schools re-open?")
    ['should', 'the', 'uk', 's', 'schools', 're', 'open']
    """
    return _WORD.findall(text.lower())


class References:
    """Texts to compare candidates with.

    Parameters
    ----------
    references : iterable of sequence of str
        The words of each text.

    References
    ----------
    Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries, section 3.1.

    Examples
    --------
    >>> references = References([words("Should zoos close?"), words("Is art for all?")])
    >>> references.rouge_l(words("Should all zoos close?")).round(6)
    array([0.857143, 0.25    ])
    """

    def __init__(self, references: Iterable[Sequence[str]] = ()) -> None:
        require("data", "rapidfuzz")
        self._references = list(references)

    def __len__(self) -> int:
        return len(self._references)

    def add(self, reference: Sequence[str]) -> None:
        """Add a reference, given its words."""
        self._references.append(reference)

    def rouge_l(self, candidate: Sequence[str]) -> NDArray[np.float64]:
        """Return F of a candidate with each reference: shape [n], in [0, 1].

        It is 0 if either has no words.
        """
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import cdist

        twice = cdist([candidate], self._references, scorer=Indel.similarity)[0]
        lengths = np.array([len(candidate) + len(one) for one in self._references], np.int64)
        f: NDArray[np.float64] = twice / np.maximum(lengths, 1)
        return f
