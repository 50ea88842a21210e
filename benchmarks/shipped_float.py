"""The shipped model's weights in float32.

The constants of the exported graph are named by the modules of the network that they are of, so
that every integer and its step find their place in torch.
"""

from __future__ import annotations

import json
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import numpy_helper

from shroom.detectors.cross_encoder.detector import MODEL
from shroom.detectors.cross_encoder.model_folder import ABOUT, GRAPH, INTEGERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


def weights() -> dict[str, NDArray[np.float32]]:
    """Return the weights of the network, by their names in torch."""
    small = _small()
    found = {name: value for name, value in small.items() if name.startswith("model.")}
    for place, kind, integers in _integers():
        if kind == "table":
            value = integers * small[f"{place}.steps"]
        else:  # torch keeps matrices the other way round
            value = np.ascontiguousarray((integers * small[f"{place}.columns"]).T)
        found[f"{_module(place)}.weight"] = value
    return found


def layer_norm_eps() -> float:
    """Return what the shipped graph adds to a variance."""
    (found,) = {
        attribute.f
        for node in _model().graph.node
        if node.op_type == "LayerNormalization"
        for attribute in node.attribute
        if attribute.name == "epsilon"
    }
    return float(found)


@lru_cache
def _model() -> Any:
    return onnx.load(str(MODEL / GRAPH), load_external_data=False)


def _small() -> dict[str, NDArray[Any]]:
    """Return the constants that are no integers of matrices and tables."""
    external = onnx.TensorProto.EXTERNAL
    every = _model().graph.initializer
    return {t.name: numpy_helper.to_array(t) for t in every if t.data_location != external}


def _integers() -> Iterator[tuple[str, str, NDArray[np.float32]]]:
    """Yield each array of integers: its place in the graph, ``matrix`` or ``table``, its values."""
    shapes = json.loads((MODEL / ABOUT).read_text(encoding="utf-8"))["integers"]
    stored = np.frombuffer(zlib.decompress((MODEL / INTEGERS).read_bytes()), np.int8)
    ends = np.cumsum([np.prod(shape) for shape in shapes.values()])
    for (name, shape), part in zip(shapes.items(), np.split(stored, ends[:-1])):
        place, kind = name.rsplit(".", maxsplit=1)
        yield place, kind, part.reshape(shape).astype(np.float32)


def _module(place: str) -> str:
    """Return the module of a place.

    Examples
    --------
    >>> _module("/model/encoder/encoder/layer.0/attention/attn/q/MatMul_output_0")
    'model.encoder.encoder.layer.0.attention.attn.q'
    """
    return ".".join(place.split("/")[1:-1])
