"""The shipped model's weights in float32, and its graph with products of float32.

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

from shroom.detectors.cross_encoder import ABOUT, GRAPH, INTEGERS, MODEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


def graph() -> bytes:
    """Return the shipped graph with the same integers, but without rounding what they multiply.

    It computes what a network with :func:`weights` has to, by another program.
    """
    made = onnx.ModelProto()
    made.CopyFrom(_model())
    value = {name: array for name, array in _small().items() if not name.endswith(".columns")}
    products = {}
    for place, kind, integers in _integers():
        if kind == "table":
            value[f"{place}.table"] = integers
        else:
            value[f"{place}.float"] = integers * _small()[f"{place}.columns"]
            products[place] = f"{place}.float"
    nodes = []
    for node in made.graph.node:
        place = node.output[0]
        if node.op_type == "MatMulIntegerToFloat":
            place = place[: -len(".raw")]
            source = node.input[0][: -len(".q")]
            nodes.append(onnx.helper.make_node("MatMul", [source, products[place]], [place]))
        elif place not in products:  # what brings a product of integers to size
            nodes.append(node)
    del made.graph.node[:], made.graph.initializer[:]
    made.graph.node.extend(_needed(nodes, made.graph.output))
    made.graph.initializer.extend(numpy_helper.from_array(a, name) for name, a in value.items())
    content: bytes = made.SerializeToString()
    return content


def _needed(nodes: list[Any], outputs: Iterable[Any]) -> list[Any]:
    """Return the nodes that outputs depend on: what brought rows to 8 bits is not among them."""
    wanted = {output.name for output in outputs}
    kept = []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            kept.append(node)
            wanted.update(node.input)
    return kept[::-1]


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
