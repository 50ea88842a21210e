"""The knowledge probe: p(the model knows the answer), from a hidden state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from shroom.annotate.base import Item, Scorer, Scores
from shroom.annotate.hidden_states import Frame, Reader
from shroom.annotate.saved_probe import ABOUT, Linear, LinearProbe, SavedProbe, digest
from shroom.core.extras import require
from shroom.core.problems import ShroomError
from shroom.datasets.dreamcatcher import Question
from shroom.detectors.settings import File, Name
from shroom.inference import hub
from shroom.inference.run_settings import Run

#: Endings of PyTorch files.
_TORCH = (".pt", ".pth", ".bin")


@dataclass(eq=False)
class Probe(Scorer):
    """Scores all generations of a question by p(the model knows the answer)."""

    # Liang et al. (2024), *Learning to Trust Your Feelings*, arXiv:2401.15449, section 3.

    name = "probe"
    fields = ("probe_score",)
    # What ``annotate probe train`` wrote, or the ``probe.pt`` of the source's notebook.
    probe: File
    model: Name | None = None
    layer: Annotated[int, Meta(ge=-1000, le=1000)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        place = Path(self.probe)
        self._readers: dict[str | None, Reader] = {}
        self._saved: LinearProbe
        if place.suffix in _TORCH:
            self._saved = _from_torch(place, self.model, self.layer)
            self._file = place
        elif self.layer is not None:
            raise ShroomError(f"{self.probe}: the setting 'layer' is only for PyTorch files")
        else:
            self._saved, self._file = SavedProbe.load(place), place / ABOUT

    @property
    def identity(self) -> str:
        """The probe's numbers and settings, and its model."""
        saved = self._saved
        model = hub.identity(self.model or saved.model, saved.revision)
        return f"probe {digest(self._file.read_bytes())} {model} layer {saved.layer}"

    def places(self, question: Question) -> Sequence[int]:
        """Return the places of all generations, which share the value of their question."""
        return range(len(question.generation))

    def item(self, question: Question, place: int) -> Item:
        del place
        return question.question

    def compute(self, items: Sequence[Item], run: Run) -> Sequence[Scores]:
        p: dict[Item, float] = {}
        if texts := [question for question in items if question.strip()]:
            saved, reader = self._saved, self._reader(run)
            layer, ids = reader.layer(saved.layer), [reader.ids(saved.frame, it) for it in texts]
            p = dict(zip(texts, saved.p(reader.states(ids, [layer], run)[:, 0]).tolist()))
        blank = ShroomError("the question is blank")
        return [{"probe_score": p[text]} if text in p else blank for text in items]

    def _reader(self, run: Run) -> Reader:
        """Return the model, after checking that the probe was trained on it."""
        if run.device not in self._readers:
            name = self.model or self._saved.model
            reader = Reader(name, None if self.model else self._saved.revision, run.device)
            self._saved.refuse_another(reader.check(self._saved.frame, run), name)
            self._readers[run.device] = reader
        return self._readers[run.device]


def _from_torch(path: Path, model: str | None, layer: int | None) -> LinearProbe:
    """Return the probe of the source's program whose ``state_dict`` is in a PyTorch file."""
    if model is None or layer is None:
        raise ShroomError(f"{path} contains only weights; specify the model and the layer")
    require("models", "torch")
    import torch

    try:
        linear = _linear(torch.load(path, map_location="cpu", weights_only=True))
    except OSError as error:
        raise ShroomError(f"{path}: cannot be read: {error.strerror or error}") from error
    except Exception as error:  # a file can make the library raise anything
        raise ShroomError(
            f"{path} is not the state_dict of a linear probe (linear.weight and linear.bias); "
            "only weights are read, never pickled objects"
        ) from error
    bare = Frame("completion", "last", "", "")
    return LinearProbe(model, None, layer, bare, linear, curve=None, check=None)


def _linear(state: dict[str, Any]) -> Linear:
    """Return the weights and the bias of a linear layer; raise an exception for other content."""
    (weights,) = np.asarray(state.pop("linear.weight").double().numpy())
    (bias,) = np.asarray(state.pop("linear.bias").double().numpy())
    if state or weights.ndim != 1 or not np.isfinite([*weights, bias]).all():
        raise ValueError("other content")
    return Linear(weights, float(bias))
