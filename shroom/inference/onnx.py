"""Graphs of ONNX, each run on one core."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.extras import install_hint
from shroom.core.problems import ShroomError
from shroom.inference.compute import lacks_memory

Batch = Mapping[str, NDArray[Any]]

_INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


def run_graph(opened: Any, outputs: list[str], batch: Batch, name: str) -> list[NDArray[Any]]:
    """Return the outputs of a session for a batch; ``name`` is the graph's name in messages."""
    dtypes = {put.name: _INTEGERS.get(put.type) for put in opened.get_inputs()}
    missing = [put for put, dtype in dtypes.items() if put not in batch or dtype is None]
    if missing:
        raise ShroomError(
            f"{name}: the graph needs {', '.join(missing)}, but the tokenizer returns "
            f"{', '.join(batch)}; export the model for text classification, with its own tokenizer"
        )
    inputs = {put: batch[put].astype(dtype, copy=False) for put, dtype in dtypes.items()}
    with _runtime_errors(f"{name}: ONNX Runtime cannot run the graph"):
        return list(opened.run(outputs, inputs))


def session(graph: str | bytes, name: str, integers: Mapping[str, Any] | None = None) -> Any:
    """Return the session of a graph on one core; ``integers`` are external data by name."""
    try:
        import onnxruntime
    except ImportError as error:
        raise ShroomError(
            f"{name}: this model needs onnxruntime and tokenizers: {install_hint('onnx')}"
        ) from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1  # batches are computed side by side, one for each core
    if integers:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in integers.values()]
        options.add_external_initializers(list(integers), values)
    with _runtime_errors(f"{name}: ONNX Runtime cannot load the graph"):
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


@contextmanager
def _runtime_errors(what: str) -> Iterator[None]:
    """Convert errors of ONNX Runtime, whose classes are not public, to errors of the kit."""
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("onnxruntime"):
            raise
        if lacks_memory(error):
            raise MemoryError from error
        line = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise ShroomError(f"{what}: {line}") from error
