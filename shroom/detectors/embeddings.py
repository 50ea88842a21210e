"""Embeddings: of sentences by sentence-transformers, and of tokens for BERTScore."""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.extras import install_hint, require
from shroom.core.printing import counted
from shroom.core.problems import ShroomError, show
from shroom.detectors.arrays import Floats
from shroom.detectors.pairs import Windowed, Windows
from shroom.inference import hub
from shroom.inference.compute import batches, compute
from shroom.inference.run_settings import RUN, Run
from shroom.inference.tokenization import counts, longest, padded, plain, windows

#: Decimals that are kept of a unit vector's numbers.
_DECIMALS = 7
#: The most modules that a model has, those inside of other modules too.
_MODULES = 100
#: Size of the cache of token vectors for later items, in numbers: 128 MiB.
_KEPT = 1 << 25
#: The first version that never runs code from a folder that is not trusted.
_SAFE_VERSION = 6
#: The classes of modules; a whole model inside of another one has modules that are not seen here.
_CLASS = re.compile(
    r"sentence_transformers\.(?:\w+\.)*(?:models|modules)\.(?:\w+\.)*(?!Sentence)\w+"
)


class SentenceEncoder:
    """A model that embeds texts as unit vectors, each after the model's default prompt."""

    def __init__(self, name: str, revision: str | None = None, device: str | None = None) -> None:
        config = hub.config(name, revision)
        self._name = name
        self._model, self._listed = _loaded(name, revision, device or hub.best_device())
        self._tokenizer = padded(self._model.tokenizer)
        self._tokenizer.split_special_tokens = True  # a text is only ever text
        self._lower = bool(self._model[0].do_lower_case)
        self._special = int(self._tokenizer.num_special_tokens_to_add(pair=False))
        rooms = (longest(self._tokenizer, config), self._model.max_seq_length)
        self._room = int(min(room for room in rooms if room))
        default = self._model.default_prompt_name
        self._prompt = self._as_read((default and self._model.prompts.get(default)) or "")
        prompt = self._tokenizer(self._prompt)["input_ids"] if self._prompt else []
        # As sentence-transformers counts it, for pooling that leaves the prompt out.
        ends = bool(prompt) and prompt[-1] in self._tokenizer.all_special_ids
        self._pooling = {"prompt_length": len(prompt) - ends} if prompt else {}
        self._revision = revision

    def read(
        self, pairs: Sequence[tuple[str, str]], options: Windows, run: Run
    ) -> Windowed[tuple[str, str]]:
        """Return pairs of premise and hypothesis, with long premises in windows."""
        length = self._lengths(premise for premise, _ in pairs)
        most = self._room - self._special - counts(self._tokenizer, [self._prompt])[self._prompt]

        def parts(pair: tuple[str, str], options: Windows) -> list[tuple[str, str]]:
            texts = windows(pair[0], most, self._lengths, overlap=options.overlap)
            return [(text, pair[1]) for text in texts]

        fits = np.array([options.cut or length[text] <= most for text, _ in pairs], bool)
        return options.read(pairs, fits, parts, self._name, self._room, run)

    def embed(self, texts: Sequence[str], run: Run) -> Floats:
        """Return unit vectors, [n, dimensions]; only the beginning of a long text is read."""
        if not self._listed:
            run.note(f"{self._name}: no modules.json, so the token vectors are averaged")
        read = [self._prompt + self._as_read(text) for text in texts]
        length = {text: n + self._special for text, n in counts(self._tokenizer, read).items()}
        cut = sum(n > self._room for n in length.values())
        if cut:
            run.note(
                f"{cut} of {len(length)} texts had to be truncated: {self._name} reads at most "
                f"{self._room} tokens"
            )
        device = self._model.device.type
        about = f"{self._room} {device} after {self._prompt!r}"
        model = self._name, self._revision, "sentence_transformers"
        return compute(
            [(text,) for text in read],
            lambda batch: self._embedded([text for (text,) in batch]),
            lengths=[min(length[text], self._room) for text in read],
            scope=partial(hub.scope, about, *model),
            run=replace(run, device=device),
        )

    def _as_read(self, text: str) -> str:
        return plain(text.lower() if self._lower else text)

    def _lengths(self, texts: Iterable[str]) -> dict[str, int]:
        """Return the number of tokens of each distinct text, without special tokens."""
        read = {text: self._as_read(text) for text in texts}
        number = counts(self._tokenizer, read.values())
        return {text: number[form] for text, form in read.items()}

    def _embedded(self, texts: list[str]) -> Floats:
        import torch

        batch = _tokens(self._tokenizer, texts, self._room).to(self._model.device)
        with torch.inference_mode():
            vectors = self._model({**batch, **self._pooling})["sentence_embedding"]
        rows = vectors.float().cpu().numpy().astype(np.float64)
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(np.round(units, _DECIMALS))


