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

from collections.abc import Generator, Iterator, Mapping, Sequence
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
    """Return a matrix of integers, with ``steps`` per standard deviation, and the step sizes."""
    widest = np.abs(weights).max(axis=axis, keepdims=True) / most
    sizes = np.maximum(widest, weights.std() / steps)
    sizes = np.where(sizes == 0, 1, sizes).astype(np.float32)
    return np.rint(weights / sizes).astype(np.int8), sizes


def sources(graph: Any) -> dict[str, int]:
    """Return the inputs of the products that :func:`quantised` replaces: names and columns."""
    matrices = {tensor.name: tensor for tensor in graph.initializer if _is_large(tensor)}
    return {
        node.input[0]: matrices[node.input[1]].dims[0]
        for node in graph.node
        if node.op_type == "MatMul" and node.input[1] in matrices
    }


def _is_large(tensor: Any) -> bool:
    is_matrix = tensor.data_type == tensor.FLOAT and len(tensor.dims) == 2
    return bool(is_matrix and np.prod(tensor.dims) >= _LEAST)


def layouts_of(model: Any, name: str, sample: Sequence[Arrays]) -> dict[str, Layout]:
    """Return the form of 8-bit rows that suits each product, by the batches of ``sample``."""
    import onnx

    names = list(sources(model.graph))
    if not names:
        return {}
    outputs = model.graph.output
    before = len(outputs)
    output_names = {put.name for put in outputs}
    outputs.extend(
        onnx.ValueInfoProto(name=source) for source in names if source not in output_names
    )
    opened = session(model.SerializeToString(), name)
    del outputs[before:]
    rows: dict[str, list[NDArray[np.float32]]] = {source: [] for source in names}
    for batch in sample:
        for source, values in zip(names, run_graph(opened, names, batch, name)):
            rows[source].append(values.reshape(-1, values.shape[-1]))
    return {source: layout_of(np.concatenate(parts)) for source, parts in rows.items()}


def quantised(
    model: Any, layouts: Mapping[str, Layout] | None = None
) -> tuple[Any, dict[str, NDArray[np.int8]]]:
    """Return a model with matrices and tables of integers, and these integers by name."""
    import onnx

    graph = model.graph
    domains = {domain.domain: domain.version for domain in model.opset_import}
    rewriting = _Rewriting(graph, layouts or {})
    nodes = [new for node in graph.node for new in rewriting.of(node)]
    needed = {name for node in nodes for name in node.input}
    initializers = [
        tensor
        for name, tensor in rewriting.constants.items()
        if name in needed or name not in rewriting.replaced
    ]
    rewritten_graph = onnx.helper.make_graph(
        nodes, graph.name, list(graph.input), list(graph.output), initializers + rewriting.tensors
    )
    imported = {**domains, "com.microsoft": 1}
    rewritten = onnx.helper.make_model(
        rewritten_graph,
        opset_imports=[onnx.helper.make_opsetid(*domain) for domain in imported.items()],
        ir_version=8,
        producer_name="shroom-kit",
    )
    return rewritten, rewriting.integers


