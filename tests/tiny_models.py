"""Tiny models with random weights, made offline and saved as any model of the hub is.

The architectures and the files are real: transformers loads them through the same code. Only the
sizes are small (two layers of 32) and the weights random, though from a fixed seed. The weights are
drawn wide, so that different texts get clearly different answers.
"""

import inspect
import json
import os
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

TEXT = [
    "The cat sat on the mat and looked at the dog.",
    "A person who sells flowers in the market of the old town.",
    "He did not want to go there, because it was raining all day long!",
    "To make something smaller, or to say it in simpler words?",
    "Der Hund schläft; das Wetter ist schön: 12 Grad.",
]
LENGTH = 64  #: the most tokens that a tiny model reads
HIDDEN = 32
VOCABULARY = 320

#: How each architecture marks the start and the end of a text and the middle of a pair, and its
#: special tokens in the order of the expected ids: RoBERTa counts positions from the padding on.
_MARKS = {
    "roberta": ("<s>", "</s>", ["</s>", "</s>"], "<s> <pad> </s> <unk> <mask>"),
    "mpnet": ("<s>", "</s>", ["</s>", "</s>"], "<s> <pad> </s> <unk> <mask>"),
    "bert": ("[CLS]", "[SEP]", ["[SEP]"], "[PAD] [UNK] [CLS] [SEP] [MASK]"),
    "deberta-v2": ("[CLS]", "[SEP]", ["[SEP]"], "[PAD] [CLS] [SEP] [UNK] [MASK]"),
    "t5": (None, "</s>", ["</s>"], "<pad> </s> <unk>"),
    "llama": ("<s>", None, [], "<unk> <s> </s> <pad>"),
}
#: What can be an NLI model here, and what an encoder of sentences.
NLI_ARCHITECTURES = ("roberta", "deberta-v2", "bert", "t5")
ENCODER_ARCHITECTURES = ("bert", "mpnet", "roberta", "t5")

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|' + message['role'] + '|>\n' + message['content'] + eos_token + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
)


def nli_model(
    folder: Path,
    architecture: str = "roberta",
    labels: list[str] | None = None,
    *,
    seed: int = 0,
    length: int = LENGTH,
) -> Path:
    """Save a sequence classifier with these labels, and its tokenizer; return the folder.

    The weights depend on the seed and on the number of labels, not on their names.
    """
    import transformers

    labels = labels or ["contradiction", "neutral", "entailment"]
    named = {
        "id2label": dict(enumerate(labels)),
        "label2id": {label: place for place, label in enumerate(labels)},
    }
    config = _config(architecture, length, **named)
    kind = transformers.AutoModelForSequenceClassification.from_config
    return _saved(folder, architecture, kind, config, seed, length)


def change(folder: Path, name: str, **keys: object) -> None:
    """Change keys of one of a model's files of json."""
    path = Path(folder) / name
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, **keys}), encoding="utf-8")


def nli_graph(model, batch) -> bytes:
    """Return a classifier of transformers as an ONNX graph from token arrays to ``logits``."""
    import torch

    from shroom.detectors.cross_encoder.pair_model import graph_of

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *tensors):
            return self.model(**dict(zip(given, tensors))).logits

    known = inspect.signature(model.forward).parameters
    given = {key: array for key, array in batch.items() if key in known}
    axes = {key: {0: "batch", 1: "tokens"} for key in given}
    model.set_attn_implementation("eager")  # the one that can be exported
    return graph_of(Logits(), given, "logits", {**axes, "logits": {0: "batch"}})


def encoder(
    folder: Path,
    architecture: str = "bert",
    pooling: str = "mean",
    *,
    sentence_transformers: bool = True,
    seed: int = 0,
    length: int = LENGTH,
) -> Path:
    """Save an encoder, its tokenizer and (sentence_transformers) its pooling; return the folder."""
    import transformers

    t5 = architecture == "t5"
    kind = transformers.T5EncoderModel if t5 else transformers.AutoModel.from_config
    _saved(folder, architecture, kind, _config(architecture, length), seed, length)
    if sentence_transformers:
        modules = ("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")
        write_modules(folder, *modules)
        write_pooling(folder, pooling)
    return Path(folder)


def causal_model(
    folder: Path, *, chat: bool = True, seed: int = 0, length: int = 8 * LENGTH
) -> Path:
    """Save a causal model (Llama) and its tokenizer, with a chat template or without."""
    import transformers

    config = _config("llama", length)
    _saved(folder, "llama", transformers.LlamaForCausalLM, config, seed, length)
    if chat:
        (Path(folder) / "chat_template.jinja").write_text(CHAT_TEMPLATE, encoding="utf-8")
    return Path(folder)


