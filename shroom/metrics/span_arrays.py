"""Spans of characters as arrays, and the cells into which they cut the texts."""

# Values are constant within a cell, which counts with its length: the work grows only with the
# number of spans, not with the number of characters.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.metrics.base import Floats

Ints = NDArray[np.int64]

#: The longest text, so that a position in all texts together fits into 64 bits.
MAX_END = 1 << 31
#: Probabilities that are equal to this many digits count as constant.
DIGITS = 8
#: Distance between two texts when their characters are numbered consecutively.
_STRIDE = MAX_END + 1


@dataclass(frozen=True)
class Spans:
    """The spans of n texts, as parallel arrays.

    Attributes
    ----------
    lengths : array of int, shape [n]
        Number of characters of each text.
    text : array of int, shape [m]
        The text of each span, in [0, n).
    start, end : array of int, shape [m]
        Positions of the first character of the span and of the character after the span. A span
        with ``start >= end`` marks nothing.
    prob : array, shape [m]
        Probability of the span; 1 for spans without a probability.

    Raises
    ------
    ValueError
        For positions below 0 or above ``MAX_END``.
    """

    lengths: Ints
    text: Ints
    start: Ints
    end: Ints
    prob: Floats

    def __post_init__(self) -> None:
        for places in (self.start, self.end):
            if len(places) and not 0 <= places.min() <= places.max() <= MAX_END:
                raise ValueError(f"expected spans within [0, {MAX_END}]")

    @classmethod
    def of(cls, texts: Sequence[Sequence[Sequence[float]]], lengths: Iterable[int]) -> Spans:
        """Return the spans of texts as arrays.

        Parameters
        ----------
        texts : sequence of n sequences of (start, end) or (start, end, prob)
            The spans of each text. If spans overlap, the last span determines the probability.
        lengths : n integers
            Number of characters of each text.

        Examples
        --------
        >>> spans = Spans.of([[(0, 4, 0.5), (6, 9, 1.0)], []], lengths=[9, 3])
        >>> spans.text.tolist(), spans.end.tolist(), spans.prob.tolist()
        ([0, 0], [4, 9], [0.5, 1.0])
        """
        flat = list(chain.from_iterable(texts))
        counts = np.fromiter(map(len, texts), np.int64, len(texts))
        start, end = (np.array([span[i] for span in flat], np.int64) for i in (0, 1))
        prob = np.array([span[2] if len(span) > 2 else 1.0 for span in flat], np.float64)
        sizes = np.array(list(lengths), np.int64)
        return cls(sizes, np.repeat(np.arange(len(texts)), counts), start, end, prob)

    def within(self) -> Spans:
        """Return the spans clipped to their texts, without empty ones."""
        end = np.minimum(self.end, self.lengths[self.text])
        inside = self.start < end
        text, start, prob = self.text[inside], self.start[inside], self.prob[inside]
        return Spans(self.lengths, text, start, end[inside], prob)


class Cells:
    """Texts cut wherever a span of any side begins or ends; cells between texts have length 0."""

    def __init__(self, *sides: Spans) -> None:
        lengths = sides[0].lengths
        if any(not np.array_equal(lengths, side.lengths) for side in sides):
            raise ValueError("expected spans of the same texts on both sides")
        self.n = len(lengths)
        self.bounds = np.unique(np.concatenate([_places(s, e) for s in sides for e in (0, 1)]))
        text = self.bounds // _STRIDE
        self.text = text[:-1]
        self.length = np.where(text[1:] == self.text, np.diff(self.bounds), 0)

    def spans(self, side: Spans) -> tuple[Ints, Ints]:
        """Return the first cell of each span and the cell after its last."""
        first, last = (np.searchsorted(self.bounds, _places(side, end)) for end in (0, 1))
        return first, np.maximum(first, last)

    def marked(self, side: Spans) -> NDArray[np.bool_]:
        """Return which cells are inside a span."""
        size = len(self.bounds)
        opened, closed = (np.bincount(places, minlength=size) for places in self.spans(side))
        return np.asarray(np.cumsum(opened - closed)[: len(self.text)] > 0)

    def painted(self, side: Spans, *, add: bool = False) -> Floats:
        """Return the probability of each cell: that of its last span, or with ``add`` the sum."""
        values = np.zeros(len(self.text))
        first, last = self.spans(side)
        # One by one, because numpy does not specify which of several equal indices wins.
        for start, end, prob in zip(first.tolist(), last.tolist(), side.prob.tolist()):
            values[start:end] = values[start:end] + prob if add else prob
        return values

    def sums(self, values: NDArray[Any]) -> Floats:
        """Return the sum over the characters of each text."""
        return np.asarray(np.bincount(self.text, self.length * values, self.n), np.float64)

    def varied(self, values: Floats) -> NDArray[np.bool_]:
        """Return whether the values of each text differ, rounded as Python rounds."""
        rounded = _rounded(values)
        least, greatest = np.full(self.n, np.inf), np.full(self.n, -np.inf)
        text, real = self.text[self.length > 0], rounded[self.length > 0]
        np.minimum.at(least, text, real)
        np.maximum.at(greatest, text, real)
        return least < greatest

    def is_zero(self, values: Floats) -> NDArray[np.bool_]:
        """Return whether all values of each text are 0, rounded as Python rounds."""
        return np.asarray(self.sums(_rounded(values) != 0) == 0)

    def rank_deviations(self, values: Floats) -> Floats:
        """Return twice the deviation of each cell from the mean rank of its text."""
        order = np.lexsort((values, self.text))
        text, ranked, length = self.text[order], values[order], self.length[order]
        rises = np.ones(len(order), bool)
        rises[1:] = (text[1:] != text[:-1]) | (ranked[1:] != ranked[:-1])
        level = np.cumsum(rises) - 1
        tied = np.bincount(level, length)
        total = np.bincount(text, length, self.n)
        before = np.cumsum(tied) - tied - (np.cumsum(total) - total)[text[rises]]
        deviations = np.empty(len(order))
        deviations[order] = (2 * before + tied - total[text[rises]])[level]
        return deviations


def _rounded(values: Floats) -> Floats:
    distinct, inverse = np.unique(values, return_inverse=True)
    return np.array([round(value, DIGITS) for value in distinct.tolist()])[inverse]


def _places(side: Spans, end: int) -> Ints:
    return np.asarray(side.text * _STRIDE + (side.end if end else side.start))
