"""A fitted cross-encoder in the files of a folder, run by onnxruntime with integers or floats."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Rule
from shroom.core.problems import ShroomError
from shroom.detectors.fitted import Fitted
from shroom.detectors.out_of_fold import UNREADABLE, TrainingItems, why_unreadable
from shroom.detectors.pairs import Encoding
from shroom.inference.classifier import session
from shroom.inference.compute import threads
from shroom.inference.hub import files_digest, library_versions
from shroom.inference.run_settings import Run

#: Files in the folder of a fitted model.
GRAPH, INTEGERS, TOKENIZER, ABOUT = "model.onnx", "weights.z", "tokenizer.json", "about.json"
TRAINING_ITEMS = "training_items.json"
#: The version of the folder that this kit reads and writes.
FORMAT = 2
#: Several threads may load the model at once.
_LOADING = Lock()
#: Numbers of the fields of ONNX's messages (onnx.proto, of ModelProto, GraphProto and NodeProto).
_GRAPH, _NODE = 7, 1
_INPUT, _OUTPUT, _NAME, _KIND, _ATTRIBUTE = 1, 2, 3, 4, 5
#: A node's attribute ``to = 1`` as bytes: what is cast becomes float32.
_TO_FLOAT32 = b"\x0a\x02to\x18\x01\xa0\x01\x02"
#: How the fields of these messages are written: as a number, or as bytes after their length.
_VARINT, _BYTES = 0, 2
#: The most bytes of a number.
_LONGEST = 10
#: The product of integers that quantised() uses.
_PRODUCT = "MatMulIntegerToFloat"


def loaded(folder: Path) -> Fitted:
    """Return the model in a folder that ``shroom fit cross-encoder`` wrote."""
    path = folder / ABOUT
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        if about["format"] != FORMAT:
            raise ShroomError(
                f"{path}: this version of the kit reads format {FORMAT}, but the model has "
                f"format {about['format']}; fit the model again"
            )
        threshold, digest = float(about["threshold"]), str(about["weights"])
        rule = Rule(about.get("recipe", {}).get("reference", Rule.GIVEN))
        model = ModelFolder(folder, about["integers"], about["padding"], about["room"], rule)
    except UNREADABLE as error:
        raise ShroomError(
            f"{folder} is not a model of the cross-encoder ({why_unreadable(error)}); to "
            "fit a model, use: shroom fit cross-encoder DATA --model ENCODER -o FOLDER"
        ) from error
    path = folder / TRAINING_ITEMS
    try:
        items = TrainingItems.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except UNREADABLE as error:
        raise ShroomError(
            f"{path} is not a list of training items ({why_unreadable(error)}); copy the "
            "whole folder that 'shroom fit cross-encoder' wrote"
        ) from error
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
        files = (self.folder / name for name in (GRAPH, INTEGERS, TOKENIZER, ABOUT))
        return (
            f"cross-encoder {files_digest(files)} {library_versions('onnxruntime', 'tokenizers')}"
        )

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
        except (OSError, ValueError, zlib.error) as error:
            raise ShroomError(
                f"{self.folder}: the model cannot be loaded ({error}); copy the whole folder"
            ) from error
        ends = np.cumsum([np.prod(shape) for shape in self.shapes.values()])
        if not len(ends) or len(integers) != ends[-1]:
            raise ShroomError(
                f"{self.folder}: {INTEGERS} does not match {ABOUT}; copy the whole folder"
            )
        parts = np.split(integers, ends[:-1])
        shaped = zip(self.shapes.items(), parts)
        arrays = {name: part.reshape(shape) for (name, shape), part in shaped}
        return session(graph, str(self.folder), arrays)


class _Node(NamedTuple):
    """An operation of a graph: its type, inputs, outputs and bytes."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    raw: bytes


def in_float32(model: bytes) -> bytes:
    """Return a graph of :func:`~.quantization.quantised` with products in float32."""
    # Runtimes and processors sum floats in different orders; rows rounded to 8 bits turn a
    # difference in the last digit into a whole step. Read and written without onnx, in protobuf's
    # wire format.
    return b"".join(
        _field(number, _rewritten(value)) if number == _GRAPH else raw
        for number, value, raw in _fields(model)
    )


