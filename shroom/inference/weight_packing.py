"""Matrices and tables as integers, and these in few bytes.

Trained matrices are close to normally distributed, so that evenly spaced integers of which the
common ones are small can be stored in fewer bits than they have: with steps of a sixth of the
standard deviation a weight takes 4.6 bits under Huffman's code and is off by 5%, while 4 bits with
a scale for every 64 weights take 4.25 and are off by 11%. The same integers are what the runtime
computes with.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def in_steps(
    weights: NDArray[np.float32], steps: float, most: int, axis: int
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return a matrix as integers, and the sizes of their steps along ``axis``.

    Parameters
    ----------
    weights : array, two-dimensional
        The matrix.
    steps : float
        Steps to a standard deviation of the whole matrix.
    most : int
        Greatest size of an integer; a line with a weight beyond it has wider steps.
    axis : int
        The axis along which a step is shared: 0 gives one for each column, 1 one for each row.

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