class _Rewriting:
    """The nodes and constants that take the place of those of a graph."""

    def __init__(self, graph: Any, layouts: Mapping[str, Layout]) -> None:
        import onnx

        self.onnx = onnx
        self.replaced: set[str] = set()
        self.constants = {tensor.name: tensor for tensor in graph.initializer}
        self.tensors: list[Any] = []
        self.integers: dict[str, NDArray[np.int8]] = {}
        self.size = 0
        self.layouts = {
            source: layouts.get(source) or plain(k) for source, k in sources(graph).items()
        }
        self.rows: set[str] = set()
        self._constant("q.least", np.float32(1e-9))
        self._constant("q.one", np.float32(1))
        for zero in (MIDDLE, LOW):
            below, above = plain(0, zero).steps
            self._constant(f"q.{zero}", np.array(zero, np.uint8))
            self._constant(f"q.{zero}.above", np.float32(above))
            self._constant(f"q.{zero}.turned", np.float32(-above / below))

    def of(self, node: Any) -> Iterator[Any]:
        """Yield what takes a node's place."""
        if node.op_type == "MatMul" and self._is_large(node.input[1]):
            yield from self._product(node)
        elif node.op_type == "Gather" and self._is_large(node.input[0]):
            yield from self._look_up(node)
        else:
            yield node

    def _is_large(self, name: str) -> bool:
        return name in self.constants and _is_large(self.constants[name])

    def _product(self, node: Any) -> Iterator[Any]:
        """Yield nodes that multiply rows of 8 bits with a matrix of integers."""
        source, name = node.input[0], node.output[0]
        values, sizes = in_steps(self._array(node.input[1]), MATRIX_STEPS, MATRIX_MOST, axis=0)
        matrix = self._integers(f"{name}.matrix", values)
        columns = self._constant(f"{name}.columns", sizes[0])
        if source not in self.rows:  # once for all products that read them
            self.rows.add(source)
            yield from self._rows(source, self.layouts[source])
        if len(self.layouts[source].added):
            matrix = yield from self._lengthened(matrix, f"{source}.added", axis=0)
        zero = f"q.{self.layouts[source].zero}"
        inputs = [f"{source}.q", matrix, "q.one", columns, zero]
        yield self._node("MatMulIntegerToFloat", inputs, f"{name}.raw", domain="com.microsoft")
        yield self._node("Mul", [f"{name}.raw", f"{source}.factors"], name)

    def _rows(self, source: str, layout: Layout) -> Iterator[Any]:
        """Yield nodes that bring rows to 8 bits."""
        zero, parts = f"q.{layout.zero}", source
        added = layout.added
        if len(added):
            shares = self._constant(f"{source}.shares", (1 / layout.copies).astype(np.float32))
            parts = f"{source}.parts"
            yield self._node("Mul", [source, shares], parts)
        yield self._node("ReduceMax", [parts], f"{source}.highest", axes=[-1])
        yield self._node("ReduceMin", [parts], f"{source}.lowest", axes=[-1])
        yield self._node("Mul", [f"{source}.lowest", f"{zero}.turned"], f"{source}.turned")
        sizes = [f"{source}.highest", f"{source}.turned", "q.least"]
        yield self._node("Max", sizes, f"{source}.most")
        yield self._node("Div", [f"{zero}.above", f"{source}.most"], f"{source}.inverse")
        yield self._node("Mul", [parts, f"{source}.inverse"], f"{source}.scaled")
        scaled = f"{source}.scaled"
        if len(added):
            self._constant(f"{source}.added", added.astype(np.int32))
            offsets = self._constant(f"{source}.offsets", layout.offsets)
            scaled = yield from self._lengthened(scaled, f"{source}.added", axis=-1)
            yield self._node("Add", [scaled, offsets], f"{source}.shifted")
            scaled = f"{source}.shifted"
        yield self._node("QuantizeLinear", [scaled, "q.one", zero], f"{source}.q")
        yield self._node("Div", [f"{source}.most", f"{zero}.above"], f"{source}.factors")

    def _lengthened(self, name: str, places: str, axis: int) -> Generator[Any, None, str]:
        """Yield nodes that repeat columns or rows at the end; for a constant, it is done once."""
        yield self._node("Gather", [name, places], f"{name}.again", axis=axis)
        yield self._node("Concat", [name, f"{name}.again"], f"{name}.long", axis=axis)
        return f"{name}.long"

    def _look_up(self, node: Any) -> Iterator[Any]:
        """Yield nodes that take rows of an 8-bit table and bring them back to size."""
        table, places = node.input
        name = node.output[0]
        values, sizes = in_steps(self._array(table), TABLE_STEPS, TABLE_MOST, axis=1)
        small = self._integers(f"{name}.table", values)
        steps = self._constant(f"{name}.steps", sizes)
        float32 = self.onnx.TensorProto.FLOAT
        yield self._node("Gather", [small, places], f"{name}.int8", axis=0)
        yield self._node("Cast", [f"{name}.int8"], f"{name}.values", to=float32)
        yield self._node("Gather", [steps, places], f"{name}.sizes", axis=0)
        yield self._node("Mul", [f"{name}.values", f"{name}.sizes"], name)

    def _array(self, name: str) -> NDArray[np.float32]:
        self.replaced.add(name)
        return np.asarray(self.onnx.numpy_helper.to_array(self.constants[name]), np.float32)

    def _constant(self, name: str, value: Any) -> str:
        self.tensors.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def _integers(self, name: str, values: NDArray[np.int8]) -> str:
        """Return the name of a constant whose bytes are in a separate file."""
        proto = self.onnx.TensorProto
        tensor = proto(name=name, data_type=proto.INT8, dims=values.shape)
        tensor.data_location = proto.EXTERNAL
        about = {"location": UNPACKED, "offset": self.size, "length": values.size}
        for key, value in about.items():
            tensor.external_data.add(key=key, value=str(value))
        self.integers[name] = values
        self.size += values.size
        self.tensors.append(tensor)
        return name

    def _node(self, kind: str, inputs: list[str], output: str, **more: Any) -> Any:
        return self.onnx.helper.make_node(kind, inputs, [output], name=output, **more)
