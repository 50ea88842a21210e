"""From a network in torch to an ONNX graph that is fast and small: it computes with integers.

The integers of a matrix are at most 63: the sum of two products has to fit into 16 bits. Rows are
brought to 8 bits one by one, so that p depends on no other token and no other pair.
"""
# Weights are near to normal: evenly spaced integers, six steps to a standard deviation, take 4.6
# bits under Huffman's code and are off by 5%; 4 bits with a scale for every 64 weights by 11%.
# A row's greatest number sets the step of all others. In transformers it is in the same columns for
# every text, so these are shared out (Zhao et al. 2019, Outlier Channel Splitting). The parts are
# rounded at places of their own; by Hermite's identity their sum is the whole, rounded once.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shroom.inference.classifier import Arrays, run_graph, session

#: Steps to a standard deviation of a matrix, and of a table of embeddings.
MATRIX_STEPS, TABLE_STEPS = 6.5, 8.0
#: Greatest size of an integer in each.
MATRIX_MOST, TABLE_MOST = 63, 127
#: What the graph calls the file of its integers.
UNPACKED = "weights.bin"
#: Smaller constants stay as they are: they cost little.
_LEAST = 4096
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


def sources(graph: Any) -> dict[str, int]:
    """Return the inputs of the products that :func:`quantised` replaces: names and columns."""
    matrices = {tensor.name: tensor for tensor in graph.initializer if _is_large(tensor)}
    products = [node.input for node in graph.node if node.op_type == "MatMul"]
    return {rows: matrices[name].dims[0] for rows, name in products if name in matrices}


def _is_large(tensor: Any) -> bool:
    is_matrix = tensor.data_type == tensor.FLOAT and len(tensor.dims) == 2
    return bool(is_matrix and np.prod(tensor.dims) >= _LEAST)


def layouts_of(model: Any, name: str, sample: Sequence[Arrays]) -> dict[str, Layout]:
    """Return the form of 8-bit rows that suits each product, by the batches of ``sample``."""
    import onnx

    names = list(sources(model.graph))
    shown = type(model)()
    shown.CopyFrom(model)
    shown.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    opened = session(shown.SerializeToString(), name)
    batches = [run_graph(opened, names, batch, name) for batch in sample]
    return {
        source: layout_of(np.concatenate([rows.reshape(-1, rows.shape[-1]) for rows in parts]))
        for source, *parts in zip(names, *batches)
    }


def quantised(model: Any, layouts: Mapping[str, Layout]) -> tuple[Any, dict[str, NDArray[np.int8]]]:
    """Return a model with matrices and tables of integers, and these integers by name."""
    import onnx

    graph = _Graph(model.graph, layouts)
    opsets = [*model.opset_import, onnx.helper.make_opsetid("com.microsoft", 1)]
    about = {"opset_imports": opsets, "ir_version": 8, "producer_name": "shroom-kit"}
    return onnx.helper.make_model(graph.made(model.graph), **about), graph.integers


