"""ROUGE-L: how much of two texts' words stand in the same order in both.

With L the length of the longest common subsequence of words, recall is L over the reference's
length and precision L over the candidate's; F, their harmonic mean, is 2L over both lengths.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

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
    """Texts that candidates are held against, all of them at once.

    The lengths of the longest common subsequences come from bits, as Hyyrö (2004) has it, with the
    references side by side in one number: a step for each word of the candidate, however many
    references there are.

    Parameters
    ----------
    references : iterable of sequence of str
        The words of each.

    References
    ----------
    Lin (2004), ROUGE: A Package for Automatic Evaluation of Summaries, section 3.1. Hyyrö (2004),
    Bit-Parallel LCS-length Computation Revisited.

    Examples
    --------
    >>> references = References([words("Should zoos close?"), words("Is art for all?")])
    >>> references.rouge_l(words("Should all zoos close?")).round(6)
    array([0.857143, 0.25    ])
    """

    def __init__(self, references: Iterable[Sequence[str]] = ()) -> None:
        # Where each word stands, as bits; the places of a reference follow those of the one before,
        # with an empty one between, which takes up what an addition carries out of a reference.
        self._places: defaultdict[str, int] = defaultdict(int)
        self._all = 0
        self._starts: list[int] = []
        self._lengths: list[int] = []
        self._end = 0
        for reference in references:
            self.add(reference)

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, reference: Sequence[str]) -> None:
        """Add a reference, of which the words are given."""
        for place, word in enumerate(reference, start=self._end):
            self._places[word] |= 1 << place
        self._all |= ((1 << len(reference)) - 1) << self._end
        self._starts.append(self._end)
        self._lengths.append(len(reference))
        self._end += len(reference) + 1

    def rouge_l(self, candidate: Sequence[str]) -> NDArray[np.float64]:
        """Return F of a candidate with each reference: shape [n], in [0, 1].

        It is 0 where either has no words.
        """
        both = np.array(self._lengths, dtype=np.int64) + len(candidate)
        return 2 * self._common(candidate) / np.maximum(both, 1)

    def _common(self, candidate: Sequence[str]) -> NDArray[np.int64]:
        """Return the length of the longest common subsequence with each reference: shape [n]."""
        if not self._lengths:
            return np.zeros(0, dtype=np.int64)
        rest = self._all
        for word in candidate:
            here = rest & self._places.get(word, 0)
            rest = ((rest + here) | (rest ^ here)) & self._all
        # What is left out of a reference's bits is its part of the subsequence.
        found = (self._all ^ rest).to_bytes(self._end // 8 + 1, "little")
        bits = np.unpackbits(np.frombuffer(found, dtype=np.uint8), bitorder="little")
        return np.add.reduceat(bits, self._starts, dtype=np.int64)
