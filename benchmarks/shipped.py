"""The kit's own model as a classifier of transformers, so that other libraries can load it.

    python benchmarks/shipped.py FOLDER

writes it to FOLDER, in float32, its integers multiplied by their steps. Importing the module
registers the class, which ``AutoModelForSequenceClassification`` then finds. It is written anew
here, not taken from the kit, so that p can be compared with the shipped graph's.
"""

from __future__ import annotations

import json
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from tokenizers import Tokenizer
from torch import nn
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    MPNetConfig,
    MPNetModel,
    PreTrainedTokenizerFast,
)
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.models.mpnet.modeling_mpnet import MPNetPreTrainedModel

from shroom.detectors.cross_encoder.detector import MODEL
from shroom.detectors.cross_encoder.model_folder import ABOUT, GRAPH, INTEGERS, TOKENIZER

#: What all configurations say: the shipped tokenizer's special tokens, and two classes.
COMMON: dict[str, Any] = {
    "bos_token_id": 0,
    "pad_token_id": 1,
    "eos_token_id": 2,
    "id2label": {0: "entailment", 1: "contradiction"},
    "label2id": {"entailment": 0, "contradiction": 1},
}


class PairConfig(MPNetConfig):  # type: ignore[misc, unused-ignore]
    """The encoder's sizes; those of the head follow from them."""

    model_type = "mpnet-pair"


class _Network(nn.Module):
    """An encoder, and a head on the means u and v of both sides."""

    def __init__(self, config: PairConfig, hidden: int = 256) -> None:
        super().__init__()
        self.encoder = MPNetModel(config, add_pooling_layer=False)
        layers = nn.Linear(3 * config.hidden_size, hidden), nn.GELU(), nn.Dropout()
        self.head = nn.Sequential(*layers, nn.Linear(hidden, 1))
        self.scale, self.bias = (nn.Parameter(torch.tensor(0.0)) for _ in range(2))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, sides: list[torch.Tensor]) -> Any:
        states = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        weights = [side.unsqueeze(-1).to(states.dtype) for side in sides]
        u, v = ((states * w).sum(1) / w.sum(1).clamp(min=1) for w in weights)
        z = self.head(torch.cat([(u - v).abs(), u * v, (u + v) / 2], dim=-1)).squeeze(-1)
        return z - self.scale * torch.cosine_similarity(u, v) + self.bias


class PairForSequenceClassification(MPNetPreTrainedModel):  # type: ignore[misc, unused-ignore]
    """Two logits, 0 and z, so that their softmax gives p(Hallucination) = sigmoid(z)."""

    config_class = PairConfig

    def __init__(self, config: PairConfig) -> None:
        super().__init__(config)
        self.model = _Network(config)
        self.post_init()

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor | None = None, **_: Any
    ) -> SequenceClassifierOutput:
        """Return the logits, shape [batch, 2], of ``<s> task: reference </s></s> hyp </s>``."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        end = input_ids == self.config.eos_token_id
        ends = end.long().cumsum(1)
        sides = [
            (ends == 0) & (input_ids != self.config.bos_token_id),
            (ends == 2) & ~end,
        ]
        z = self.model(input_ids, mask, sides)
        return SequenceClassifierOutput(logits=torch.stack((torch.zeros_like(z), z), dim=-1))


AutoConfig.register(PairConfig.model_type, PairConfig)
AutoModelForSequenceClassification.register(PairConfig, PairForSequenceClassification)


def network() -> Any:
    """Return the kit's own model in float32."""
    graph = onnx.load(str(MODEL / GRAPH), load_external_data=False).graph
    (epsilon,) = {
        attribute.f
        for node in graph.node
        if node.op_type == "LayerNormalization"
        for attribute in node.attribute
        if attribute.name == "epsilon"
    }
    weights = _weights(graph)
    inner, width = weights["model.encoder.encoder.layer.0.intermediate.dense.weight"].shape
    buckets, heads = weights["model.encoder.encoder.relative_attention_bias.weight"].shape
    config = PairConfig(
        vocab_size=len(weights["model.encoder.embeddings.word_embeddings.weight"]),
        hidden_size=width,
        num_hidden_layers=1 + max(int(name.split(".")[4]) for name in weights if ".layer." in name),
        num_attention_heads=heads,
        intermediate_size=inner,
        max_position_embeddings=len(weights["model.encoder.embeddings.position_embeddings.weight"]),
        relative_attention_num_buckets=buckets,
        layer_norm_eps=epsilon,
        **COMMON,
    )
    model: Any = PairForSequenceClassification(config)
    model.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})
    return model.eval()


def _weights(graph: Any) -> dict[str, Any]:
    """Return the weights by their names in torch, which the names in the graph contain."""
    external = onnx.TensorProto.EXTERNAL
    stored = [t for t in graph.initializer if t.data_location != external]
    small = {t.name: numpy_helper.to_array(t) for t in stored}
    found = {name: value for name, value in small.items() if name.startswith("model.")}
    shapes = json.loads((MODEL / ABOUT).read_text(encoding="utf-8"))["integers"]
    integers = np.frombuffer(zlib.decompress((MODEL / INTEGERS).read_bytes()), np.int8)
    ends = np.cumsum([np.prod(shape) for shape in shapes.values()])
    for (name, shape), part in zip(shapes.items(), np.split(integers, ends[:-1])):
        place, kind = name.rsplit(".", maxsplit=1)
        value = part.reshape(shape).astype(np.float32)
        if kind == "table":
            value = value * small[f"{place}.steps"]
        else:  # torch keeps matrices transposed
            value = np.ascontiguousarray((value * small[f"{place}.columns"]).T)
        # "/model/encoder/…/q/MatMul_output_0" is the output of the module "model.encoder.….q"
        found[f"{'.'.join(place.split('/')[1:-1])}.weight"] = value
    return found


def tokenizer() -> Any:
    """Return the shipped model's tokenizer as transformers has it."""
    loaded = Tokenizer.from_file(str(MODEL / TOKENIZER))
    loaded.no_truncation()
    loaded.no_padding()
    return PreTrainedTokenizerFast(
        tokenizer_object=loaded,
        model_max_length=json.loads((MODEL / ABOUT).read_text(encoding="utf-8"))["room"],
        model_input_names=["input_ids", "attention_mask"],
        split_special_tokens=True,
        **dict.fromkeys(("bos_token", "cls_token"), "<s>"),
        **dict.fromkeys(("eos_token", "sep_token"), "</s>"),
        pad_token="<pad>",  # noqa: S106
        unk_token="[UNK]",  # noqa: S106
        mask_token="<mask>",  # noqa: S106
    )


def main(folder: Path) -> None:
    """Write the model and its tokenizer."""
    network().save_pretrained(folder)
    tokenizer().save_pretrained(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
