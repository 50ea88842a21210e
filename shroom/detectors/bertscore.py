"""BERTScore (Zhang et al. 2020): greedy matching of an encoder's token vectors by cosine, and F1.

Without idf weights and without rescaling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.printing import counted
from shroom.inference import hub
from shroom.inference.compute import batches, compute
from shroom.inference.run_settings import RUN, Run
from shroom.inference.tokenization import counts, longest, padded, plain

#: Size of the cache of vectors for later items, in numbers: 128 MiB.
_KEPT = 1 << 25


class BertScore:
    """F1 of token vectors, by an encoder from the hub or a folder."""

    def __init__(self, model: str, revision: str | None = None) -> None:
        self.model, self.revision = model, revision
        self._loaded: dict[str | None, tuple[Any, Any]] = {}

    def agreement(self, items: Sequence[tuple[Any, ...]], run: Run = RUN) -> NDArray[np.float64]:
        """Return each item's mean over samples of the best F1 of their sentences: in [0, 1]."""
        # An item is a sentence, the sentences of a sample, those of the next, and so on.
        tokenizer, encoder = self._load(run.device)
        room = longest(tokenizer, encoder.config)
        special = int(tokenizer.num_special_tokens_to_add())
        texts = {text: plain(text) for item in items for text in _texts(item)}
        tokens = counts(tokenizer, texts.values())
        length = {text: tokens[safe] + special for text, safe in texts.items()}
        cut = sum(n > room for n in length.values())
        if cut:
            long = counted(cut, "sentence")
            run.note(f"{long} had to be truncated: the encoder reads at most {room} tokens")

        read = {text: max(1, min(n, room)) for text, n in length.items()}
        vectors: dict[str, NDArray[np.float32]] = {}
        run = replace(run, device=str(encoder.device))

        def work(batch: list[tuple[Any, ...]]) -> NDArray[np.float64]:
            if sum(vector.size for vector in vectors.values()) > _KEPT:
                vectors.clear()
            distinct = {text for item in batch for text in _texts(item)}
            new = sorted(distinct - vectors.keys(), key=lambda text: (-length[text], text))
            for part in batches(new, read, lambda: run.tokens):
                safe = [texts[text] for text in part]
                vectors.update(zip(part, _vectors(tokenizer, encoder, safe, room)))
            return np.array([_agreement(item, vectors) for item in batch])

        sizes = [sum(min(length[text], room) for text in _texts(item)) for item in items]
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
    if precision <= 0 or recall <= 0:
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

    batch = tokenizer(
        texts,
        truncation=True,
        max_length=room,
        padding=True,
        return_special_tokens_mask=True,
        return_tensors="pt",
        verbose=False,
    )
    is_text = (batch.pop("special_tokens_mask") == 0) & (batch["attention_mask"] == 1)
    with torch.inference_mode():
        states = encoder(**batch.to(encoder.device)).last_hidden_state.float()
        states = torch.nn.functional.normalize(states, dim=-1).cpu().numpy()
    return [rows[mask] for rows, mask in zip(states, is_text.numpy())]
