"""Integers of 8 bits for the weights of a model, and for the rows that it multiplies with them."""
# Weights are near to normal: evenly spaced integers, six steps to a standard deviation, take 4.6
# bits under Huffman's code and are off by 5%; 4 bits with a scale for every 64 weights by 11%.
# A row's greatest number sets the step of all others. In transformers it is in the same columns for
# every text, so these are shared out (Zhao et al. 2019, Outlier Channel Splitting). The parts are
# rounded at places of their own; by Hermite's identity their sum is the whole, rounded once.

from __future__ import annotations

import zlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Texts for the rows: registers, lengths, scripts and signs that models meet. They never change, so
#: that a model's integers depend on nothing but its weights.
TEXTS = (
    (
        "The bridge was closed on 14 March 2019 after the river had risen by almost two metres.",
        "Engineers closed the bridge in spring because of high water.",
    ),
    ('"I never said that," she laughed, "but you may quote me!"', "She denied it."),
    (
        "How do I change the oil of a 1998 motorcycle (without special tools)?",
        "What tools are needed to paint a house?",
    ),
    ("(botany) Having leaves that grow close to the ground.", "With leaves near the soil."),
    (
        "Die Sitzung wurde um 9:30 Uhr eröffnet; drei Mitglieder fehlten.",
        "The meeting opened at half past nine, and three members were absent.",
    ),
    ("Stop it right now, Tom.", "Tom, please stop."),
    (
        "Of or relating to the study of very old languages, e.g. Sumerian & Akkadian.",
        "An ancient city in the south.",
    ),
    (
        "В 2020 году население города составляло 45 000 человек.",
        "In 2020, the town had 54,000 inhabitants.",
    ),
)
#: Zero in the middle of the integers, or near their end.
MIDDLE, LOW = 128, 20
#: At most one column in so many is added, and at most so many.
_SPARSE, _MOST = 24, 32


class Layout(NamedTuple):
    """How rows are brought to 8 bits: the integer of 0, and how many columns share each column."""

    zero: int
    copies: NDArray[np.int64]

    @property
    def steps(self) -> tuple[int, int]:
        """How many integers there are below zero, and above."""
        above = 255 - self.zero
        return min(self.zero, above), above

    @property
    def added(self) -> NDArray[np.int64]:
        """The columns that each column beyond the k-th repeats."""
        return np.repeat(np.arange(len(self.copies)), self.copies - 1)

    @property
    def offsets(self) -> NDArray[np.float32]:
        """The offset of each column before rounding, in steps; repeated columns are last."""
        parts = [np.zeros(len(self.copies), np.int64)]
        parts += [np.arange(1, count) for count in self.copies[self.copies > 1]]
        m = np.concatenate((self.copies, self.copies[self.added]))
        return ((2 * np.concatenate(parts) - (m - 1)) / (2 * m)).astype(np.float32)


def plain(k: int, zero: int = MIDDLE) -> Layout:
    """Return a layout of k columns without shared columns."""
    return Layout(zero, np.ones(k, np.int64))


def layout_of(rows: NDArray[np.float32]) -> Layout:
    """Return the layout with the smallest rounding error; added columns halve a step's square."""
    with np.errstate(over="ignore", invalid="ignore"):  # rows of a model that is out of range
        layouts = [_shared(rows, zero) for zero in (MIDDLE, LOW)]
        costs = [_cost(rows, layout) for layout in layouts]
        best = costs[1] < costs[0]
        once = plain(rows.shape[1], layouts[best].zero)
        return layouts[best] if 2 * costs[best] < _cost(rows, once) else once


def _shared(rows: NDArray[np.float32], zero: int) -> Layout:
    """Return the layout with a zero in which the widest columns are shared out."""
    layout = plain(rows.shape[1], zero)
    below, above = layout.steps
    sizes = np.maximum(rows / above, -rows / below)
    spread = np.sqrt(np.square(rows).mean(axis=1)) + np.finfo(np.float32).tiny
    parts = sizes.copy()
    for _ in range(min(rows.shape[1] // _SPARSE, _MOST)):
        widest = parts.argmax(axis=1)
        steps = parts[np.arange(len(rows)), widest] / spread
        column = np.bincount(widest, weights=steps**2).argmax()
        layout.copies[column] += 1
        parts[:, column] = sizes[:, column] / layout.copies[column]
    return layout


def _cost(rows: NDArray[np.float32], layout: Layout) -> float:
    """Return the mean square of a row's step, as a share of the row's own mean square."""
    below, above = layout.steps
    parts = rows / layout.copies
    steps = np.maximum(parts.max(axis=1) / above, -parts.min(axis=1) / below)
    square = np.square(rows).mean(axis=1) + np.finfo(np.float32).tiny
    return float((steps**2 / square).mean())


def in_steps(
    weights: NDArray[np.float32], steps: float, most: int, axis: int
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return a matrix of integers, with ``steps`` per standard deviation, and the step sizes."""
    widest = np.abs(weights).max(axis=axis, keepdims=True) / most
    sizes = np.maximum(widest, weights.std() / steps)
    sizes = np.where(sizes == 0, 1, sizes).astype(np.float32)
    return np.rint(weights / sizes).astype(np.int8), sizes


def packed(data: bytes) -> bytes:
    """Return bytes compressed by Huffman coding only, which are smaller than zlib's."""
    coder = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_HUFFMAN_ONLY)
    return coder.compress(data) + coder.flush()