def _tokens(tokenizer: Any, texts: list[str], room: int, **more: Any) -> Any:
    """Return the tensors of texts, truncated to ``room`` tokens and padded."""
    room_of_text: dict[str, Any] = {"truncation": True, "max_length": room, "padding": True}
    return tokenizer(texts, **room_of_text, return_tensors="pt", verbose=False, **more)


def _loaded(name: str, revision: str | None, device: str) -> tuple[Any, bool]:
    """Return the model in float32, and whether it has modules.json; its code is never run."""
    require("models", "sentence-transformers")
    import torch
    from sentence_transformers import SentenceTransformer, __version__
    from sentence_transformers.util import is_sentence_transformer_model

    if int(__version__.split(".")[0]) < _SAFE_VERSION:
        raise ShroomError(
            f"a sentence encoder needs sentence-transformers {_SAFE_VERSION} or later, but "
            f"{__version__} is installed: {install_hint('models')}"
        )
    # It logs that a default prompt is used.
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    place = os.path.expanduser(name)  # noqa: PTH111 - a name of the hub is not a path
    try:
        listed = is_sentence_transformer_model(place, revision=revision)
        if listed:
            _refuse_code(place, revision)
        loading: dict[str, Any] = {"trust_remote_code": False, "revision": revision}
        kwargs = {"dtype": torch.float32}
        model = SentenceTransformer(place, device=device, model_kwargs=kwargs, **loading).eval()
    except ShroomError:
        raise
    except Exception as error:
        # A broken file can make the libraries raise anything.
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise ShroomError(
            f"{name}: sentence-transformers cannot load the model ({reason[:200]}); download it "
            "again"
        ) from error
    if not model.tokenizer or not hasattr(model[0], "do_lower_case"):
        raise ShroomError(f"{name}: the first module is not a transformer; use another model")
    # sentence-transformers takes random numbers for weights that are missing, which this refuses.
    hub.model("encoder", model[0].auto_model.name_or_path, revision, "cpu")
    return model, listed


def _refuse_code(place: str, revision: str | None) -> None:
    """Raise if a model has modules that are not classes of sentence-transformers."""
    from sentence_transformers.util import load_file_path

    def read(folder: str, file: str) -> Any:
        path = load_file_path(place, file, subfolder=folder, revision=revision)
        return json.loads(Path(path).read_text(encoding="utf-8")) if path else {}

    pending = [(module["type"], module["path"]) for module in read("", "modules.json")]
    for kind, folder in pending:
        if not _CLASS.fullmatch(kind):
            raise ShroomError(
                f"{place}: the module {show(kind)} is not part of sentence-transformers, and the "
                "kit never runs code that comes with a model; use another model"
            )
        routes = kind.endswith((".Router", ".Asym"))
        for file in ("router_config.json", "config.json") if routes else ():
            inside = read(folder, file).get("types", {})
            pending += [(inner, f"{folder}/{part}".lstrip("/")) for part, inner in inside.items()]
        if len(pending) > _MODULES:
            raise ShroomError(f"{place}: more than {_MODULES} modules; use another model")


