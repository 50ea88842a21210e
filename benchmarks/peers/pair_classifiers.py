"""Pairs through one model, by the kit and by its peers.

    python benchmarks/peers/pair_classifiers.py WAY MODEL_FOLDER PAIRS_JSON P_NPY

Writes p of each pair, and prints the seconds that the pairs took after a first batch. WAY is
``pipeline``, ``batches``, ``CrossEncoder``, or a precision of the kit; ``int8`` is the shipped
graph, whatever the folder. Pairs are a list of [task, reference, hyp].
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Triple = tuple[str, str, str]
    Judge = Callable[[Sequence[Triple]], Any]

BATCH = 32


def pipeline_of(folder: str, batch_size: int | None) -> Judge:
    """Use transformers.pipeline, in batches or one by one."""
    from transformers import pipeline

    classify = pipeline("text-classification", model=folder, top_k=None, truncation=True)

    def judge(triples: Sequence[Triple]) -> list[float]:
        inputs = [{"text": f"{task}: {ref}", "text_pair": hyp} for task, ref, hyp in triples]
        found = classify(inputs, batch_size=batch_size) if batch_size else map(classify, inputs)
        return [
            next(one["score"] for one in scores if one["label"] == "contradiction")
            for scores in found
        ]

    return judge


def cross_encoder_of(folder: str) -> Judge:
    """Use sentence_transformers.CrossEncoder.predict, with its defaults."""
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(folder)

    def judge(triples: Sequence[Triple]) -> Any:
        pairs = [(f"{task}: {ref}", hyp) for task, ref, hyp in triples]
        return model.predict(pairs, apply_softmax=True)[:, 1]

    return judge


def kit_of(folder: str, precision: str) -> Judge:
    """Use the kit: its own model in int8, else the folder's by the detector nli."""
    import shroom
    from shroom.core.datapoint import TASKS, Datapoint, Task
    from shroom.inference.run_settings import Run

    own = precision == "int8"
    settings = {} if own else {"model": folder}
    model = shroom.detector("cross-encoder" if own else "nli", reference="tgt", **settings)

    def judge(triples: Sequence[Triple]) -> Any:
        points = [
            Datapoint(hyp=hyp, src="", tgt=ref, task=TASKS[task])
            if own
            else Datapoint(hyp=hyp, src="", tgt=f"{task}: {ref}", task=Task.PG)
            for task, ref, hyp in triples
        ]
        return model.p(points, Run(precision=precision))

    return judge


def main(way: str, folder: str, pairs: str, out: str) -> None:
    """Judge the pairs, write p, and print how long it took."""
    if way != "int8":
        sys.path.append(str(Path(__file__).resolve().parents[1]))
        import shipped  # noqa: F401 - registers the shipped model's class
    triples = [tuple(row) for row in json.loads(Path(pairs).read_text(encoding="utf-8"))]
    if way in ("pipeline", "batches"):
        judge = pipeline_of(folder, BATCH if way == "batches" else None)
    else:
        judge = cross_encoder_of(folder) if way == "CrossEncoder" else kit_of(folder, way)
    judge(triples[:BATCH])
    start = time.perf_counter()
    p = judge(triples)
    print(time.perf_counter() - start)
    np.save(out, np.asarray(p, np.float64))


if __name__ == "__main__":
    main(*sys.argv[1:])
