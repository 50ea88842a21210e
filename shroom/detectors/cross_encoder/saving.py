"""Writing a fitted cross-encoder as a folder that runs without torch."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from shroom.core.atomic_writing import write_atomically
from shroom.detectors.cross_encoder.encoding import Encoding
from shroom.detectors.cross_encoder.model_folder import (
    ABOUT,
    FORMAT,
    GRAPH,
    INTEGERS,
    TOKENIZER,
    TRAINING_ITEMS,
)
from shroom.detectors.cross_encoder.onnx_quantization import graph_of, layouts_of, quantised
from shroom.detectors.cross_encoder.pair_model import PairModel, TrainedModel
from shroom.detectors.cross_encoder.quantization import TEXTS, packed


def save(folder: Path, trained: TrainedModel, about: dict[str, Any]) -> None:
    """Write the graph, its integers, the tokenizer, the training items and their origin."""
    graph, arrays = exported(trained.model, trained.encoding)
    integers = packed(b"".join(array.tobytes() for array in arrays.values()))
    content = {
        "format": FORMAT,
        "detector": "cross-encoder",
        "padding": trained.encoding.padding,
        "room": trained.encoding.room,
        "threshold": trained.threshold,
        **about,
        "integers": {name: list(array.shape) for name, array in arrays.items()},
        "weights": hashlib.sha256(graph + integers).hexdigest()[:16],
    }
    items = json.dumps(trained.training_items.to_dict(), separators=(",", ":"))
    write_atomically(folder / GRAPH, graph)
    write_atomically(folder / INTEGERS, integers)
    write_atomically(folder / TOKENIZER, trained.tokenizer.read_bytes())
    write_atomically(folder / ABOUT, _indented(content) + "\n")
    write_atomically(folder / TRAINING_ITEMS, items + "\n")


def _indented(content: dict[str, Any]) -> str:
    """Return json that people can read: a line for each key, and for each part of the recipe."""
    lines = []
    for key, value in content.items():
        deep = key in ("out_of_fold", "recipe")
        text = json.dumps(value, indent=2 if deep else None, ensure_ascii=False)
        lines.append(f"  {json.dumps(key)}: " + text.replace("\n", "\n  "))
    return "{\n" + ",\n".join(lines) + "\n}"


def exported(model: PairModel, encoding: Encoding) -> tuple[bytes, dict[str, NDArray[np.int8]]]:
    """Return a graph from ids and sides, [2, batch, tokens], to p, [batch], and its integers."""
    import onnx

    example = torch.tensor([[[5, 6, 7, 8], [5, 6, 7, 8]], [[3, 1, 2, 4], [3, 1, 2, 4]]])
    axes = {"pairs": {1: "batch", 2: "tokens"}, "p": {0: "batch"}}
    traced = graph_of(_Whole(model).cpu().eval(), {"pairs": example}, "p", axes)
    unquantised = onnx.load_model_from_string(traced)
    graph, integers = quantised(unquantised, layouts_of(unquantised, "the model", sample(encoding)))
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