class BertScore:
    """BERTScore (Zhang et al. 2020): greedy matching of token vectors by cosine, and F1.

    Without idf weights and without rescaling.
    """

    def __init__(self, model: str, revision: str | None = None) -> None:
        self.model, self.revision = model, revision
        self._loaded: dict[str | None, tuple[Any, Any]] = {}

    def agreement(self, items: Sequence[tuple[Any, ...]], run: Run = RUN) -> Floats:
        """Return each item's mean over samples of the best F1 of their sentences: in [0, 1]."""
        # An item is a sentence, the sentences of a sample, those of the next, and so on.
        tokenizer, encoder = self._load(run.device)
        room = longest(tokenizer, encoder.config)
        special = int(tokenizer.num_special_tokens_to_add())
        texts_of = [_texts(item) for item in items]
        texts = {text: plain(text) for of_item in texts_of for text in of_item}
        tokens = counts(tokenizer, texts.values())
        length = {text: tokens[safe] + special for text, safe in texts.items()}
        cut = sum(n > room for n in length.values())
        if cut:
            long = counted(cut, "sentence")
            run.note(f"{long} had to be truncated: the encoder reads at most {room} tokens")

        read = {text: max(1, min(n, room)) for text, n in length.items()}
        vectors: dict[str, NDArray[np.float32]] = {}
        run = replace(run, device=str(encoder.device))

        def work(batch: list[tuple[Any, ...]]) -> Floats:
            if sum(vector.size for vector in vectors.values()) > _KEPT:
                vectors.clear()
            distinct = {text for item in batch for text in _texts(item)}
            new = sorted(distinct - vectors.keys(), key=lambda text: (-length[text], text))
            for part in batches(new, read, run.tokens):
                safe = [texts[text] for text in part]
                vectors.update(zip(part, _vectors(tokenizer, encoder, safe, room)))
            return np.array([_agreement(item, vectors) for item in batch])

        sizes = [sum(min(length[text], room) for text in of_item) for of_item in texts_of]
        scope = partial(hub.scope, f"bertscore {room} {run.device}", self.model, self.revision)
        return compute(items, work, lengths=sizes, scope=scope, run=run)[:, 0]

    def _load(self, device: str | None) -> tuple[Any, Any]:
        if device not in self._loaded:
            tokenizer = padded(hub.tokenizer(self.model, self.revision))
            tokenizer.split_special_tokens = True  # a text is only ever text
            encoder = hub.model("encoder", self.model, self.revision, device)
            if getattr(encoder.config, "is_encoder_decoder", False):
                encoder = encoder.get_encoder()
            self._loaded[device] = tokenizer, encoder
        return self._loaded[device]


def f1(first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """Return BERTScore's F1 of unit vectors; 0 if there are no tokens or it is negative."""
    if not len(first) or not len(second):
        return 0.0
    cosines = first @ second.T
    precision, recall = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    if min(precision, recall) <= 0:
        return 0.0
    return min(1.0, 2 * precision * recall / (precision + recall))


def _agreement(item: tuple[Any, ...], vectors: dict[str, NDArray[np.float32]]) -> float:
    sentence, *samples = item
    best = [max(f1(vectors[sentence], vectors[text]) for text in texts) for texts in samples]
    return float(np.mean(best))


def _texts(item: tuple[Any, ...]) -> list[str]:
    return [item[0], *(text for texts in item[1:] for text in texts)]


def _vectors(tokenizer: Any, encoder: Any, texts: list[str], room: int) -> list[Any]:
    """Return the unit vectors of each text's tokens, without special tokens."""
    import torch

    batch = _tokens(tokenizer, texts, room, return_special_tokens_mask=True)
    is_text = (batch.pop("special_tokens_mask") == 0) & (batch["attention_mask"] == 1)
    with torch.inference_mode():
        states = encoder(**batch.to(encoder.device)).last_hidden_state.float()
        states = torch.nn.functional.normalize(states, dim=-1).cpu().numpy()
    return [rows[mask] for rows, mask in zip(states, is_text.numpy())]
