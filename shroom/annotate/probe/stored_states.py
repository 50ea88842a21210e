"""Hidden states on disk: one file for each chunk of questions, named by all that it depends on."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shroom.annotate.base import within
from shroom.annotate.probe.hidden_states import Ids, Reader
from shroom.core.atomic_writing import write_atomically
from shroom.core.json_writing import json_digest
from shroom.core.problems import ShroomError
from shroom.inference.run_settings import Run

#: Number of questions in a file: a killed run loses at most as many.
CHUNK = 128


def collect(
    reader: Reader, items: Sequence[Ids], layers: Sequence[int], folder: Path, run: Run
) -> Callable[[int], NDArray[np.float64]]:
    """Store the states of questions that are not in a folder yet, and return what reads them.

    The longest questions are read first. What is returned takes a layer, and returns its states:
    shape [n, width].
    """
    for left in folder.glob(".shroom-*"):  # a killed run was writing it
        left.unlink(missing_ok=True)
    order = sorted(range(len(items)), key=lambda row: len(items[row]), reverse=True)
    paths = []
    for start in range(0, len(order), CHUNK):
        part = [items[row] for row in order[start : start + CHUNK]]
        paths.append(folder / f"{json_digest([reader.identity, list(layers), part])[:32]}.npy")
        if not paths[-1].exists():
            states = reader.states(part, layers, within(run, start, len(part), len(order)))
            content = io.BytesIO()
            np.save(content, states, allow_pickle=False)
            write_atomically(paths[-1], content.getvalue())

    def states_of(layer: int) -> NDArray[np.float64]:
        rows = np.concatenate([_loaded(path)[:, layers.index(layer)] for path in paths])
        states = np.empty(rows.shape)
        states[order] = rows
        return states

    return states_of


def _loaded(path: Path) -> NDArray[Any]:
    try:
        states: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        message = "is damaged; remove it, and add --resume to read its questions again"
        raise ShroomError(f"{path}: {message}") from error
    return states
