"""The network of the cross-encoder, in torch: for training and for the export.

Each word attends to those of the other side; then each side is pooled into u and v, since their
difference is lost in a pooled sum of both.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import warnings
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import nn

from shroom.core.atomic_writing import write_atomically
from shroom.core.datapoint import Rule
from shroom.detectors.cross_encoder.model_folder import (
    ABOUT,
    GRAPH,
    INTEGERS,
    TOKENIZER,
    TRAINING_ITEMS,
)
from shroom.detectors.cross_encoder.quantization import layouts_of, quantised
from shroom.detectors.fitted import Fitted
from shroom.detectors.pairs import HYP, HYP_SPECIAL, PADDING, REF, Encoding
from shroom.inference import hub
from shroom.inference.run_settings import Run

#: Width of the head's hidden layer.
HIDDEN = 256
#: The file of a trained head in the folder of an encoder.
HEAD = "head.safetensors"
#: Texts for the rows, each reference before its hypothesis: registers, lengths, scripts and signs
#: that models meet. They never change: a model's integers depend on nothing but its weights.
_TEXTS = """
The bridge was closed on 14 March 2019 after the river had risen by almost two metres.
Engineers closed the bridge in spring because of high water.
"I never said that," she laughed, "but you may quote me!"
She denied it.
How do I change the oil of a 1998 motorcycle (without special tools)?
What tools are needed to paint a house?
(botany) Having leaves that grow close to the ground.
With leaves near the soil.
Die Sitzung wurde um 9:30 Uhr eröffnet; drei Mitglieder fehlten.
The meeting opened at half past nine, and three members were absent.
Stop it right now, Tom.
Tom, please stop.
Of or relating to the study of very old languages, e.g. Sumerian & Akkadian.
An ancient city in the south.
В 2020 году население города составляло 45 000 человек.
In 2020, the town had 54,000 inhabitants.
"""


class PairModel(nn.Module):
    """An encoder with a pair head: ids and sides of a batch to logits of p(Hallucination)."""

    # A small network on (|u - v|, u * v, (u + v) / 2) plus a learned multiple of the cosine, as
    # which it begins. The folder of an encoder may have a trained head as well.

    def __init__(self, encoder: str, revision: str | None = None) -> None:
        super().__init__()
        self.encoder: Any = hub.model("encoder", encoder, revision, device="cpu")
        self.encoder.set_attn_implementation("eager")  # what can be exported, and fast when short
        if getattr(self.encoder, "pooler", None) is not None:
            self.encoder.pooler = None
        width = self.encoder.config.hidden_size
        self.head = nn.Sequential(
            nn.Linear(3 * width, HIDDEN), nn.GELU(), nn.Dropout(0.1), nn.Linear(HIDDEN, 1)
        )
        nn.init.normal_(self.head[3].weight, std=0.01)
        nn.init.zeros_(self.head[3].bias)
        self.scale = nn.Parameter(torch.tensor(6.0))
        self.bias = nn.Parameter(torch.tensor(4.5))
        trained = Path(encoder).expanduser() / HEAD
        if trained.is_file():
            self.load_state_dict(load_file(trained), strict=False)

    def forward(self, pairs: torch.Tensor) -> torch.Tensor:
        """Return the logits, shape [batch], of ids and sides: shape [2, batch, tokens]."""
        ids, sides = pairs[0], pairs[1]
        inputs = {"input_ids": ids, "attention_mask": (sides != PADDING).long()}
        if getattr(self.encoder.config, "type_vocab_size", 1) > 1:
            inputs["token_type_ids"] = ((sides == HYP) | (sides == HYP_SPECIAL)).long()
        states = self.encoder(**inputs).last_hidden_state
        u, v = _mean(states, sides == REF), _mean(states, sides == HYP)
        features = torch.cat([(u - v).abs(), u * v, (u + v) / 2], dim=-1)
        cosine = (u * v).sum(-1) / (u.norm(dim=-1) * v.norm(dim=-1)).clamp(min=1e-6)
        logits: torch.Tensor = self.head(features).squeeze(-1) - self.scale * cosine + self.bias
        return logits

    def layers(self) -> list[nn.Module]:
        """Return the encoder's layers, the one nearest to the words first."""
        lists = (m for m in self.encoder.modules() if isinstance(m, nn.ModuleList) and len(m))
        return list(next(lists, ()))

    def freeze(self, bottom: int) -> None:
        """Freeze the embeddings and the ``bottom`` layers, and train the others."""
        self.encoder.requires_grad_(requires_grad=False)
        for layer in self.layers()[bottom:]:
            layer.requires_grad_()

    def groups(self, rate: float) -> Iterator[dict[str, Any]]:
        """Yield AdamW's parameter groups: the head learns ten times faster than the encoder."""
        trained = [p for p in self.encoder.parameters() if p.requires_grad]
        others = [p for name, p in self.named_parameters() if not name.startswith("encoder.")]
        yield {"params": [p for p in trained if p.ndim > 1], "lr": rate, "weight_decay": 0.01}
        yield {"params": [p for p in trained if p.ndim < 2], "lr": rate, "weight_decay": 0.0}
        yield {"params": others, "lr": 10 * rate, "weight_decay": 0.01}


