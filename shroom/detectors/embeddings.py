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

from shroom.core.extras import require
from shroom.core.printing import counted
from shroom.core.problems import ShroomError, show
from shroom.detectors.arrays import Floats
from shroom.detectors.pairs import Windowed, in_windows
from shroom.inference import hub
from shroom.inference.compute import batches, compute
from shroom.inference.run_settings import RUN, Run
from shroom.inference.tokenization import counts, longest, padded, plain, windows

#: Decimals that are kept of a unit vector's numbers.
_DECIMALS = 7
#: The classes of modules; those that contain other modules are left out.
_CLASS = re.compile(
    r"sentence_transformers\.(?:\w+\.)*(?:models|modules)\.(?:\w+\.)*(?!Sentence|Router|Asym)\w+"
)


class SentenceEncoder:
    """A model that embeds texts as unit vectors, each after the model's default prompt."""

    def __init__(self, name: str, revision: str | None = None, device: str | None = None) -> None:
        self._name, self._revision = name, revision
        self._model = _loaded(name, revision, device or hub.best_device())
        self._tokenizer = padded(self._model.tokenizer)
        self._tokenizer.split_special_tokens = True  # a text is only ever text
        rooms = longest(self._tokenizer, hub.config(name, revision)), self._model.max_seq_length
        self._room = self._model.max_seq_length = int(min(room for room in rooms if room))
        default = self._model.default_prompt_name
        self._prompt = (default and self._model.prompts.get(default)) or ""
        special = int(self._tokenizer.num_special_tokens_to_add(pair=False))
        self._before = special + counts(self._tokenizer, [self._prompt])[self._prompt]

    def read(self, pairs: Sequence[tuple[str, str]], run: Run) -> Windowed[tuple[str, str]]:
        """Return pairs of premise and hypothesis, with long premises in windows."""
        length, most = self._lengths(premise for premise, _ in pairs), self._room - self._before

        def parts(pair: tuple[str, str]) -> list[tuple[str, str]]:
            return [(text, pair[1]) for text in windows(pair[0], most, self._lengths)]

        fits = np.array([length[text] <= most for text, _ in pairs], bool)
        limit = f"{self._name} reads at most {self._room} tokens"
        return in_windows(pairs, fits, parts, limit, run)

    def embed(self, texts: Sequence[str], run: Run) -> Floats:
        """Return unit vectors, [n, dimensions]; only the beginning of a long text is read."""
        length = {text: n + self._before for text, n in self._lengths(texts).items()}
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
            [(plain(text),) for text in texts],
            lambda batch: self._embedded([text for (text,) in batch]),
            lengths=[min(length[text], self._room) for text in texts],
            scope=partial(hub.scope, about, *model),
            run=replace(run, device=device),
        )

    def _lengths(self, texts: Iterable[str]) -> dict[str, int]:
        """Return the number of tokens of each distinct text, without special tokens."""
        read = {text: plain(text) for text in texts}
        number = counts(self._tokenizer, read.values())
        return {text: number[form] for text, form in read.items()}

    def _embedded(self, texts: list[str]) -> Floats:
        rows = self._model.encode(texts, batch_size=len(texts), show_progress_bar=False)
        rows = rows.astype(np.float64)
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(np.round(units, _DECIMALS))


def _loaded(name: str, revision: str | None, device: str) -> Any:
    """Return the model in float32; its code is never run."""
    require("models", "sentence-transformers")
    import torch
    from sentence_transformers import SentenceTransformer

    # It logs that a default prompt is used.
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    place = os.path.expanduser(name)  # noqa: PTH111 - a name of the hub is not a path
    try:
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
    if not model.tokenizer or not hasattr(model[0], "auto_model"):
        raise ShroomError(f"{name}: the first module is not a transformer; use another model")
    # sentence-transformers takes random numbers for weights that are missing, which this refuses.
    hub.model("encoder", model[0].auto_model.name_or_path, revision, "cpu")
    return model


