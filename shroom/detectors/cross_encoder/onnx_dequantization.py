"""Products in float32 in place of the integers of :mod:`quantization`.

Runtimes and processors sum floats in different orders; rows rounded to 8 bits turn a difference
in the last digit into a whole step. Read and written without onnx, in protobuf's wire format.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

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


class _Node(NamedTuple):
    """An operation of a graph: its type, inputs, outputs and bytes."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    raw: bytes


def in_float32(model: bytes) -> bytes:
    """Return a graph of :func:`~.quantization.quantised` with products in float32."""
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
