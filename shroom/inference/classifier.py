"""Transformers that classify texts or pairs, in torch or as an ONNX graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shroom.core.extras import require
from shroom.core.problems import ShroomError
from shroom.inference import hub
from shroom.inference.compute import Item, Lengths, compute, lacks_memory, threads
from shroom.inference.run_settings import Run
from shroom.inference.tokenization import longest, padded

Arrays = Mapping[str, NDArray[Any]]
Forward = Callable[[Arrays], NDArray[Any]]


def load(kind: str, name: str, revision: str | None, run: Run) -> Classifier:
    """Return a classifier, which reads its weights when they are first needed."""
    # name is a folder, a name on the hub, or an ONNX file with its configuration and tokenizer in
    # its folder or the folder above.
    graph = hub.onnx_file(name)
    if graph is not None:
        return OnnxClassifier(name, graph, run)
    return TorchClassifier(kind, name, revision, run)


class Classifier:
    """Computes logits of items with a model in a folder or on the hub."""

    #: The library that computes.
    runtime: ClassVar[str]

    def __init__(self, folder: str, revision: str | None, device: str, precision: str) -> None:
        self.device, self.precision = device, precision
        self._folder, self._revision = folder, revision
        self.config = hub.config(folder, revision)

    @cached_property
    def tokenizer(self) -> Any:
        """The model's tokenizer, with the padding that the model expects."""
        tokenizer = padded(hub.tokenizer(self._folder, self._revision), self.config)
        if self.config.model_type != "xlnet":  # its score is at the last place
            tokenizer.padding_side = "right"  # places may be counted from the left
        return tokenizer

    @cached_property
    def room(self) -> int:
        """Maximum number of tokens of an item."""
        return longest(self.tokenizer, self.config)

    def logits(
        self,
        items: Sequence[Item],
        lengths: Lengths,
        read: Callable[[Sequence[Item]], Arrays],
        reading: str,
        run: Run,
    ) -> NDArray[np.float64]:
        """Return the logits of the items, at least one: shape [n, classes]."""
        # ``read`` turns items into token arrays; ``reading`` identifies it in the keys of stores.
        forward = self.forward  # it is loaded once, before there are threads

        def scope() -> str | None:
            content = self.content()
            versions = hub.library_versions("tokenizers", "transformers", self.runtime)
            return content and f"{reading} {content} {self.room} {self.device} {versions}"

        return compute(
            items,
            lambda batch: forward(read(batch)),
            lengths=lengths,
            scope=scope,
            precision=self.precision,
            run=replace(run, device=self.device),
            workers=threads() if self.device == "cpu" else 1,
        )

    @cached_property
    def forward(self) -> Forward:
        """The forward pass: from arrays, [batch, tokens] by name, to logits, [batch, classes]."""
        raise NotImplementedError

    def content(self) -> str | None:
        """Return a text that identifies the weights on any machine, or ``None`` if unknown."""
        return hub.content(self._folder, self._revision)


class TorchClassifier(Classifier):
    """A model of transformers on a device, in a precision; see :func:`load`."""

    runtime = "torch"

    def __init__(self, kind: str, name: str, revision: str | None, run: Run) -> None:
        if run.precision == "int8":
            raise ShroomError(
                "precision int8 is available only for the detector cross-encoder; use float32, "
                "bfloat16 or float16"
            )
        device, precision = run.device or hub.best_device(), run.precision or "float32"
        super().__init__(name, revision, device, precision)
        self._kind = kind

    @cached_property
    def forward(self) -> Forward:
        import torch

        if torch.get_num_threads() > threads():  # if it is called by itself
            torch.set_num_threads(threads())
        model = hub.model(self._kind, self._folder, self._revision, self.device, self.precision)
        model.config.pad_token_id = self.tokenizer.pad_token_id  # it may name none, or -1
        takes = inspect.signature(model.forward).parameters.keys()

        def forward(arrays: Arrays) -> NDArray[Any]:
            names = arrays.keys() & takes
            inputs = {name: torch.from_numpy(arrays[name]).to(model.device) for name in names}
            with torch.inference_mode():
                return np.asarray(model(**inputs).logits.float().cpu().numpy())

        return forward


class OnnxClassifier(Classifier):
    """An ONNX graph of a classifier, as its exporters write it, on the CPU; see :func:`load`."""

    runtime = "onnxruntime"

    def __init__(self, name: str, graph: Path, run: Run) -> None:
        if not graph.is_file():
            raise ShroomError(f"{name}: no such file")
        folders = (graph.parent, graph.parent.parent)
        folder = next((it for it in folders if (it / "config.json").is_file()), None)
        if folder is None:
            raise ShroomError(
                f"{name}: no config.json next to the graph or in the folder above; copy the "
                "model's config.json and tokenizer files next to the graph"
            )
        if run.device not in (None, "cpu") or run.precision not in (None, "float32"):
            raise ShroomError(
                f"{name}: an ONNX graph runs only on the CPU and has a fixed precision; omit "
                "--device and --precision"
            )
        super().__init__(str(folder), None, "cpu", "float32")
        self._graph = graph

    @cached_property
    def forward(self) -> Forward:
        """The forward pass, on one core."""
        name = str(self._graph)
        opened = session(name, name)
        names = [put.name for put in opened.get_outputs()]
        output = "logits" if "logits" in names else names[0]

        def forward(arrays: Arrays) -> NDArray[Any]:
            (logits,) = run_graph(opened, [output], arrays, name)
            return np.asarray(logits, np.float32)

        return forward

    def content(self) -> str:
        """Return a digest of the files next to the graph and of its configuration."""
        beside = {*self._graph.parent.iterdir(), *Path(self._folder).iterdir()}
        return f"{hub.files_digest(beside)} {self._graph.name}"


def run_graph(opened: Any, outputs: list[str], batch: Arrays, name: str) -> list[NDArray[Any]]:
    """Return the outputs of a session for a batch; ``name`` is the graph's name in messages."""
    names = [put.name for put in opened.get_inputs()]
    missing = [put for put in names if put not in batch]
    if missing:
        raise ShroomError(
            f"{name}: the graph needs {', '.join(missing)}, but the tokenizer returns "
            f"{', '.join(batch)}; export the model for text classification, with its own tokenizer"
        )
    inputs = {put: batch[put] for put in names}
    with _runtime_errors(f"{name}: ONNX Runtime cannot run the graph"):
        return list(opened.run(outputs, inputs))


def session(graph: str | bytes, name: str, integers: Mapping[str, Any] | None = None) -> Any:
    """Return the session of a graph on one core; ``integers`` are external data by name."""
    require("onnx", "onnxruntime", "tokenizers")
    import onnxruntime

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