def _refuse_code(place: str, revision: str | None) -> None:
    """Raise if a model has modules that are not plain classes of sentence-transformers."""
    from sentence_transformers.util import load_file_path

    path = load_file_path(place, "modules.json", revision=revision)
    for module in json.loads(Path(path).read_text(encoding="utf-8")) if path else ():
        if not _CLASS.fullmatch(module["type"]):
            raise ShroomError(
                f"{place}: the module {show(module['type'])} is not a plain module of "
                "sentence-transformers, and the kit never runs code that comes with a model; use "
                "another model"
            )


class BertScore:
    """BERTScore (Zhang et al. 2020): greedy matching of token vectors by cosine, and F1.

    Without idf weights and without rescaling.
    """

    def __init__(self, model: str, revision: str | None = None) -> None:
        self.model, self.revision = model, revision
        self._loaded: tuple[Any, Any] | None = None

    def agreement(self, items: Sequence[tuple[tuple[str, ...], ...]], run: Run = RUN) -> Floats:
        """Return the agreement of each text with its samples: shape [n], in [0, 1].

        An item has the sentences of the text, then those of each sample. For each sentence, the
        best F1 with a sentence of each sample is averaged.
        """
        tokenizer, encoder = self._load(run.device)
        room = longest(tokenizer, encoder.config)
        read = {text: plain(text) for item in items for texts in item for text in texts}
        tokens = counts(tokenizer, read.values())
        special = int(tokenizer.num_special_tokens_to_add())
        length = {text: max(1, tokens[safe] + special) for text, safe in read.items()}
        if cut := sum(n > room for n in length.values()):
            long = counted(cut, "sentence")
            run.note(f"{long} had to be truncated: the encoder reads at most {room} tokens")
            length = {text: min(n, room) for text, n in length.items()}
        run = replace(run, device=str(encoder.device))

        def work(batch: list[tuple[tuple[str, ...], ...]]) -> Floats:
            distinct = {text for item in batch for texts in item for text in texts}
            order = sorted(distinct, key=lambda text: (-length[text], text))
            vectors: dict[str, NDArray[np.float32]] = {}
            for part in batches(order, length, run.tokens):
                safe = [read[text] for text in part]
                vectors.update(zip(part, _vectors(tokenizer, encoder, safe, room)))
            return np.array([_agreement(item, vectors) for item in batch])

        sizes = [sum(length[text] for texts in item for text in texts) for item in items]
        scope = partial(hub.scope, f"bertscore {room} {run.device}", self.model, self.revision)
        return compute(items, work, lengths=sizes, scope=scope, run=run)[:, 0]

    def _load(self, device: str | None) -> tuple[Any, Any]:
        if self._loaded is None:
            tokenizer = padded(hub.tokenizer(self.model, self.revision))
            tokenizer.split_special_tokens = True  # a text is only ever text
            encoder = hub.model("encoder", self.model, self.revision, device)
            if getattr(encoder.config, "is_encoder_decoder", False):
                encoder = encoder.get_encoder()
            self._loaded = tokenizer, encoder
        return self._loaded


def f1(first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """Return BERTScore's F1 of unit vectors; 0 if there are no tokens or it is negative."""
    if not len(first) or not len(second):
        return 0.0
    cosines = first @ second.T
    precision, recall = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    if min(precision, recall) <= 0:
        return 0.0
    return min(1.0, 2 * precision * recall / (precision + recall))


def _agreement(item: tuple[tuple[str, ...], ...], vectors: dict[str, Any]) -> float:
    sentences, *samples = item
    best = [
        max(f1(vectors[sentence], vectors[text]) for text in texts)
        for sentence in sentences
        for texts in samples
    ]
    return float(np.mean(best))


def _vectors(tokenizer: Any, encoder: Any, texts: list[str], room: int) -> list[Any]:
    """Return the unit vectors of each text's tokens, without special tokens."""
    import torch

    reading: dict[str, Any] = {"truncation": True, "max_length": room, "padding": True}
    reading |= {"return_tensors": "pt", "return_special_tokens_mask": True, "verbose": False}
    batch = tokenizer(texts, **reading)
    is_text = (batch.pop("special_tokens_mask") == 0) & (batch["attention_mask"] == 1)
    with torch.inference_mode():
        states = encoder(**batch.to(encoder.device)).last_hidden_state.float()
        states = torch.nn.functional.normalize(states, dim=-1).cpu().numpy()
    return [rows[mask] for rows, mask in zip(states, is_text.numpy())]
