"""A fitted cross-encoder in the files of a folder, run by onnxruntime with integers or floats."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Rule
from shroom.core.problems import ShroomError
from shroom.detectors.fitted import Fitted
from shroom.detectors.out_of_fold import TrainingItems, reading
from shroom.detectors.pairs import Encoding
from shroom.inference.classifier import session
from shroom.inference.compute import threads
from shroom.inference.hub import files_digest, library_versions
from shroom.inference.run_settings import Run

#: Files in the folder of a fitted model.
GRAPH, INTEGERS, TOKENIZER, ABOUT = "model.onnx", "weights.z", "tokenizer.json", "about.json"
TRAINING_ITEMS = "training_items.json"
#: The product of integers that :func:`~.quantization.quantised` uses.
_PRODUCT = "MatMulIntegerToFloat"
#: The fields of ONNX's messages that are used here (onnx.proto): the number, and the type.
_MESSAGES = {
    "Model": {"graph": (7, "Graph")},
    "Graph": {"node": (1, "Node"), "output": (12, "Value")},
    "Node": {
        "input": (1, "string"),
        "output": (2, "string"),
        "name": (3, "string"),
        "op_type": (4, "string"),
        "attribute": (5, "bytes"),
    },
    "Value": {"name": (1, "string")},
}
#: The attribute ``to = 1`` of a cast to float32, in protobuf's wire format.
_TO_FLOAT32 = b"\x0a\x02to\x18\x01\xa0\x01\x02"
#: Several threads may load the model at once.
_LOADING = Lock()


def loaded(folder: Path) -> Fitted:
    """Return the model in a folder that ``shroom fit cross-encoder`` wrote."""
    fit = "to fit a model, use: shroom fit cross-encoder DATA --model ENCODER -o FOLDER"
    with reading(folder, "a model of the cross-encoder", fit):
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        threshold, digest = float(about["threshold"]), str(about["weights"])
        rule = Rule(about.get("recipe", {}).get("reference", Rule.GIVEN))
        model = ModelFolder(folder, about["integers"], about["padding"], about["room"], rule)
        content = (folder / TRAINING_ITEMS).read_text(encoding="utf-8")
        items = TrainingItems.from_dict(json.loads(content))
    return Fitted(model, threshold, items, digest)


@dataclass
class ModelFolder:
    """The model in a folder: the shapes of its integers, and its input. It is opened when used."""

    folder: Path
    shapes: Mapping[str, Sequence[int]]
    padding: int
    room: int
    rule: Rule

    def __post_init__(self) -> None:
        self._sessions: dict[str, Any] = {}

    def precision(self, run: Run) -> str:
        """Return the precision to compute in: ``int8`` or ``float32``."""
        if run.device not in (None, "cpu"):
            run.note("the cross-encoder always runs on the CPU; --device is ignored")
        if run.precision not in (None, "float32", "int8"):
            raise ShroomError(
                f"precision: the cross-encoder computes in int8 or float32, not in {run.precision}"
            )
        return run.precision or "int8"

    def probabilities(self, batch: NDArray[np.int64], precision: str) -> NDArray[np.float32]:
        """Return p(Hallucination) of a batch of ids and sides: shape [batch]."""
        with _LOADING:
            if precision not in self._sessions:
                self._sessions[precision] = self._opened(precision)
        return np.asarray(self._sessions[precision].run(None, {"pairs": batch})[0])

    def content(self) -> str:
        """Return a text that identifies the weights and the libraries that compute p."""
        digest = files_digest(self.folder / name for name in (GRAPH, INTEGERS, TOKENIZER, ABOUT))
        return f"cross-encoder {digest} {library_versions('onnxruntime', 'tokenizers')}"

    @property
    def workers(self) -> int:
        """The number of threads that run it at once."""
        return threads()

    @cached_property
    def encoding(self) -> Encoding:
        """The encoding of its input."""
        path = self.folder / TOKENIZER
        if not path.is_file():
            raise ShroomError(
                f"{self.folder} contains no {TOKENIZER}; copy the whole folder of the model"
            )
        return Encoding(path, self.padding, self.room)

    def _opened(self, precision: str) -> Any:
        """Return a session of ONNX Runtime that computes in a precision."""
        try:
            packed = (self.folder / INTEGERS).read_bytes()
            integers = np.frombuffer(zlib.decompress(packed), np.int8)
            graph = (self.folder / GRAPH).read_bytes()
            graph = in_float32(graph) if precision == "float32" else graph
            ends = np.cumsum([np.prod(shape) for shape in self.shapes.values()])
            parts = zip(self.shapes.items(), np.split(integers, ends[:-1]))
            arrays = {name: part.reshape(shape) for (name, shape), part in parts}
        except Exception as error:  # a damaged file can make the libraries raise anything
            raise ShroomError(
                f"{self.folder}: the model cannot be loaded ({error}); copy the whole folder"
            ) from error
        return session(graph, str(self.folder), arrays)


def in_float32(model: bytes) -> bytes:
    """Return a graph of :func:`~.quantization.quantised` with products in float32."""
    # Runtimes and processors sum floats in different orders. In rows that are rounded to 8 bits,
    # this can turn a difference in the last digit into a whole step.
    # The package onnx is only needed for fitting, so the graph is read as a protobuf message.
    whole = _model_class().FromString(model)
    for graph in whole.graph:
        nodes = list(graph.node)
        products = {node.output[0] for node in nodes if node.op_type[-1] == _PRODUCT}
        scaled = {name.removesuffix(".raw") for name in products}
        needed = {output.name[-1] for output in graph.output if output.name}
        del graph.node[:]
        for node in reversed(nodes):  # what reads a node's outputs comes before it
            if node.output[0] in products:
                new = _product(type(node), node)
            elif scaled.isdisjoint(node.output) and not needed.isdisjoint(node.output):
                new = [node]
            else:
                continue  # it rounds rows, or brings a product of integers back to size
            needed.update(name for made in new for name in made.input)
            graph.node.extend(reversed(new))
        graph.node.reverse()
    return bytes(whole.SerializeToString())


def _product(make: Any, node: Any) -> list[Any]:
    """Return nodes for a product of floats with the same matrix, in order."""
    rows, _, _, columns, *_ = node.input
    source, name = rows.removesuffix(".q"), node.output[0].removesuffix(".raw")
    matrix, values, floats = (f"{name}.matrix{end}" for end in ("", ".values", ".floats"))
    return [
        make(input=inputs, output=[output], name=[output], op_type=[kind], attribute=attributes)
        for kind, inputs, output, attributes in (
            ("Cast", [matrix], values, [_TO_FLOAT32]),
            ("Mul", [values, columns], floats, []),
            ("MatMul", [source, floats], name, []),
        )
    ]


@cache
def _model_class() -> Any:
    """Return the class of ONNX's ``ModelProto``; it keeps the fields that it does not name."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="onnx_in_part.proto", syntax="proto3")
    field_type = descriptor_pb2.FieldDescriptorProto
    types = {"string": field_type.TYPE_STRING, "bytes": field_type.TYPE_BYTES}
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            about = {"type": types[kind]} if kind in types else {"type_name": kind}
            # On the wire, a single value is a list of one.
            message.field.add(name=field, number=number, label=field_type.LABEL_REPEATED, **about)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Model"))
