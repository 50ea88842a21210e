"""Pair classifiers in folders of transformers, made without a network, for engine.py to measure.

The kit's shipped model, its integers brought back to float32, and models of usual sizes with random
weights, all with the shipped tokenizer. Prints as json what they are and what a pair costs them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import shipped_float
import torch
from peers.pair_network import PairConfig, PairForSequenceClassification
from tokenizers import Tokenizer
from transformers import (
    AutoModelForSequenceClassification,
    BertConfig,
    PreTrainedTokenizerFast,
    RobertaConfig,
)

from shroom.detectors.cross_encoder.detector import MODEL
from shroom.detectors.cross_encoder.model_folder import ABOUT, TOKENIZER, ModelFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Of the random weights.
SEED = 0
#: The standard deviation of z that random models are given: p is then within [0.05, 0.95], mostly.
_SPREAD = 1.5
#: The pairs by which it is set.
_PROBE = 128
#: The pairs on which the shipped model is compared with its graph.
_CHECKED = 32
_TOKENS = {
    **dict.fromkeys(("bos_token", "cls_token"), "<s>"),
    **dict.fromkeys(("eos_token", "sep_token"), "</s>"),
    "pad_token": "<pad>",
    "unk_token": "[UNK]",
    "mask_token": "<mask>",
}
#: What all configurations say: the shipped tokenizer's special tokens, and two classes.
_COMMON: dict[str, Any] = {
    "bos_token_id": 0,
    "pad_token_id": 1,
    "eos_token_id": 2,
    "id2label": {0: "entailment", 1: "contradiction"},
    "label2id": {"entailment": 0, "contradiction": 1},
}


def main() -> int:
    """Make the models and print what engine.py wants to know of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the models go, a folder for each")
    parser.add_argument("pairs", type=Path, help="json: a list of [task, reference, hyp]")
    options = parser.parse_args()
    triples = json.loads(options.pairs.read_text(encoding="utf-8"))
    tokenizer = shipped_tokenizer()
    encoded = [tokenizer(f"{task}: {ref}", hyp)["input_ids"] for task, ref, hyp in triples]
    cuda = torch.cuda.is_available()
    cpu = torch.cpu.get_capabilities()
    description: dict[str, Any] = {
        "cuda": torch.cuda.get_device_name() if cuda else None,
        "bfloat16": cuda or bool(cpu.get("avx512_bf16") or cpu.get("amx_bf16")),
        "tokens": sum(map(len, encoded)),
        "cut": sum(len(ids) > tokenizer.model_max_length for ids in encoded),
        "models": {},
    }
    lengths = [min(len(ids), tokenizer.model_max_length) for ids in encoded]
    for name, model in models(encoded, sizes=cuda):
        model.save_pretrained(options.folder / name)
        tokenizer.save_pretrained(options.folder / name)
        if name == "shipped":
            description["shipped_off"] = shipped_is_off(model, encoded)
        description["models"][name] = {"flop": [flop(model, length) for length in lengths]}
    print(json.dumps(description))
    return 0


def models(encoded: Sequence[list[int]], *, sizes: bool) -> Iterator[tuple[str, Any]]:
    """Yield the name and the model of each, one after the other; ``sizes`` adds large ones."""
    yield "shipped", shipped()
    small = {"hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536}
    yield "MiniLM-L6-size", spread(BertConfig(vocab_size=30527, **small, **_COMMON), encoded)
    if not sizes:
        return
    base = {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1, **_COMMON}
    large = {"hidden_size": 1024, "num_hidden_layers": 24, "intermediate_size": 4096}
    yield "roberta-base-size", spread(RobertaConfig(**base), encoded)
    yield (
        "roberta-large-size",
        spread(RobertaConfig(**base, **large, num_attention_heads=16), encoded),
    )


def shipped() -> PairForSequenceClassification:
    """Return the kit's own model in float32, computed from its integers and their steps."""
    weights = shipped_float.weights()
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
        layer_norm_eps=shipped_float.layer_norm_eps(),
        **_COMMON,
    )
    model: Any = PairForSequenceClassification(config)
    model.load_state_dict({name: torch.tensor(value) for name, value in weights.items()})
    return model.eval()  # type: ignore[no-any-return]


def shipped_is_off(model: Any, encoded: Sequence[list[int]]) -> float:
    """Return how far p of the shipped model is at most from that of its graph, in float32."""
    folder = ModelFolder(MODEL)
    off = 0.0
    for ids in encoded[:_CHECKED]:
        one = torch.tensor([ids])
        pairs = torch.stack((one, model.sides(one))).numpy()
        with torch.inference_mode():
            p = torch.softmax(model(one).logits, dim=-1)[0, 1]
        off = max(off, abs(float(p) - float(folder.probabilities(pairs, "float32")[0])))
    return off


def spread(config: Any, encoded: Sequence[list[int]]) -> Any:
    """Return a model with random weights, its last layer scaled so that p differs among pairs."""
    torch.manual_seed(SEED)
    model = AutoModelForSequenceClassification.from_config(config).eval()
    with torch.inference_mode():
        logits = torch.cat([model(torch.tensor([ids])).logits for ids in encoded[:_PROBE]])
    z = logits[:, 1] - logits[:, 0]
    last = [module for module in model.modules() if isinstance(module, torch.nn.Linear)][-1]
    factor = _SPREAD / float(z.std())
    with torch.no_grad():
        last.weight *= factor
        last.bias.zero_()
        last.bias[1] = -factor * float(z.mean())
    return model


def flop(model: Any, tokens: int) -> float:
    """Return the floating-point operations of a pair: of matrix products and attention alone."""
    linear = [(n, m) for n, m in model.named_modules() if isinstance(m, torch.nn.Linear)]
    each = sum(module.weight.numel() for name, module in linear if ".layer." in name)
    once = sum(module.weight.numel() for name, module in linear if ".layer." not in name)
    attention = 4 * tokens**2 * model.config.hidden_size * model.config.num_hidden_layers
    return float(2 * each * tokens + 2 * once + attention)


def shipped_tokenizer() -> PreTrainedTokenizerFast:
    """Return the shipped model's tokenizer as transformers has it."""
    about = json.loads((MODEL / ABOUT).read_text(encoding="utf-8"))
    tokenizer = Tokenizer.from_file(str(MODEL / TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=about["room"],
        model_input_names=["input_ids", "attention_mask"],
        split_special_tokens=True,
        **_TOKENS,
    )


if __name__ == "__main__":
    sys.exit(main())
