"""The machine's own peak in matrix products, and the share of it that a model alone reaches.

    python benchmarks/peers/matmul_peak.py MODEL_FOLDER PAIRS_JSON PRECISION

Prints as json the best rate of ``torch.matmul`` before and after, in floating-point operations a
second, and the seconds of the model's forward passes over the pairs, in batches by length, as many
at a time as there are cores.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pair_network  # noqa: F401 - registers the shipped model's class
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from shroom.inference.batching import batches, side_by_side, threads
from shroom.inference.run_settings import RUN

#: Rows, inner and columns: square ones, and what a layer multiplies in a batch of 2048 tokens.
SHAPES = ((1024, 1024, 1024), (2048, 2048, 2048), (2048, 768, 3072), (4096, 4096, 4096))
LARGE = (*SHAPES, (8192, 8192, 8192), (16384, 4096, 4096))
REPEATS = 6


def finish() -> None:
    """Wait until the device has finished."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def peak(dtype: torch.dtype, device: str) -> float:
    """Return the operations a second of the best product."""
    best = 0.0
    for rows, inner, columns in LARGE if device == "cuda" else SHAPES:
        a = torch.randn(rows, inner, dtype=dtype, device=device)
        b = torch.randn(inner, columns, dtype=dtype, device=device)
        torch.matmul(a, b)
        for _ in range(REPEATS):
            finish()
            began = time.perf_counter()
            torch.matmul(a, b)
            finish()
            best = max(best, 2 * rows * inner * columns / (time.perf_counter() - began))
    return best


def forward(folder: str, pairs: str, dtype: torch.dtype, device: str) -> float:
    """Return the seconds of the model alone: no tokenizing, no copying of what it finds."""
    triples = json.loads(Path(pairs).read_text(encoding="utf-8"))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=dtype)
    model.to(device).eval()
    texts = sorted(
        ((f"{task}: {ref}", hyp) for task, ref, hyp in triples),
        key=lambda pair: -len(tokenizer(*pair, truncation=True)["input_ids"]),
    )
    lengths = [len(tokenizer(*pair, truncation=True)["input_ids"]) for pair in texts]
    ready = []
    for batch in batches(lengths, RUN.tokens):
        ones, others = zip(*(texts[place] for place in batch))
        given = {"padding": True, "truncation": True, "return_tensors": "pt"}
        ready.append(tokenizer(list(ones), list(others), **given).to(device))

    def passed(batch: Any) -> None:
        with torch.inference_mode():
            model(**batch)

    passed(ready[0])
    finish()
    with side_by_side(1 if device == "cuda" else threads()) as submit:
        began = time.perf_counter()
        for running in [submit(passed, batch) for batch in ready]:
            running.result()
    finish()
    return time.perf_counter() - began


def main(folder: str, pairs: str, precision: str) -> None:
    """Measure the peak, the model, and the peak again."""
    dtype = getattr(torch, precision)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    before = peak(dtype, device)
    seconds = forward(folder, pairs, dtype, device)
    print(json.dumps({"peak": max(before, peak(dtype, device)), "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
