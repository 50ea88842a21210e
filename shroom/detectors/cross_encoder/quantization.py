"""Integers of 8 bits for the weights of a model, and for the rows that it multiplies with them.

Trained matrices are close to normally distributed, so that evenly spaced integers of which the
common ones are small can be stored in fewer bits than they have: with steps of a sixth of the
standard deviation a weight takes 4.6 bits under Huffman's code and is off by 5%, while 4 bits with
a scale for every 64 weights take 4.25 and are off by 11%. The same integers are what the runtime
computes with.

The form of rows is chosen on rows that a model made of a few texts. A row's greatest number sets
the step of all others, and in transformers it is in the same few columns for every text:
they are 10 to 30 times the rest. Such a column is shared out to several, each of which holds a part
and is multiplied with the same row of the matrix (Zhao et al. 2019, "Improving Neural Network
Quantization without Retraining using Outlier Channel Splitting"). The parts are rounded at places
of their own, so that their sum is the whole, rounded once: for whole m, the sum of
floor(x / m + k / m) over k < m is floor(x) (Hermite's identity).

Rows that hardly go below 0, as GELU's, get most of the 256 integers for what is above.
"""

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
    """How rows are brought to 8 bits.

    Attributes
    ----------
    zero : int
        The integer of 0.
    copies : array of int, shape [k]
        For each column, how many columns share it.
    """

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
        """What is added to each column, the repeated ones last, before it is rounded: in steps."""
        parts = [np.zeros(len(self.copies), np.int64)]
        parts += [np.arange(1, count) for count in self.copies[self.copies > 1]]
        m = np.concatenate((self.copies, self.copies[self.added]))
        return ((2 * np.concatenate(parts) - (m - 1)) / (2 * m)).astype(np.float32)


def plain(k: int, zero: int = MIDDLE) -> Layout:
    """Return a layout of k columns without any that are shared out."""
    return Layout(zero, np.ones(k, np.int64))


def layout_of(rows: NDArray[np.float32]) -> Layout:
    """Return the layout in which rows of one place in a model lose least.

    Columns are only added where that brings the mean square of a step to less than a half.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(50, 48)).astype(np.float32)
    >>> print(layout_of(rows).copies.max())
    1
    >>> rows[:, 7] *= 20
    >>> layout = layout_of(rows)
    >>> print(layout.zero, np.flatnonzero(layout.copies > 1), layout.copies[7])
    128 [7] 3
    >>> layout_of(np.maximum(rows, 0)).zero
    20
    """
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
    """Return a matrix as integers, and the sizes of their steps along ``axis``.

    There are so many ``steps`` to a standard deviation of the whole matrix. A line with a weight
    beyond ``most`` of them has wider ones. Axis 0 gives a size for each column, 1 for each row.

    Examples
    --------
    >>> weights = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)
    >>> values, sizes = in_steps(weights, 6.5, 63, axis=0)
    >>> values.dtype.name, sizes.shape, bool(abs(values * sizes - weights).max() < 0.08)
    ('int8', (1, 8), True)
    """
    widest = np.abs(weights).max(axis=axis, keepdims=True) / most
    sizes = np.maximum(widest, weights.std() / steps)
    sizes = np.where(sizes == 0, 1, sizes).astype(np.float32)
    return np.rint(weights / sizes).astype(np.int8), sizes


def packed(data: bytes) -> bytes:
    """Return bytes under Huffman's code alone, as any zlib reads it.

    Looking for repetitions, as zlib does by itself, makes such data larger.
    """
    coder = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_HUFFMAN_ONLY)
    return coder.compress(data) + coder.flush()
