"""A transformer that classifies texts or pairs: its files, and its forward pass on a device."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.problems import ShroomError
from shroom.inference import hub
from shroom.inference.batching import Item, lacks_memory, threads
from shroom.inference.cache_key import CacheKey, files_digest, library_versions
from shroom.inference.computation import compute
from shroom.inference.forward import Forward, of_onnx, of_torch
from shroom.inference.resume_log import PARTIAL
from shroom.inference.run_settings import PRECISIONS, Run
from shroom.inference.tokenization import longest, padded

Reading = Callable[[Sequence[Any]], dict[str, NDArray[np.int64]]]

#: In the configuration of a model that changes itself as it computes: another attention where texts
#: are short, or positions that are counted in another way where texts are long.
_CHANGING = re.compile(r'"model_type": "big_?bird|"(rope_)?type": "(dynamic|longrope)"')


class SequenceClassifier:
    """Logits of items, by a model of transformers or an ONNX graph of one.

    Parameters
    ----------
    kind : str
        One of :data:`shroom.inference.hub.KINDS`: what the model was trained as.
    name : str
        A folder, a name on the hub, or an ONNX graph's file. Beside that, or in the folder above,
        are ``config.json`` and the tokenizer's files.
    revision : str or None
        A commit, tag or branch of the hub.
    run : Run
        Its device, by default the best that is there, and its precision.

    Attributes
    ----------
    config, tokenizer
        Of transformers; the tokenizer is read when it is first asked for.
    """

    def __init__(self, kind: str, name: str, revision: str | None, run: Run) -> None:
        self._kind, self._name, self._revision = kind, name, revision
        self._graph = hub.onnx_file(name)
        self._folder = name if self._graph is None else _folder(name, self._graph)
        self.config = hub.config(self._folder, revision)
        self._identity = self._current_identity()
        if self._graph is None:
            self._device = run.device or hub.best_device()
            self._precision = _precision(run.precision)
        else:
            self._device, self._precision = "cpu", "float32"  # the graph's own precision
            if run.device not in (None, "cpu"):
                raise ShroomError(
                    f"{name}: an ONNX graph runs on the CPU, and --device says {run.device}"
                )
            if run.precision not in (None, "float32"):
                raise ShroomError(
                    f"{name}: an ONNX graph has its own precision; leave out --precision"
                )

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer in the folder of the weights, with the padding that the model knows."""
        tokenizer = padded(hub.tokenizer(self._folder, self._revision), self.config)
        if self.config.model_type != "xlnet":  # its score is at the last place
            tokenizer.padding_side = "right"  # places may be counted from the left
        return tokenizer

    @cached_property
    def room(self) -> int:
        """Maximum number of tokens of an item."""
        return longest(self.tokenizer, self.config)

    def logits(
        self, items: Sequence[Item], lengths: Sequence[int], read: Reading, reading: str, run: Run
    ) -> NDArray[np.float64]:
        """Return the logits of each item: shape [n, classes].

        Parameters
        ----------
        items : sequence of tuple, length n
            At least one.
        lengths : sequence of int, length n
            The tokens of each, at most ``room``.
        read : callable
            Makes token arrays of items.
        reading : str
            Identifies what ``read`` does, as part of the cache key.
        run : Run
            How it is run.
        """
        _ = self._forward  # it is loaded once, before there are threads
        return compute(
            items,
            lambda batch: self._forward(read(batch)),
            lengths=lengths,
            key=self._key(reading),
            run=replace(run, device=self._device),
            workers=self._workers(),
        )

    def _workers(self) -> int:
        """Return the number of batches at a time: one for a model that changes as it computes."""
        changes = self._graph is None and _changes(self.config)
        return 1 if self._device != "cpu" or changes else threads()

    @cached_property
    def _forward(self) -> Forward:
        """The forward pass in the precision."""
        if self._graph is not None:
            return of_onnx(str(self._graph))
        dtypes = {"float16": "half", "bfloat16": "bfloat16"}
        try:
            model = hub.model(self._kind, self._name, self._revision, self._device)
            if self._precision in dtypes:
                model = getattr(model, dtypes[self._precision])()
        except Exception as error:
            if not lacks_memory(error):
                raise
            raise ShroomError(
                "the model does not fit into the device's memory: try --device cpu, or a smaller "
                "model"
            ) from error
        model.config.pad_token_id = self.tokenizer.pad_token_id  # it may name none, or -1
        return of_torch(model)

    def _current_identity(self) -> str:
        """Return an identifier of the weights on this machine, valid while their files stay."""
        graph = "" if self._graph is None else f" {self._graph.name}"
        return f"{hub.identity(self._folder, self._revision, self.config)}{graph}"

    @cached_property
    def _content(self) -> str | None:
        """Identifies the weights on any machine; ``None`` if their files have changed."""
        if self._current_identity() != self._identity:
            return None
        if self._graph is None:
            return hub.content(self._name, self._revision)
        beside = {*self._graph.parent.iterdir(), *Path(self._folder).iterdir()}
        return files_digest(path for path in beside if path.is_file() and path.suffix != PARTIAL)

    def _key(self, reading: str) -> CacheKey:
        """Return everything that the logits depend on besides the items."""
        model = f"{reading} {self._identity}"
        return CacheKey(model, lambda: self._lasting(reading), self._precision)

    def _lasting(self, reading: str) -> str | None:
        """Return an identifier of the model, the input and the libraries by content."""
        if self._content is None:
            return None
        runtime = "torch" if self._graph is None else "onnxruntime"
        versions = library_versions("tokenizers", "transformers", runtime)
        return f"{reading} {self._content} {self.room} {self._device} {versions}"


def _precision(asked: str | None) -> str:
    """Return the precision that a model in torch computes in."""
    if asked == "int8":
        raise ShroomError(
            "precision int8 is for models stored in integers, as shroom fit cross-encoder writes "
            "them; give float32, bfloat16 or float16"
        )
    if asked not in (None, *PRECISIONS):
        raise ShroomError(f"precision: expected one of {', '.join(PRECISIONS)}, got {asked}")
    return asked or "float32"


def _changes(config: Any) -> bool:
    """Return whether a model of transformers changes itself by the length of its texts."""
    return bool(_CHANGING.search(config.to_json_string(use_diff=False)))


def _folder(name: str, graph: Path) -> str:
    """Return the folder that has the configuration of a graph."""
    if not graph.is_file():
        raise ShroomError(f"{name}: there is no such file")
    for folder in (graph.parent, graph.parent.parent):
        if (folder / "config.json").is_file():
            return str(folder)
    raise ShroomError(
        f"{name}: has no config.json in its folder or in the folder above; put that of its model "
        "there, and the tokenizer's files"
    )
