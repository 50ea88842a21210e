"""From a network in torch to an ONNX graph."""

from __future__ import annotations

import io
import logging
import warnings
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping


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
