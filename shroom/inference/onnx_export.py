"""From a network in torch to an ONNX graph."""

from __future__ import annotations

import inspect
import io
import logging
import warnings
from typing import TYPE_CHECKING, Any

import torch

from shroom.core.problems import ShroomError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_OPSET = 17


def graph_of(
    module: torch.nn.Module,
    example: Mapping[str, torch.Tensor],
    output: str,
    axes: Mapping[str, Mapping[int, str]],
) -> bytes:
    """Return the graph of a module on the CPU, by tracing it.

    Parameters
    ----------
    module : torch.nn.Module
        Takes tensors in the order of ``example``, and gives one.
    example : mapping of tensor
        The inputs, by name.
    output : str
        The name of what it gives.
    axes : mapping
        The axes of inputs and output that have any length, with names.
    """
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tracing warns of what is constant here indeed
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        torch.onnx.export(
            module,
            tuple(example.values()),
            stream,
            input_names=list(example),
            output_names=[output],
            dynamic_axes={name: dict(axis) for name, axis in axes.items()},
            opset_version=_OPSET,
            dynamo=False,
        )
    return stream.getvalue()


def classifier_graph(model: Any, batch: Mapping[str, NDArray[Any]]) -> bytes:
    """Return a classifier of transformers as a graph from token arrays to ``logits``.

    Parameters
    ----------
    model : model of transformers
        On the CPU, in float32; its attention is computed step by step from here on.
    batch : mapping of array, shape [batch, tokens]
        What it is given, as an example.

    Raises
    ------
    ShroomError
        Where it cannot be written as a graph.
    """
    known = inspect.signature(model.forward).parameters
    given = {key: torch.from_numpy(array) for key, array in batch.items() if key in known}
    axes = {key: {0: "batch", 1: "tokens"} for key in given}
    try:
        model.set_attn_implementation("eager")  # the one that can be exported
        return graph_of(
            _Logits(model, list(given)), given, "logits", {**axes, "logits": {0: "batch"}}
        )
    except Exception as error:  # tracing can raise anything
        line = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise ShroomError(f"it cannot be written as an ONNX graph ({line})") from error


class _Logits(torch.nn.Module):
    """A classifier that takes tensors in an order, and gives logits alone."""

    def __init__(self, model: Any, names: list[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.model(**dict(zip(self.names, tensors))).logits
        return logits
