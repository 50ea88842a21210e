"""The graph of a fitted cross-encoder with its products in float32.

Runtimes and processors sum floats in different orders. In rows that are rounded to 8 bits, this can
turn a difference in the last digit into a whole step.
"""

from __future__ import annotations

from functools import cache
from typing import Any

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


def in_float32(model: bytes) -> bytes:
    """Return a graph of :func:`~.quantization.quantised` with products in float32."""
    # The package onnx is only needed for fitting, so the graph is read as a protobuf message.
    from google.protobuf.message import DecodeError

    try:
        whole = _model_class().FromString(model)
    except DecodeError as error:
        raise ValueError("not an ONNX model") from error
    for graph in whole.graph:
        nodes = list(graph.node)
        if not all(node.op_type and node.output for node in nodes):
            raise ValueError("not an ONNX model")
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