@dataclass
class TrainedModel:
    """A model in torch, which computes in float32."""

    model: PairModel
    encoding: Encoding
    tokenizer: Path
    device: str
    rule: Rule
    workers: int = 1

    def precision(self, run: Run) -> str:
        del run
        return "float32"

    def probabilities(
        self, batch: NDArray[np.int64], precision: str = "float32"
    ) -> NDArray[np.float32]:
        """Return p(Hallucination) of ids and sides, [2, batch, tokens]: shape [batch]."""
        del precision
        model = self.model.to(self.device).eval()
        with torch.no_grad():
            logits = model(torch.from_numpy(batch).to(self.device)).float()
        return np.asarray(torch.sigmoid(logits).cpu())

    def content(self) -> None:
        """Return ``None``, because p of an unsaved model is not stored."""


def _mean(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the mean of the states where the mask holds: shape [batch, width]."""
    weight = mask.unsqueeze(-1).to(states.dtype)
    return (states * weight).sum(1) / weight.sum(1).clamp(min=1)


def save(folder: Path, fitted: Fitted, about: dict[str, Any]) -> None:
    """Write the graph, its integers, the tokenizer, the training items and their origin."""
    trained: TrainedModel = fitted.model
    graph, arrays = exported(trained.model, trained.encoding)
    integers = packed(b"".join(array.tobytes() for array in arrays.values()))
    content = {
        "detector": "cross-encoder",
        "padding": trained.encoding.padding,
        "room": trained.encoding.room,
        "threshold": fitted.threshold,
        **about,
        "integers": {name: list(array.shape) for name, array in arrays.items()},
        "weights": hashlib.sha256(graph + integers).hexdigest()[:16],
    }
    files: dict[str, str | bytes] = {
        GRAPH: graph,
        INTEGERS: integers,
        TOKENIZER: trained.tokenizer.read_bytes(),
        ABOUT: json.dumps(content, indent=2, ensure_ascii=False) + "\n",
        TRAINING_ITEMS: json.dumps(fitted.items.answers, separators=(",", ":")) + "\n",
    }
    for name, data in files.items():
        write_atomically(folder / name, data)


def packed(data: bytes) -> bytes:
    """Return bytes compressed by Huffman coding only, which are smaller than zlib's."""
    coder = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_HUFFMAN_ONLY)
    return coder.compress(data) + coder.flush()


def exported(model: PairModel, encoding: Encoding) -> tuple[bytes, dict[str, NDArray[np.int8]]]:
    """Return a graph from ids and sides, [2, batch, tokens], to p, [batch], and its integers."""
    import onnx

    example = torch.tensor([[[5, 6, 7, 8]] * 2, [[3, 1, 2, 4]] * 2])
    axes = {"pairs": {1: "batch", 2: "tokens"}, "p": {0: "batch"}}
    whole = nn.Sequential(OrderedDict(model=model, p=nn.Sigmoid())).cpu().eval()
    traced = graph_of(whole, {"pairs": example}, "p", axes)
    unquantised = onnx.load_model_from_string(traced)
    texts = _TEXTS.strip().splitlines()
    pairs, _ = encoding([("PG", *pair) for pair in zip(texts[::2], texts[1::2])])
    sample = [{"pairs": encoding.batch([pair])} for pair in pairs]
    graph, integers = quantised(unquantised, layouts_of(unquantised, "the model", sample))
    return graph.SerializeToString(), integers


def graph_of(
    module: Any, example: Mapping[str, Any], output: str, axes: Mapping[str, Mapping[int, str]]
) -> bytes:
    """Return the graph of a module on the CPU, traced; ``axes`` names variable axes."""
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about values that are traced as constants
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        torch.onnx.export(
            module,
            tuple(example.values()),
            stream,
            input_names=list(example),
            output_names=[output],
            dynamic_axes={name: dict(axis) for name, axis in axes.items()},
            opset_version=17,
            dynamo=False,
        )
    return stream.getvalue()