def saying(folder: Path, text: str, opened: str = "") -> Path:
    """Save a causal model that continues any chat, whose template ends with ``opened``, by a text.

    The text has words of ``pieces`` and single letters, each of them once.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    special = ["<pad>", "</s>", "<unk>"]
    pieces = ["</think>", "<think>", "Perhaps", "Answer", "Non", "yes", "No", "or", ":", ".", ", "]
    vocabulary = {token: place for place, token in enumerate(special)}
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary |= {token: place for place, token in enumerate(letters, len(vocabulary))}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_tokens([piece for piece in pieces if len(piece) > 1])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, **dict(zip(("pad_token", "eos_token", "unk_token"), special))
    )
    tokenizer.chat_template = "{{ messages[0]['content'] + " + repr("\n§" + opened) + " }}"
    size = len(tokenizer)
    config = LlamaConfig(
        vocab_size=size, hidden_size=size, intermediate_size=8, num_hidden_layers=1,
        num_attention_heads=1, head_dim=8, max_position_embeddings=4096, eos_token_id=1,
        tie_word_embeddings=False,
    )  # fmt: skip
    model = LlamaForCausalLM(config)
    answer = tokenizer("§" + opened + text, add_special_tokens=False)["input_ids"]
    start = len(tokenizer("§" + opened, add_special_tokens=False)["input_ids"])
    layer = model.model.layers[0]
    with torch.no_grad():
        layer.self_attn.o_proj.weight.zero_()
        layer.mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(size))
        model.lm_head.weight.zero_()
        for before, after in zip(answer[start - 1 :], [*answer[start:], 1]):
            model.lm_head.weight[after, before] = 2
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Path(folder)


def write_modules(folder: Path, *modules: tuple[str, str]) -> None:
    """Write the list of a sentence encoder's modules: the kind and the folder of each."""
    listed = [
        {
            "idx": place,
            "name": str(place),
            "path": path,
            "type": kind if "." in kind else f"sentence_transformers.models.{kind}",
        }
        for place, (kind, path) in enumerate(modules)
    ]
    (Path(folder) / "modules.json").write_text(json.dumps(listed), encoding="utf-8")


def write_pooling(folder: Path, pooling: str, path: str = "1_Pooling") -> None:
    """Write how a sentence encoder pools its tokens."""
    key = {"mean": "mean_tokens", "cls": "cls_token", "max": "max_tokens"}[pooling]
    modes = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")
    content = {f"pooling_mode_{mode}": mode == key for mode in modes}
    (Path(folder) / path).mkdir(exist_ok=True)
    (Path(folder) / path / "config.json").write_text(
        json.dumps({"word_embedding_dimension": HIDDEN, **content}), encoding="utf-8"
    )


def tokenizer(architecture: str, length: int = LENGTH):
    """Return a byte-level BPE tokenizer that marks texts and pairs as the architecture does."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    start, end, middle, special = _MARKS[architecture]
    special = special.split()
    brackets = "[PAD]" in special
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(TEXT, trainer)
    second = int(brackets)
    one = [*([start] if start else []), "$A", *([end] if end else [])]
    two = [*one[:-1], *middle, f"$B:{second}", f"{end}:{second}"] if end else [*one, "$B"]
    backend.post_processor = processors.TemplateProcessing(
        single=" ".join(one),
        pair=" ".join(two),
        special_tokens=[(token, backend.token_to_id(token)) for token in special],
    )
    names = ["input_ids", "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=length,
        model_input_names=[*names, "token_type_ids"] if second else names,
        padding_side="left" if architecture == "llama" else "right",
        pad_token="[PAD]" if brackets else "<pad>",
        bos_token=start,
        cls_token=start if architecture != "llama" else None,
        sep_token=end,
        eos_token=end or "</s>",
        unk_token="[UNK]" if brackets else "<unk>",
    )


def _saved(folder, architecture, kind, config, seed, length) -> Path:
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = kind(config)
        for parameter in model.parameters():
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, std=0.3)
            else:
                torch.nn.init.normal_(parameter, mean=float(parameter.detach().mean()), std=0.05)
    model.save_pretrained(folder)
    tokenizer(architecture, length).save_pretrained(folder)
    return Path(folder)


def _config(architecture: str, length: int, **more):
    import transformers

    sizes = {
        "hidden_size": HIDDEN,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 2 * HIDDEN,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": length,
        "pad_token_id": 0,
    }
    from_2 = {"max_position_embeddings": length + 2, "pad_token_id": 1}  # positions count from 2
    own = {
        "roberta": {**from_2, "bos_token_id": 0, "eos_token_id": 2, "type_vocab_size": 1},
        "mpnet": {**from_2, "bos_token_id": 0, "eos_token_id": 2},
        "bert": {},
        "deberta-v2": {  # as DeBERTa-v3 has them
            "type_vocab_size": 0, "relative_attention": True, "position_buckets": 16,
            "max_relative_positions": -1, "norm_rel_ebd": "layer_norm", "share_att_key": True,
            "pos_att_type": "p2c|c2p", "position_biased_input": False, "pooler_hidden_size": HIDDEN,
        },
        "t5": {
            "d_model": HIDDEN, "d_ff": 2 * HIDDEN, "d_kv": HIDDEN // 2, "num_layers": 2,
            "num_heads": 2, "vocab_size": VOCABULARY, "n_positions": length, "pad_token_id": 0,
            "eos_token_id": 1, "decoder_start_token_id": 0,
        },
        "llama": {
            "num_key_value_heads": 2, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 3,
        },
    }[architecture]  # fmt: skip
    own = own if architecture == "t5" else {**sizes, **own}
    return transformers.AutoConfig.for_model(architecture, **own, **more)
