"""Embeddings without a model: how often each short piece of a text comes in it.

They are lexical: texts are similar that are written alike, whatever they mean. They work in every
language, and a text's is always the same.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import numpy as np

from shroom.inference.tokenization import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: The lengths of pieces, in characters.
LENGTHS = (1, 2, 3)
#: A power of two, so many that few pieces of a text share one.
DIMENSIONS = 1 << 15
#: What tells these embeddings from others; raised when they change.
IDENTITY = f"character n-grams 1 {LENGTHS} {DIMENSIONS}"
#: Odd numbers without a pattern, for mixing bits (of the SplitMix64 generator).
_STEP, _MIX_1, _MIX_2 = (
    np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def embed(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return a unit vector of each text, without negative numbers: shape [n, ``DIMENSIONS``].

    A piece of one to three characters that comes c times weighs 1 + ln c. Case, width and other
    variants of a character (NFKC) do not matter, white space does as one blank, which also stands
    before and after each text. Pieces are hashed to dimensions.

    Examples
    --------
    >>> one, same, other = embed(["A cat.", "a  CAT.", "Dogs!"])
    >>> round(float(one @ same), 12), bool(one @ other < 0.2)
    (1.0, True)
    """
    if not texts:
        return np.empty((0, DIMENSIONS))
    padded = [f" {' '.join(_folded(text).split())} " for text in texts]
    codes = np.frombuffer("".join(padded).encode("utf-32-le"), dtype="<u4").astype(np.uint64)
    lengths = np.array([len(text) for text in padded])
    owner = np.repeat(np.arange(len(texts)), lengths)
    end = np.repeat(np.cumsum(lengths), lengths)
    places, rolled, counted = np.arange(len(codes)), np.zeros(len(codes), np.uint64), []
    for n in range(1, max(LENGTHS) + 1):
        # Of each piece of n characters that begins somewhere, from that of n - 1.
        rolled = rolled[: len(codes) - n + 1]
        rolled = _mixed(rolled ^ codes[n - 1 :])
        if n in LENGTHS:
            inside = places[: len(rolled)] + n <= end[: len(rolled)]
            columns = (rolled[inside] & np.uint64(DIMENSIONS - 1)).astype(np.intp)
            counted.append(owner[: len(rolled)][inside] * DIMENSIONS + columns)
    cells, count = np.unique(np.concatenate(counted), return_counts=True)
    weights, rows = 1 + np.log(count), cells // DIMENSIONS
    norms = np.sqrt(np.bincount(rows, weights * weights, minlength=len(texts)))
    vectors = np.zeros((len(texts), DIMENSIONS))
    vectors.ravel()[cells] = weights / norms[rows]
    return vectors


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", plain(text)).casefold()


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers of which all bits depend on all bits of those given."""
    numbers = numbers + _STEP
    numbers = (numbers ^ (numbers >> np.uint64(30))) * _MIX_1
    numbers = (numbers ^ (numbers >> np.uint64(27))) * _MIX_2
    return numbers ^ (numbers >> np.uint64(31))