class _Graph:
    """A graph of integers, to which the nodes and constants of another one are added in order."""

    def __init__(self, graph: Any, layouts: Mapping[str, Layout]) -> None:
        import onnx

        self.onnx = onnx
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []
        self.integers: dict[str, NDArray[np.int8]] = {}
        self.floats = {tensor.name: tensor for tensor in graph.initializer}
        self.large = {name for name, tensor in self.floats.items() if _is_large(tensor)}
        self.layouts = layouts
        self._constant("q.least", np.float32(1e-9))
        self._constant("q.one", np.float32(1))
        for zero in (MIDDLE, LOW):
            below, above = plain(0, zero).steps
            self._constant(f"q.{zero}", np.array(zero, np.uint8))
            self._constant(f"q.{zero}.above", np.float32(above))
            self._constant(f"q.{zero}.turned", np.float32(-above / below))
        for node in graph.node:
            names = [*node.input, node.output[0]]
            if node.op_type == "MatMul" and names[1] in self.large:
                self._multiply(*names)
            elif node.op_type == "Gather" and names[0] in self.large:
                self._look_up(*names)
            else:
                self.nodes.append(node)

    def made(self, graph: Any) -> Any:
        """Return the graph with the inputs and outputs of the other one."""
        needed = {name for node in self.nodes for name in node.input}
        unchanged = [
            tensor
            for name, tensor in self.floats.items()
            if name in needed or name not in self.large
        ]
        parts = self.nodes, graph.name, list(graph.input), list(graph.output)
        return self.onnx.helper.make_graph(*parts, [*unchanged, *self.tensors])

    def _multiply(self, source: str, weights: str, name: str) -> None:
        """Multiply rows of 8 bits with a matrix of integers."""
        layout, rows = self.layouts[source], f"{source}.q"
        values, sizes = in_steps(self._array(weights), MATRIX_STEPS, MATRIX_MOST, axis=0)
        matrix = self._integers(f"{name}.matrix", values)
        columns = self._constant(f"{name}.columns", sizes[0])
        if not any(rows in node.output for node in self.nodes):  # once for all products
            self._round(source, layout)
        if len(layout.added):
            matrix = self._lengthened(matrix, f"{source}.added", axis=0)
        inputs = rows, matrix, "q.one", columns, f"q.{layout.zero}"
        raw = self._add("MatMulIntegerToFloat", f"{name}.raw", *inputs, domain="com.microsoft")
        self._add("Mul", name, raw, f"{source}.factors")

    def _round(self, source: str, layout: Layout) -> None:
        """Bring rows to 8 bits."""
        zero, parts, added = f"q.{layout.zero}", source, layout.added
        if len(added):
            shares = self._constant(f"{source}.shares", (1 / layout.copies).astype(np.float32))
            parts = self._add("Mul", f"{source}.parts", source, shares)
        highest = self._add("ReduceMax", f"{source}.highest", parts, axes=[-1])
        lowest = self._add("ReduceMin", f"{source}.lowest", parts, axes=[-1])
        turned = self._add("Mul", f"{source}.turned", lowest, f"{zero}.turned")
        most = self._add("Max", f"{source}.most", highest, turned, "q.least")
        inverse = self._add("Div", f"{source}.inverse", f"{zero}.above", most)
        scaled = self._add("Mul", f"{source}.scaled", parts, inverse)
        if len(added):
            self._constant(f"{source}.added", added.astype(np.int32))
            offsets = self._constant(f"{source}.offsets", layout.offsets)
            scaled = self._lengthened(scaled, f"{source}.added", axis=-1)
            scaled = self._add("Add", f"{source}.shifted", scaled, offsets)
        self._add("QuantizeLinear", f"{source}.q", scaled, "q.one", zero)
        self._add("Div", f"{source}.factors", most, f"{zero}.above")

    def _lengthened(self, name: str, places: str, axis: int) -> str:
        """Repeat columns or rows at the end; for a constant, the runtime does it once."""
        again = self._add("Gather", f"{name}.again", name, places, axis=axis)
        return self._add("Concat", f"{name}.long", name, again, axis=axis)

    def _look_up(self, table: str, places: str, name: str) -> None:
        """Take rows of an 8-bit table and bring them back to size."""
        values, sizes = in_steps(self._array(table), TABLE_STEPS, TABLE_MOST, axis=1)
        small = self._integers(f"{name}.table", values)
        steps = self._constant(f"{name}.steps", sizes)
        rows = self._add("Gather", f"{name}.int8", small, places, axis=0)
        rows = self._add("Cast", f"{name}.values", rows, to=self.onnx.TensorProto.FLOAT)
        self._add("Mul", name, rows, self._add("Gather", f"{name}.sizes", steps, places, axis=0))

    def _array(self, name: str) -> NDArray[np.float32]:
        return np.asarray(self.onnx.numpy_helper.to_array(self.floats[name]), np.float32)

    def _constant(self, name: str, value: Any) -> str:
        self.tensors.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def _integers(self, name: str, values: NDArray[np.int8]) -> str:
        """Add a constant whose bytes are in a separate file."""
        proto = self.onnx.TensorProto
        tensor = proto(name=name, data_type=proto.INT8, dims=values.shape)
        tensor.data_location = proto.EXTERNAL
        offset = sum(array.size for array in self.integers.values())
        about = {"location": UNPACKED, "offset": offset, "length": values.size}
        for key, value in about.items():
            tensor.external_data.add(key=key, value=str(value))
        self.integers[name] = values
        self.tensors.append(tensor)
        return name

    def _add(self, kind: str, output: str, *inputs: str, **more: Any) -> str:
        """Add a node, and return the name of its output."""
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [output], name=output, **more))
        return output
