"""Sentence embeddings, as the folder of a sentence-transformers model says they are made.

What is read of such a folder: ``modules.json``, the pooling's ``config.json`` in its older and its
newer form, ``sentence_bert_config.json`` and dense layers. Without ``modules.json``, tokens are
averaged, and a note says so.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.problems import ShroomError, show
from shroom.detectors.windowed_pairs import Windowed, Windows
from shroom.inference import hub
from shroom.inference.cache_key import CacheKey
from shroom.inference.computation import compute
from shroom.inference.text_windows import windows
from shroom.inference.tokenization import counts, longest, padded, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from shroom.inference.run import Run

#: How the vectors of a text's tokens become one.
POOLINGS = ("mean", "cls", "max")
#: Newer names, and the older flag of each; the mean over the root of the length points where the
#: mean does, and only the direction counts.
_MODES = {
    "mean": "mean",
    "mean_sqrt_len_tokens": "mean",
    "cls": "cls",
    "max": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
}
_ACTIVATIONS = {"Tanh": "tanh", "Identity": "positive"}
#: Decimals that are kept of a unit vector's numbers.
_DECIMALS = 7


@dataclass(frozen=True)
class Layout:
    """How a sentence encoder is put together.

    Attributes
    ----------
    pooling : str
        One of ``POOLINGS``.
    room : int or None
        The most tokens of a text, where the folder says so.
    lower : bool
        Whether texts are read in lower case.
    dense : tuple of str
        The folders of dense layers after the pooling.
    listed : bool
        Whether ``modules.json`` was found; else the pooling is a guess.
    """

    pooling: str = "mean"
    room: int | None = None
    lower: bool = False
    dense: tuple[str, ...] = ()
    # The form as text is part of what journals know embeddings by, and this changes none.
    listed: bool = field(default=False, repr=False)


def layout(name: str, revision: str | None = None) -> Layout:
    """Return how a sentence encoder is put together.

    Parameters
    ----------
    name : str
        A folder, or a name on the hub.
    revision : str, optional
        A commit, tag or branch there.

    Raises
    ------
    ShroomError
        Where it has a part that is not known here.
    """
    modules = _json(name, "modules.json", revision)
    pooling, dense = "mean", []
    try:
        parts = [
            (str(part["type"]).rpartition(".")[2], str(part["path"])) for part in modules or []
        ]
    except (TypeError, KeyError) as error:
        raise ShroomError(f"{name}: its modules.json lists no modules") from error
    for kind, path in parts:
        if kind == "Pooling":
            pooling = _pooling(name, _part(name, path, revision))
        elif kind == "Dense":
            dense.append(path)
        elif kind not in ("Transformer", "Normalize") or (kind == "Transformer" and path):
            raise ShroomError(
                f"{name}: its modules.json has the part {kind} in {show(path)}, which is not known "
                "here; a sentence encoder may have a Transformer at the top of its folder, "
                "Pooling, Dense and Normalize"
            )
    about = _json(name, "sentence_bert_config.json", revision) or {}
    room = about.get("max_seq_length")
    return Layout(
        pooling,
        room if isinstance(room, int) and room > 0 else None,
        about.get("do_lower_case") is True,
        tuple(dense),
        listed=modules is not None,
    )


def _pooling(name: str, about: dict[str, Any]) -> str:
    mode = about.get("pooling_mode")
    if mode is None:
        chosen = [key for key, on in about.items() if key.startswith("pooling_mode_") and on]
    else:
        chosen = [str(one) for one in mode] if isinstance(mode, list) else [str(mode)]
    if not chosen:
        return "mean"
    if len(chosen) > 1 or chosen[0] not in _MODES:
        raise ShroomError(
            f"{name}: pools its tokens by {' and '.join(chosen)}; known are {', '.join(POOLINGS)}"
        )
    return _MODES[chosen[0]]


def _part(name: str, path: str, revision: str | None) -> dict[str, Any]:
    """Return the settings of a part that modules.json lists."""
    about = _json(name, f"{path}/config.json", revision)
    if not isinstance(about, dict):
        what = "is not there" if about is None else "has no settings"
        raise ShroomError(
            f"{name}: its modules.json lists {path}, but {path}/config.json {what}; fetch the "
            "whole model"
        )
    return about


def _json(name: str, path: str, revision: str | None) -> Any:
    """Return what a json file of a model holds, or ``None`` where there is no such file."""
    found = hub.file(name, path, revision)
    if found is None:
        return None
    try:
        return json.loads(found.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ShroomError(f"{name}: its {path} cannot be read ({error})") from error


class SentenceEncoder:
    """A model that makes a unit vector of each text.

    Parameters
    ----------
    name, revision : str
        A folder, or a name on the hub; and its commit, tag or branch there.
    device : str, optional
        By default the best that is there.
    """

    def __init__(self, name: str, revision: str | None = None, device: str | None = None) -> None:
        self.layout = layout(name, revision)
        self._name = name
        self._tokenizer = padded(hub.tokenizer(name, revision))
        self._tokenizer.split_special_tokens = True  # a text is only ever text
        self._special = int(self._tokenizer.num_special_tokens_to_add(pair=False))
        self._model = hub.model("encoder", name, revision, device)
        self._room = min(
            longest(self._tokenizer, self._model.config), self.layout.room or np.iinfo(int).max
        )
        self._dense = [_dense(name, path, revision) for path in self.layout.dense]
        identity = hub.identity(name, revision, self._model.config)
        self._key = CacheKey(f"sentence {identity} {self.layout}")

    def read(
        self, pairs: Sequence[tuple[str, str]], how: Windows, run: Run
    ) -> Windowed[tuple[str, str]]:
        """Return pairs of premise and hypothesis with the windows of premises that are too long."""
        length = self._lengths(premise for premise, _ in pairs)
        most = self._room - self._special

        def parts(pair: tuple[str, str]) -> list[tuple[str, str]]:
            premise, hyp = pair
            return [
                (one, hyp) for one in windows(premise, most, self._lengths, overlap=how.overlap)
            ]

        found = Windowed.of(pairs, [how.cut or length[one] <= most for one, _ in pairs], parts)
        for note in found.notes(self._name, self._room, how):
            run.note(note)
        return found

    def embed(self, texts: Sequence[str], run: Run) -> NDArray[np.float64]:
        """Return the embedding of each text, scaled to length 1: shape [n, dimensions].

        Each distinct text is embedded once. Of one that is too long, the beginning counts.
        """
        if not self.layout.listed:
            run.note(f"{self._name}: no modules.json was found, so its tokens are averaged")
        given = list(map(self._given, texts))
        length = {text: n + self._special for text, n in counts(self._tokenizer, given).items()}
        cut = sum(n > self._room for n in length.values())
        if cut:
            run.note(
                f"{cut} of {len(length)} texts were cut: {self._name} reads at most {self._room} "
                "tokens"
            )
        return compute(
            [(text,) for text in given],
            lambda batch: self._embedded([text for (text,) in batch]),
            lengths=[min(length[text], self._room) for text in given],
            key=self._key,
            run=run,
        )

    def _given(self, text: str) -> str:
        return plain(text.lower() if self.layout.lower else text)

    def _lengths(self, texts: Iterable[str]) -> dict[str, int]:
        """Return how many tokens each distinct text has, without special ones."""
        given = {text: self._given(text) for text in texts}
        known = counts(self._tokenizer, given.values())
        return {text: known[read] for text, read in given.items()}

    def _embedded(self, texts: list[str]) -> NDArray[np.float64]:
        import torch

        batch = self._tokenizer(
            texts,
            padding=True,
            truncation=True,
            max_length=self._room,
            return_tensors="pt",
            verbose=False,
        ).to(self._model.device)
        with torch.inference_mode():
            states = self._model(**batch).last_hidden_state.float()
            vectors = _pooled(states, batch["attention_mask"], self.layout.pooling)
        found = vectors.cpu().numpy().astype(np.float64)
        for dense in self._dense:
            found = dense(found)
        units = found / np.linalg.norm(found, axis=1, keepdims=True)
        return np.asarray(np.round(units, _DECIMALS))


def _pooled(states: Any, mask: Any, pooling: str) -> Any:
    """Return one vector for each text: shape [batch, dimensions]."""
    if pooling == "cls":
        return states[:, 0]
    weights = mask.unsqueeze(-1)
    if pooling == "max":
        return states.masked_fill(weights == 0, -np.inf).amax(dim=1)
    return (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


def _dense(
    name: str, path: str, revision: str | None
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return what a dense layer does to vectors: shape [batch, in] to [batch, out]."""
    about = _part(name, path, revision)
    kind = str(about.get("activation_function", "Tanh")).rpartition(".")[2]
    weights = hub.file(name, f"{path}/model.safetensors", revision)
    if kind not in _ACTIVATIONS or weights is None:
        missing = f"the activation {kind}" if weights else "no model.safetensors"
        raise ShroomError(
            f"{name}: its dense layer {path} has {missing}, so it cannot be used here"
        )
    from safetensors.numpy import load_file

    values = load_file(weights)
    matrix = values["linear.weight"].astype(np.float64).T
    bias = values.get("linear.bias", np.zeros(1)).astype(np.float64)
    activation = getattr(np, _ACTIVATIONS[kind])
    return lambda vectors: np.asarray(activation(vectors @ matrix + bias))
