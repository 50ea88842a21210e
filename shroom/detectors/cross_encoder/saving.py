"""Writing a fitted cross-encoder as a folder that runs without torch, with the model's card."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import torch

from shroom.core.atomic_writing import write_atomically
from shroom.detectors.cross_encoder.model_folder import (
    ABOUT,
    FORMAT,
    GRAPH,
    INTEGERS,
    TOKENIZER,
    TRAINING_ITEMS,
)
from shroom.inference.onnx_quantization import graph_of, layouts_of, quantised
from shroom.inference.quantization import TEXTS, packed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from shroom.detectors.cross_encoder.encoding import Encoding
    from shroom.detectors.cross_encoder.pair_model import PairModel, TrainedModel


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


def exported(model: PairModel, encoding: Encoding) -> tuple[bytes, dict[str, NDArray[np.int8]]]:
    """Return a trained model as an ONNX graph and the integers that it refers to, by name.

    The graph takes ``pairs`` of shape [2, batch, tokens], int64, which are ids and sides, and
    gives ``p`` of shape [batch].
    """
    import onnx

    example = torch.tensor([[[5, 6, 7, 8], [5, 6, 7, 8]], [[3, 1, 2, 4], [3, 1, 2, 4]]])
    axes = {"pairs": {1: "batch", 2: "tokens"}, "p": {0: "batch"}}
    traced = graph_of(_Whole(model).cpu().eval(), {"pairs": example}, "p", axes)
    unquantised = onnx.load_model_from_string(traced)
    graph, integers = quantised(unquantised, layouts_of(unquantised, "the model", sample(encoding)))
    return graph.SerializeToString(), integers


def sample(encoding: Encoding) -> list[dict[str, NDArray[np.int64]]]:
    """Return the texts that the form of rows is chosen by, as the graph takes them."""
    pairs, _ = encoding([("PG", *texts) for texts in TEXTS])
    return [{"pairs": encoding.batch([pair])} for pair in pairs]


class _Whole(torch.nn.Module):
    """The model from one array of ids and sides to p(Hallucination)."""

    def __init__(self, model: PairModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, pairs: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(self.model(pairs[0], pairs[1]))


def card(about: Mapping[str, Any]) -> str:
    """Return the card as Markdown, from the content of ``about.json``."""
    return "\n".join(_lines(about)) + "\n"


def _lines(about: Mapping[str, Any]) -> Iterator[str]:
    recipe = about["recipe"]
    yield "# A cross-encoder for p(Hallucination)"
    yield ""
    yield "Reads a reference and a hypothesis together and returns how likely people are to call"
    yield "the hypothesis a hallucination. English; made for SHROOM's tasks (definitions,"
    yield "translations, paraphrases, simplifications). The kit writes this card."
    yield ""
    yield f"- **Weights** {about['weights']}, from the encoder `{recipe['encoder']}`"
    yield f"- **Made by** `{about.get('command', 'fit')}`, seed {recipe['seed']}"
    if about.get("seconds"):
        yield (
            f"- **Time** {about['seconds'] / 3600:.1f} hours on {about['machine']}, without "
            "what was kept of earlier runs; energy was not measured"
        )
    if about.get("note"):
        yield f"- **Note** {about['note']}"
    yield "- **Form** ONNX graph with 7-bit matrices and 8-bit embeddings; runs with onnxruntime"
    yield ""
    yield from _figures(about)
    yield from _data(recipe.get("stages") or [])
    yield "## Limits"
    yield ""
    yield "- It judges support by the reference alone: what is true, but not in the reference, is a"
    yield "  hallucination to it, as it was to SHROOM's annotators."
    yield f"- It reads {about['room']} tokens of a pair; of longer ones not the reference's end."
    yield "- English on both sides. It has seen no source language of a translation."
    yield "- By default it computes with its integers, and p depends on the version of onnxruntime"
    yield "  and on the processor. For the model that ships with the kit, p on val differed between"
    yield "  onnxruntime 1.16.3 and 1.32.0 by .0026 on average and .026 at most, and 1 of 1000"
    yield "  labels changed. `--precision float32` took 2.2 times as long; p differed by .000004."
    yield "- It has learnt the mean of a few annotators, who agree little: on SHROOM's val their"
    yield "  alpha is .33 to .37. None of SHROOM's public data are of the task TS."


def _figures(about: Mapping[str, Any]) -> Iterator[str]:
    figures = about.get("out_of_fold")
    if not figures:
        return
    yield "## Figures"
    yield ""
    yield f"By {about['folds']}-fold cross-validation, data with the same hypothesis in one fold:"
    yield ""
    yield "| data | n | accuracy | rho |"
    yield "|---|---|---|---|"
    for base, figure in figures.items():
        rho = "–" if figure["rho"] is None else f"{figure['rho']:.3f}"
        yield f"| {base} | {figure['n']} | {figure['accuracy']:.3f} | {rho} |"
    yield ""


def _data(stages: list[Mapping[str, Any]]) -> Iterator[str]:
    corpora = [corpus for stage in stages for corpus in stage.get("corpora", ())]
    yield "## Data"
    yield ""
    for stage in stages:
        shown = {
            key: stage[key]
            for key in ("n", "epochs", "batch", "rate", "frozen", "precision", "blend")
            if key in stage
        }
        settings = ", ".join(f"{key} {value}" for key, value in shown.items())
        yield f"- stage `{stage['name']}`: {settings or 'as by default'}"
        if stage.get("teacher"):
            files = ", ".join(stage["unlabelled"])
            yield f"  – taught by `{stage['teacher']}` on {files}"
    yield "- stages without corpora or a teacher learn from the labelled data of the command above;"
    yield "  those of SHROOM are under CC-BY-SA-4.0"
    yield ""
    if corpora:
        yield "| corpus | as | at most | licence as stated |"
        yield "|---|---|---|---|"
        for corpus in corpora:
            part = f" ({', '.join(corpus['only'])})" if corpus.get("only") else ""
            licence = corpus.get("licence", "not stated")
            yield f"| {corpus['file']}{part} | {corpus['task']} | {corpus['n']} | {licence} |"
        yield ""
