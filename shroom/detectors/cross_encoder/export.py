"""From the network in torch to the files that run without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from shroom.inference.activation_quantization import TEXTS
from shroom.inference.onnx_export import graph_of
from shroom.inference.onnx_quantization import layouts_of, quantised

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shroom.detectors.cross_encoder.encoding import Encoding
    from shroom.detectors.cross_encoder.pair_model import PairModel


def exported(model: PairModel, encoding: Encoding) -> tuple[bytes, dict[str, NDArray[np.int8]]]:
    """Return a trained model as an ONNX graph and the integers that it refers to, by name.

    The graph takes ``pairs`` of shape [2, batch, tokens], int64, which are ids and sides, and
    gives ``p`` of shape [batch].
    """
    import onnx

    example = torch.tensor([[[5, 6, 7, 8], [5, 6, 7, 8]], [[3, 1, 2, 4], [3, 1, 2, 4]]])
    axes = {"pairs": {1: "batch", 2: "tokens"}, "p": {0: "batch"}}
    traced = graph_of(_Whole(model).cpu().eval(), {"pairs": example}, "p", axes)
    whole = onnx.load_model_from_string(traced)
    graph, integers = quantised(whole, layouts_of(whole, "the model", sample(encoding)))
    return graph.SerializeToString(), integers


def sample(encoding: Encoding) -> list[dict[str, NDArray[np.int64]]]:
    """Return the texts that the form of rows is chosen by, as the graph takes them."""
    pairs, _ = encoding([("PG", *texts) for texts in TEXTS])
    return [{"pairs": encoding.batch([pair])} for pair in pairs]


class _Whole(torch.nn.Module):
    """The model from one array of ids and sides to p(Hallucination)."""

    def __init__(self, model: PairModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, pairs: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.model(pairs[0], pairs[1]))
