"""The network of the cross-encoder, in torch: for training and for the export.

Each word attends to those of the other side; then each side is pooled into u and v, since their
difference is lost in a pooled sum of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import nn

from shroom.core.datapoint import Rule
from shroom.detectors.cross_encoder.encoding import HYP, HYP_SPECIAL, PADDING, REF, Encoding
from shroom.detectors.out_of_fold import TrainingItems
from shroom.inference import hub
from shroom.inference.run_settings import Run

#: Width of the head's hidden layer.
HIDDEN = 256
#: The file of a trained head in the folder of an encoder.
HEAD = "head.safetensors"


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

    def forward(self, ids: torch.Tensor, sides: torch.Tensor) -> torch.Tensor:
        """Return the logits, shape [batch], of ids and sides, both of shape [batch, tokens]."""
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
        for module in self.encoder.modules():
            if isinstance(module, nn.ModuleList) and len(module) > 0:
                return list(module)
        return []

    def freeze(self, bottom: int) -> None:
        """Freeze the embeddings and the ``bottom`` layers, and train the others."""
        for parameter in self.encoder.parameters():
            parameter.requires_grad = False
        for layer in self.layers()[bottom:]:
            for parameter in layer.parameters():
                parameter.requires_grad = True

    def groups(self, rate: float, decay: float = 0.01) -> Iterator[dict[str, Any]]:
        """Yield AdamW's parameter groups: the head learns ten times faster than the encoder."""
        trained = [p for p in self.encoder.parameters() if p.requires_grad]
        others = [p for name, p in self.named_parameters() if not name.startswith("encoder.")]
        yield {"params": [p for p in trained if p.ndim > 1], "lr": rate, "weight_decay": decay}
        yield {"params": [p for p in trained if p.ndim < 2], "lr": rate, "weight_decay": 0.0}
        yield {"params": others, "lr": 10 * rate, "weight_decay": decay}


@dataclass
class TrainedModel:
    """A model in torch, which computes in float32."""

    model: PairModel
    encoding: Encoding
    tokenizer: Path
    device: str
    rule: Rule
    threshold: float = 0.5
    training_items: TrainingItems = field(default_factory=TrainingItems)
    weights: str = "as fitted"
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
            logits = model(*torch.from_numpy(batch).to(self.device)).float()
            p: NDArray[np.float32] = torch.sigmoid(logits).cpu().numpy()
        return p

    def content(self) -> None:
        """Return ``None``: p of a model that has no file is not stored."""


def _mean(states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return the mean of the states where the mask holds: shape [batch, width]."""
    weight = mask.unsqueeze(-1).to(states.dtype)
    return (states * weight).sum(1) / weight.sum(1).clamp(min=1)
