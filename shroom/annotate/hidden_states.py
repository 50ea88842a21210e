"""The hidden states of a causal model at the end of questions, and the prompt around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shroom.annotate.base import slices
from shroom.core.problems import ShroomError
from shroom.inference import hub
from shroom.inference.compute import compute
from shroom.inference.run_settings import Run
from shroom.inference.store import Store
from shroom.inference.tokenization import in_chat, padded

Ids = tuple[int, ...]
States = NDArray[np.float32]

#: Where states are read: at the question's last token, or the last token before the answer.
Position = Literal["last", "before-answer"]
POSITIONS = get_args(Position)
#: What separates question and answer without a chat template.
AFTER = "\n"
#: A question from no data set: the last layer's state after it identifies a model.
CHECK = "Which of the two was there before the other?"
#: A character of no script, which no template changes.
_MARK = "\ue137"
#: The maximum number of tokens of a text for any model.
_LONGEST = 8192


@dataclass(frozen=True)
class Frame:
    """The texts around each question, and where states are read."""

    mode: Literal["chat", "completion"]
    position: Position
    before: str  # stored, because chat templates may contain a date
    after: str

    def text(self, question: str) -> str:
        """Return the model's input; states are read at its last token."""
        # A causal model's states do not depend on later tokens. Blanks at the end are kept,
        # because the source's probes were trained with them.
        return self.before + question + (self.after if self.position != "last" else "")


def frame(tokenizer: Any, name: str, position: Position) -> Frame:
    """Return the chat template around each question; without one, a newline."""
    if not getattr(tokenizer, "chat_template", None):
        return Frame("completion", position, "", AFTER)
    turns = [("user", _MARK)]
    text = in_chat(tokenizer, name, turns, asks=True, way_out="use another model")
    before, _, after = text.partition(_MARK)
    return Frame("chat", position, before, after)


class Reader:
    """Reads the states of a causal model."""

    # Layer 0 is the input of the first block; the last layer follows the final normalisation.

    def __init__(self, name: str, revision: str | None = None, device: str | None = None) -> None:
        self.name, self.revision = name, revision
        self.tokenizer = padded(hub.tokenizer(name, revision))
        # A causal model's states do not depend on padding that follows.
        self.tokenizer.padding_side = "right"
        model = hub.model("causal", name, revision, device)
        # Without its head, a model does not compute the logits of the whole vocabulary.
        self._model, self._device = model.base_model, model.device
        about = model.config.get_text_config()
        self.last = int(about.num_hidden_layers)
        reads = getattr(about, "max_position_embeddings", None)
        self.most = min(int(self.tokenizer.model_max_length), int(reads or _LONGEST), _LONGEST)

    def layer(self, number: int) -> int:
        """Return a layer by its number from 0; negative numbers count from the last."""
        if not -self.last - 1 <= number <= self.last:
            raise ShroomError(
                f"layer: expected a number from {-self.last - 1} to {self.last}, the last layer of "
                f"{self.name}, got {number}"
            )
        return number % (self.last + 1)

    def ids(self, frame: Frame, question: str) -> Ids:
        """Return the tokens of a question in its frame, without the beginning if it is too long."""
        # A chat template has a start token.
        special = frame.mode == "completion"
        read = self.tokenizer(frame.text(question), add_special_tokens=special)
        return tuple(read["input_ids"][-self.most :])

    def check(self, frame: Frame, run: Run) -> States:
        """Return the last layer's state after ``CHECK``: shape [width]."""
        state: States = self.states([self.ids(frame, CHECK)], [self.last], run.bare())[0, 0]
        return state

    def states(self, items: Sequence[Ids], layers: Sequence[int], run: Run) -> States:
        """Return the states at the last token of each item: shape [n, layers, width]."""
        rows = compute(
            items,
            lambda batch: self._read(batch, layers),
            lengths=[len(item) for item in items],
            scope=lambda: None,
            run=replace(run, stores=(), device=self._device.type),
        )
        return rows.astype(np.float32).reshape(len(items), len(layers), -1)

    def _read(self, batch: Sequence[Ids], layers: Sequence[int]) -> NDArray[Any]:
        """Return the states of some layers side by side: shape [batch, layers * width]."""
        import torch

        inputs = self.tokenizer.pad(
            {"input_ids": [*map(list, batch)]}, return_tensors="pt", verbose=False
        )
        last = (range(len(batch)), [len(item) - 1 for item in batch])
        with torch.inference_mode():
            output = self._model(
                **inputs.to(self._device), use_cache=False, output_hidden_states=True
            )
            states = [output.hidden_states[layer][last].float().cpu() for layer in layers]
        return np.concatenate(states, axis=1)


def stored(
    reader: Reader, items: Sequence[Ids], layers: Sequence[int], store: Store, run: Run
) -> Callable[[int], NDArray[np.float64]]:
    """Store missing states, and return a function from a layer to its states: [n, width]."""
    # The states of all layers together may not fit into memory.
    identity, known = hub.identity(reader.name, reader.revision), set(items)
    scopes = {layer: f"states {identity} layer {layer}" for layer in layers}
    for scope in scopes.values():
        known &= store.get(scope, items).keys()
    missing = [item for item in dict.fromkeys(items) if item not in known]
    for part, within in slices(missing, len, run):
        states = reader.states(part, layers, within)
        for scope, rows in zip(scopes.values(), states.swapaxes(0, 1)):
            store.put(scope, {item: row.tobytes() for item, row in zip(part, rows)})

    def states_of(layer: int) -> NDArray[np.float64]:
        found = store.get(scopes[layer], items)
        if not found.keys() >= set(items):
            problem = f"{store.path}: the states of layer {layer} are missing"
            raise ShroomError(f"{problem}; free disk space, then run again with --resume")
        return np.array([np.frombuffer(found[item], np.float32) for item in items], np.float64)

    return states_of