def _rewritten(graph: bytes) -> bytes:
    fields = list(_fields(graph))
    nodes = [_node(value, raw) for number, value, raw in fields if number == _NODE]
    others = [raw for number, _, raw in fields if number != _NODE]
    # Of ``name``, the product of ``source`` with ``name.matrix``, quantised() made ``name.raw``
    # from ``source.q``, and then ``name``.
    products = [node for node in nodes if node.kind == _PRODUCT]
    names = {node.outputs[0].removesuffix(".raw") for node in products}
    sources = {name.removesuffix(".q") for node in products for name in node.inputs[:1]}
    rounding = sources.union(*({f"{name}.scaled", f"{name}.matrix"} for name in sources | names))
    needed: set[str] = set()
    remaining: list[bytes] = []
    for node in reversed(nodes):  # what reads a node's outputs comes before it
        rounds = node.outputs[0].rpartition(".")[0] in rounding and needed.isdisjoint(node.outputs)
        if rounds or names.issuperset(node.outputs):
            continue
        replacement = _product(node) if node.kind == _PRODUCT else [node]
        needed.update(name for new in replacement for name in new.inputs)
        remaining += [new.raw for new in reversed(replacement)]
    return b"".join([*reversed(remaining), *others])


def _product(node: _Node) -> list[_Node]:
    """Return nodes for a product of floats with the same matrix, in order."""
    rows, _, _, columns, *_ = node.inputs
    source, name = rows.removesuffix(".q"), node.outputs[0].removesuffix(".raw")
    matrix = f"{name}.matrix"
    return [
        _made("Cast", [matrix], f"{matrix}.values", _field(_ATTRIBUTE, _TO_FLOAT32)),
        _made("Mul", [f"{matrix}.values", columns], f"{matrix}.floats"),
        _made("MatMul", [source, f"{matrix}.floats"], name),
    ]


def _made(kind: str, inputs: Sequence[str], output: str, attribute: bytes = b"") -> _Node:
    parts = [(_INPUT, name) for name in inputs]
    parts += [(_OUTPUT, output), (_NAME, output), (_KIND, kind)]
    content = b"".join(_field(number, text.encode()) for number, text in parts) + attribute
    return _Node(kind, tuple(inputs), (output,), _field(_NODE, content))


def _node(content: bytes, raw: bytes) -> _Node:
    texts: dict[int, list[str]] = {_INPUT: [], _OUTPUT: [], _KIND: []}
    for number, value, _ in _fields(content):
        if number in texts:
            texts[number].append(value.decode())
    if not texts[_KIND] or not texts[_OUTPUT]:
        raise ValueError("not an ONNX model")
    return _Node(texts[_KIND][-1], tuple(texts[_INPUT]), tuple(texts[_OUTPUT]), raw)


def _fields(message: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield each field of a message: its number, its content, and all of its bytes."""
    start = 0
    while start < len(message):
        key, end = _number(message, start)
        begin = end
        if key & 7 == _BYTES:
            length, begin = _number(message, end)
            end = begin + length
        elif key & 7 == _VARINT:
            _, end = _number(message, end)
        if key & 7 not in (_VARINT, _BYTES) or end > len(message):
            raise ValueError("not an ONNX model")
        yield key >> 3, message[begin:end], message[start:end]
        start = end


def _number(message: bytes, start: int) -> tuple[int, int]:
    """Return the number that begins at a place, and the place after it."""
    number = 0
    for place, byte in enumerate(message[start : start + _LONGEST]):
        number |= (byte & 127) << 7 * place
        if byte < 128:
            return number, start + place + 1
    raise ValueError("not an ONNX model")


def _field(number: int, content: bytes) -> bytes:
    """Return a field of bytes."""
    length = len(content)
    size = b""
    while length > 127:
        size += bytes([length & 127 | 128])
        length >>= 7
    return bytes([number << 3 | _BYTES]) + size + bytes([length]) + content
