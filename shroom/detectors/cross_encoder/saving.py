"""Writing a fitted cross-encoder as a folder that runs without torch, with its card."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from shroom.core.atomic_writing import write_atomically
from shroom.detectors.cross_encoder.card import card
from shroom.detectors.cross_encoder.export import exported
from shroom.detectors.cross_encoder.model_folder import (
    ABOUT,
    FORMAT,
    GRAPH,
    INTEGERS,
    TOKENIZER,
    TRAINING_ITEMS,
)
from shroom.inference.weight_packing import packed

if TYPE_CHECKING:
    from pathlib import Path

    from shroom.detectors.cross_encoder.trained_model import TrainedModel


def save(folder: Path, trained: TrainedModel, about: dict[str, Any]) -> None:
    """Write the graph, its integers, the tokenizer, the training items and the model's card."""
    graph, arrays = exported(trained.model, trained.encoding)
    integers = packed(b"".join(array.tobytes() for array in arrays.values()))
    content = {
        "format": FORMAT,
        "detector": "cross-encoder",
        "padding": trained.encoding.padding,
        "room": trained.encoding.room,
        "threshold": trained.threshold,
        **about,
        "integers": {name: list(array.shape) for name, array in arrays.items()},
        "weights": hashlib.sha256(graph + integers).hexdigest()[:16],
    }
    texts = {
        "README.md": card(content),
        ABOUT: _indented(content) + "\n",
        TRAINING_ITEMS: json.dumps(trained.training_items.to_dict(), separators=(",", ":")) + "\n",
    }
    write_atomically(folder / GRAPH, graph)
    write_atomically(folder / INTEGERS, integers)
    write_atomically(folder / TOKENIZER, trained.tokenizer.read_bytes())
    for name, text in texts.items():
        write_atomically(folder / name, text)


def _indented(content: dict[str, Any]) -> str:
    """Return json that people can read: a line for each key, and for each part of the recipe."""
    lines = []
    for key, value in content.items():
        deep = key in ("out_of_fold", "recipe")
        text = json.dumps(value, indent=2 if deep else None, ensure_ascii=False)
        lines.append(f"  {json.dumps(key)}: " + text.replace("\n", "\n  "))
    return "{\n" + ",\n".join(lines) + "\n}"
