"""The files of a fitted cross-encoder, and the runtime's session of them."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.problems import ShroomError
from shroom.inference.forward import session
from shroom.inference.onnx_dequantization import in_float32

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

#: What a fitted model's folder holds.
GRAPH, INTEGERS, TOKENIZER, ABOUT = "model.onnx", "weights.z", "tokenizer.json", "about.json"
TRAINING_ITEMS = "training_items.json"
#: The version of the folder that this kit reads and writes.
FORMAT = 2


def opened(folder: Path, shapes: Mapping[str, Sequence[int]], *, floats: bool = False) -> Any:
    """Return the runtime's session of a fitted model.

    Parameters
    ----------
    folder : path
        Of the model.
    shapes : mapping
        The shape of each array of integers, in the order in which they are stored.
    floats : bool
        Whether products are computed in float32; see :mod:`shroom.inference.onnx_dequantization`.

    Raises
    ------
    ShroomError
        Where the runtime is not installed, or the files are missing or damaged.
    """
    try:
        integers = np.frombuffer(zlib.decompress((folder / INTEGERS).read_bytes()), np.int8)
        graph = (folder / GRAPH).read_bytes()
        graph = in_float32(graph) if floats else graph
    except (OSError, ValueError, zlib.error) as error:
        raise ShroomError(f"{folder}: cannot be loaded: {error}") from error
    ends = np.cumsum([np.prod(shape) for shape in shapes.values()])
    if not len(ends) or len(integers) != ends[-1]:
        raise ShroomError(f"{folder}: {INTEGERS} does not belong to this {ABOUT}")
    parts = np.split(integers, ends[:-1])
    arrays = {name: part.reshape(shapes[name]) for name, part in zip(shapes, parts)}
    return session(graph, str(folder), arrays)
