"""A transformer that classifies texts or pairs: its files, and its forward pass on a device."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from shroom.core.problems import ShroomError
from shroom.inference import hub
from shroom.inference.batching import batches, threads
from shroom.inference.cache_key import CacheKey, files_digest, library_versions
from shroom.inference.computation import compute
from shroom.inference.forward import of_onnx, of_torch
from shroom.inference.precision import Trusted, precision_for
from shroom.inference.resume_log import PARTIAL
from shroom.inference.tokenization import longest, padded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from shroom.inference.batching import Item
    from shroom.inference.precision import Forward
    from shroom.inference.run_settings import Run

    Reading = Callable[[Sequence[Any]], dict[str, NDArray[np.int64]]]

#: The number of items that a precision is tried on, and of tokens at a time, which fit anywhere.
SAMPLE, SAMPLE_TOKENS = 32, 2048
#: Models that switch to another attention where texts are short, and kinds of positions that are
#: counted in another way where texts are long.
_CHANGING, _CHANGING_ROPE = {"big_bird", "bigbird_pegasus"}, {"dynamic", "longrope"}
#: The fewest items for which a model is compiled on a GPU.
MANY = 100_000
#: The fewest items for which a note names the faster precision.
HINTED = 100


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
        self._compiled = False
        clock = None
        if self._graph is None:
            self._device = run.device or hub.best_device()
            precision = precision_for(run.precision, self._device)
            if run.precision == "auto":
                # On a CPU, the time that other programs take does not count.
                clock = process_time if self._device == "cpu" else perf_counter
        else:
            self._device, precision = "cpu", "float32"  # the graph's own precision
            if run.device not in (None, "cpu"):
                raise ShroomError(
                    f"{name}: an ONNX graph runs on the CPU, and --device says {run.device}"
                )
            if run.precision not in (None, "auto", "float32"):
                raise ShroomError(
                    f"{name}: an ONNX graph has its own precision; leave out --precision"
                )
        self._forward = Trusted(self._load, precision, clock=clock, workers=self._workers())

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
        self._compiled = self._of_many(self._device, len(items))
        self._hint(len(items), run)
        self._forward.settle([read(part) for part in _sample(items, lengths, run)], run.note)
        return compute(
            items,
            lambda batch: self._forward(read(batch)),
            lengths=lengths,
            key=lambda: self._key(reading),
            run=run.to(self._device),
            workers=self._workers(),
            fall_back=self._forward.fall_back,
        )

    def _hint(self, n: int, run: Run) -> None:
        """Name the fast precision, once in a run of many items, on a device that computes in it."""
        if self._graph or n < HINTED or run.precision or "float32" in run.precisions:
            return
        if precision_for("auto", self._device) != "float32":
            run.note(
                "float32 is the default; --precision auto may be over twice as fast on this "
                "device: it compares faster precisions with float32 and takes the fastest"
            )

    def _workers(self) -> int:
        """Return the number of batches at a time: one for a model that changes as it computes."""
        changes = self._graph is None and (self._compiled or _changes(self.config))
        return 1 if self._device != "cpu" or changes else threads()

    @staticmethod
    def _of_many(device: str, n: int) -> bool:
        """Return whether compiling pays."""
        return device.startswith("cuda") and n >= MANY

    def _load(self, precision: str) -> Forward:
        """Return the forward pass in a precision."""
        if self._graph is not None:
            return of_onnx(str(self._graph))
        model = hub.model(self._kind, self._name, self._revision, self._device)
        model.config.pad_token_id = self.tokenizer.pad_token_id  # it may name none, or -1
        dtypes = {"float16": "half", "bfloat16": "bfloat16"}
        model = getattr(model, dtypes[precision])() if precision in dtypes else model
        return of_torch(model, compiled=self._compiled)

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
        return CacheKey(model, lambda: self._lasting(reading), self._forward.precision)

    def _lasting(self, reading: str) -> str | None:
        """Return an identifier of the model, the input and the libraries by content."""
        if self._content is None:
            return None
        runtime = "torch" if self._graph is None else "onnxruntime"
        versions = library_versions("tokenizers", "transformers", runtime)
        return f"{reading} {self._content} {self.room} {self._device} {versions}"


def _sample(items: Sequence[Item], lengths: Sequence[int], run: Run) -> list[list[Item]]:
    """Return batches of items from the longest to the shortest, evenly spread."""
    length = dict(zip(items, lengths))
    ordered = sorted(length, key=length.__getitem__, reverse=True)
    places = np.unique(np.linspace(0, len(ordered) - 1, SAMPLE).round().astype(int))
    chosen = [ordered[place] for place in places]
    ranges = batches([length[item] for item in chosen], min(run.tokens, SAMPLE_TOKENS))
    return [[chosen[place] for place in places] for places in ranges]


def _changes(config: Any) -> bool:
    """Return whether a model of transformers changes itself by the length of its texts."""
    for part in _dicts(config.to_dict()):
        if str(part.get("model_type")) in _CHANGING:
            return True
        # Newer versions have another name for it; it may differ by the kind of layer.
        for name in ("rope_parameters", "rope_scaling"):
            for rope in _dicts(part.get(name)):
                if _CHANGING_ROPE & {str(rope.get("rope_type")), str(rope.get("type"))}:
                    return True
    return False


def _dicts(value: object) -> Iterator[dict[Any, Any]]:
    """Yield a value and all values in it that are dicts."""
    if isinstance(value, dict):
        yield value
        for part in value.values():
            yield from _dicts(part)


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
