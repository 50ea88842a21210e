"""Forward passes of classifiers: from a batch of token arrays to logits, in torch or from ONNX."""

from __future__ import annotations

import inspect
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError
from shroom.inference.batching import lacks_memory
from shroom.inference.machine import threads

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from shroom.inference.activation_quantization import Layout
    from shroom.inference.precision import Forward

    Batch = Mapping[str, NDArray[Any]]


def of_torch(model: Any, *, compiled: bool = False) -> Forward:
    """Return the forward pass of a classifier of transformers, in its own precision and place.

    Parameters
    ----------
    model : model of transformers
        In evaluation mode.
    compiled : bool
        Whether it is to be compiled once for batches of any size and length, which takes about a
        minute. Where that fails, it runs as it is.

    Returns
    -------
    callable
        From arrays of shape [batch, tokens], by name, to logits of shape [batch, classes].
    """
    import torch

    if torch.get_num_threads() > threads():  # where it is called by itself
        torch.set_num_threads(threads())
    known = inspect.signature(model.forward).parameters
    on_gpu = model.device.type == "cuda"
    ways = [torch.compile(model, dynamic=True), model] if compiled else [model]

    def placed(array: NDArray[Any]) -> Any:
        tensor = torch.from_numpy(array)
        return (tensor.pin_memory() if on_gpu else tensor).to(model.device, non_blocking=on_gpu)

    def forward(batch: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        given = {key: placed(array) for key, array in batch.items() if key in known}
        with torch.inference_mode():
            try:
                logits = ways[0](**given).logits
            except Exception as error:
                if len(ways) == 1 or lacks_memory(error):
                    raise
                del ways[0]  # the compiler can raise anything
                logits = ways[0](**given).logits
        found: NDArray[np.float32] = logits.float().cpu().numpy()
        return found

    return forward


def of_onnx(graph: str | bytes, told: str, integers: Mapping[str, Any] | None = None) -> Forward:
    """Return the forward pass of a classifier's ONNX graph, as its exporters write it.

    Parameters
    ----------
    graph : str or bytes
        Its file, or the graph itself.
    told : str
        How a message names it.
    integers : mapping of array, optional
        External data of the graph, by name.

    Raises
    ------
    ShroomError
        Where the runtime is not there, refuses the graph, or the graph takes something else than
        token ids, their mask and types.
    """
    opened = session(graph, told, integers)
    names = [put.name for put in opened.get_outputs()]
    output = "logits" if "logits" in names else names[0]

    def forward(batch: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
        (found,) = _ran(opened, [output], batch, told)
        if found.ndim != 2:
            raise ShroomError(
                f"{told}: gives {output} of shape {list(found.shape)}, and a classifier gives one "
                "number for each class: [batch, classes]"
            )
        return np.asarray(found, np.float32)

    return forward


def _ran(opened: Any, outputs: list[str], batch: Batch, told: str) -> list[NDArray[Any]]:
    """Return what a graph makes of a batch."""
    wanted = {put.name: _INTEGERS.get(put.type) for put in opened.get_inputs()}
    missing = [name for name, dtype in wanted.items() if name not in batch or dtype is None]
    if missing:
        raise ShroomError(
            f"{told}: wants {', '.join(missing)}, and the tokenizer gives {', '.join(batch)}; "
            "export it for text classification, with its own tokenizer beside it"
        )
    given = {name: batch[name].astype(dtype, copy=False) for name, dtype in wanted.items()}
    try:
        found: list[NDArray[Any]] = opened.run(outputs, given)
    except Exception as error:  # the runtime's own classes have no public names
        if not type(error).__module__.startswith("onnxruntime"):
            raise
        if lacks_memory(error):
            raise MemoryError(_line(error)) from error
        raise ShroomError(f"{told}: the runtime cannot run it: {_line(error)}") from error
    return found


_INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
#: The most bytes of a graph that can be handed over at once.
_GRAPH_MOST = 2**31 - 1


def session(graph: str | bytes, told: str, integers: Mapping[str, Any] | None = None) -> Any:
    """Return the runtime's session of an ONNX graph on one core; for the rest see `of_onnx`."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ShroomError(
            f"{told}: needs onnxruntime and tokenizers: {install_hint('onnx')}"
        ) from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1  # batches are computed side by side: see shroom.inference.run
    if integers:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in integers.values()]
        options.add_external_initializers(list(integers), values)
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        if not type(error).__module__.startswith("onnxruntime"):
            raise
        raise ShroomError(f"{told}: the runtime refuses it: {_line(error)}") from error


def in_integers(graph: bytes | Path, told: str, sample: Sequence[Batch]) -> Forward:
    """Return the forward pass of a graph in float32 with matrices of 7 or 8 bits and rows of 8.

    Parameters
    ----------
    graph : bytes or Path
        The graph, or its file.
    told : str
        How a message names it.
    sample : sequence of mapping
        Batches that the form of the rows is chosen by; the same ones whatever is computed later.

    Raises
    ------
    ShroomError
        As :func:`of_onnx`, and where onnx is not installed or no matrix can be brought to integers.
    """
    try:
        import onnx
    except ImportError as error:
        raise ShroomError(f"int8 needs onnx: {install_hint('models')}") from error
    from shroom.inference.onnx_quantization import quantised

    try:
        model = onnx.load(graph) if isinstance(graph, Path) else onnx.load_model_from_string(graph)
    except Exception as error:  # protobuf's own errors
        raise ShroomError(f"{told}: is no ONNX graph: {_line(error)}") from error
    layouts = layouts_of(model, told, sample, small=False)
    small, integers = quantised(model, layouts, small=False, most=greatest())
    if not integers:
        raise ShroomError(f"{told}: has no products with matrices of weights in float32")
    return of_onnx(small.SerializeToString(), told, integers)


@lru_cache
def greatest() -> int:
    """Return the greatest size of a matrix's integers that the runtime sums exactly here.

    Processors without VNNI or its kin add two products in 16 bits, and larger ones overflow there.
    """
    import onnx

    from shroom.inference.onnx_quantization import MATRIX_MOST, quantised

    helper, side = onnx.helper, 64
    put, out = (
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None, side]) for name in "xy"
    )
    ones = np.ones((side, side), np.float32)
    matrix = onnx.numpy_helper.from_array(ones, "w")
    product = helper.make_node("MatMul", ["x", "w"], ["y"])
    model = helper.make_model(
        helper.make_graph([product], "product", [put], [out], [matrix]),
        opset_imports=[helper.make_opsetid("", 17)],
    )
    told = "a product of integers"
    wide, integers = quantised(model, small=False, most=2 * MATRIX_MOST + 1)
    found = session(wide.SerializeToString(), told, integers).run(None, {"x": ones})[0]
    return 2 * MATRIX_MOST + 1 if np.allclose(found, side) else MATRIX_MOST


def layouts_of(
    model: Any, told: str, sample: Sequence[Batch], *, small: bool = True
) -> dict[str, Layout]:
    """Return how the rows that a graph multiplies are best brought to 8 bits.

    Parameters
    ----------
    model : onnx.ModelProto
        In float32. Of one that is larger than ONNX's 2 GiB, nothing is found out.
    told, sample
        As for :func:`in_integers`.
    small : bool
        As for :func:`shroom.inference.onnx_quantization.quantised`.
    """
    import onnx

    from shroom.inference.activation_quantization import layout_of
    from shroom.inference.onnx_quantization import sources

    names = list(sources(model.graph, small=small))
    if not names or model.ByteSize() > _GRAPH_MOST:
        return {}
    outputs = model.graph.output
    before = len(outputs)
    known = {put.name for put in outputs}
    outputs.extend(onnx.ValueInfoProto(name=name) for name in names if name not in known)
    opened = session(model.SerializeToString(), told)
    del outputs[before:]
    found: dict[str, list[NDArray[np.float32]]] = {name: [] for name in names}
    for batch in sample:
        for name, rows in zip(names, _ran(opened, names, batch, told)):
            found[name].append(rows.reshape(-1, rows.shape[-1]))
    return {name: layout_of(np.concatenate(rows)) for name, rows in found.items()}


def _line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__
