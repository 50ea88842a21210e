"""A fitted cross-encoder in the files of a folder, run by onnxruntime with integers or floats."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.core.datapoint import Rule
from shroom.core.problems import ShroomError
from shroom.detectors.cross_encoder.float32_graph import in_float32
from shroom.detectors.fitted import Fitted
from shroom.detectors.out_of_fold import TrainingItems, reading
from shroom.detectors.pairs import Encoding
from shroom.inference.classifier import session
from shroom.inference.compute import threads
from shroom.inference.hub import files_digest, library_versions
from shroom.inference.run_settings import Run

#: Files in the folder of a fitted model.
GRAPH, INTEGERS, TOKENIZER, ABOUT = "model.onnx", "weights.z", "tokenizer.json", "about.json"
TRAINING_ITEMS = "training_items.json"
#: The version of the folder that this kit reads and writes.
FORMAT = 2
#: Several threads may load the model at once.
_LOADING = Lock()


def loaded(folder: Path) -> Fitted:
    """Return the model in a folder that ``shroom fit cross-encoder`` wrote."""
    fit = "to fit a model, use: shroom fit cross-encoder DATA --model ENCODER -o FOLDER"
    with reading(folder, "a model of the cross-encoder", fit):
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if about["format"] != FORMAT:
            raise ShroomError(
                f"{folder / ABOUT}: this version of the kit reads format {FORMAT}, but the model "
                f"has format {about['format']}; fit the model again"
            )
        threshold, digest = float(about["threshold"]), str(about["weights"])
        rule = Rule(about.get("recipe", {}).get("reference", Rule.GIVEN))
        model = ModelFolder(folder, about["integers"], about["padding"], about["room"], rule)
    path = folder / TRAINING_ITEMS
    copy = "copy the whole folder that 'shroom fit cross-encoder' wrote"
    with reading(path, "a list of training items", copy):
        items = TrainingItems.from_dict(json.loads(path.read_text(encoding="utf-8")))
    return Fitted(model, threshold, items, digest)


@dataclass
class ModelFolder:
    """The model in a folder: the shapes of its integers, and its input. It is opened when used."""

    folder: Path
    shapes: Mapping[str, Sequence[int]]
    padding: int
    room: int
    rule: Rule

    def __post_init__(self) -> None:
        self._sessions: dict[str, Any] = {}

    def precision(self, run: Run) -> str:
        """Return the precision to compute in: ``int8`` or ``float32``."""
        if run.device not in (None, "cpu"):
            run.note("the cross-encoder always runs on the CPU; --device is ignored")
        if run.precision not in (None, "float32", "int8"):
            raise ShroomError(
                f"precision: the cross-encoder computes in int8 or float32, not in {run.precision}"
            )
        return run.precision or "int8"

    def probabilities(self, batch: NDArray[np.int64], precision: str) -> NDArray[np.float32]:
        """Return p(Hallucination) of a batch of ids and sides: shape [batch]."""
        with _LOADING:
            if precision not in self._sessions:
                self._sessions[precision] = self._opened(precision)
        return np.asarray(self._sessions[precision].run(None, {"pairs": batch})[0])

    def content(self) -> str:
        """Return a text that identifies the weights and the libraries that compute p."""
        digest = files_digest(self.folder / name for name in (GRAPH, INTEGERS, TOKENIZER, ABOUT))
        return f"cross-encoder {digest} {library_versions('onnxruntime', 'tokenizers')}"

    @property
    def workers(self) -> int:
        """The number of threads that run it at once."""
        return threads()

    @cached_property
    def encoding(self) -> Encoding:
        """The encoding of its input."""
        path = self.folder / TOKENIZER
        if not path.is_file():
            raise ShroomError(
                f"{self.folder} contains no {TOKENIZER}; copy the whole folder of the model"
            )
        return Encoding(path, self.padding, self.room)

    def _opened(self, precision: str) -> Any:
        """Return a session of ONNX Runtime that computes in a precision."""
        try:
            packed = (self.folder / INTEGERS).read_bytes()
            integers = np.frombuffer(zlib.decompress(packed), np.int8)
            graph = (self.folder / GRAPH).read_bytes()
            graph = in_float32(graph) if precision == "float32" else graph
        except (OSError, ValueError, zlib.error) as error:
            raise ShroomError(
                f"{self.folder}: the model cannot be loaded ({error}); copy the whole folder"
            ) from error
        ends = np.cumsum([np.prod(shape) for shape in self.shapes.values()])
        if not len(ends) or len(integers) != ends[-1]:
            raise ShroomError(
                f"{self.folder}: {INTEGERS} does not match {ABOUT}; copy the whole folder"
            )
        parts = zip(self.shapes.items(), np.split(integers, ends[:-1]))
        arrays = {name: part.reshape(shape) for (name, shape), part in parts}
        return session(graph, str(self.folder), arrays)
