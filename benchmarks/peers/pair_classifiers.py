"""Pairs through one model, in the ways that people have: the kit's engine and its peers.

    python benchmarks/peers/pair_classifiers.py WAY MODEL_FOLDER PAIRS_JSON P_NPY

Writes p of each pair, and prints as json the seconds that the pairs took, after a first batch, and
those until then. Pairs are a list of [task, reference, hyp].
"""

from __future__ import annotations

import argparse
import json
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
    import pair_network  # noqa: F401 - registers the shipped model's class
    from transformers import pipeline

    classify = pipeline("text-classification", model=folder, top_k=None, truncation=True)

    def inputs(triples: Sequence[Triple]) -> list[dict[str, str]]:
        return [{"text": f"{task}: {ref}", "text_pair": hyp} for task, ref, hyp in triples]

    def p_of(scores: list[dict[str, Any]]) -> float:
        return next(float(one["score"]) for one in scores if one["label"] == "contradiction")

    def one_by_one(triples: Sequence[Triple]) -> list[float]:
        return [p_of(classify(one)) for one in inputs(triples)]

    def batched(triples: Sequence[Triple]) -> list[float]:
        return [p_of(scores) for scores in classify(inputs(triples), batch_size=batch_size)]

    return batched if batch_size else one_by_one


def sentence_transformers_of(folder: str) -> Judge:
    """Use sentence_transformers.CrossEncoder.predict, with its defaults."""
    import pair_network  # noqa: F401
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(folder)

    def judge(triples: Sequence[Triple]) -> Any:
        pairs = [(f"{task}: {ref}", hyp) for task, ref, hyp in triples]
        return model.predict(pairs, apply_softmax=True)[:, 1]

    return judge


def engine_of(folder: str, precision: str, notes: list[str]) -> Judge:
    """Use the kit's engine on the same folder, without a cache."""
    import pair_network  # noqa: F401

    from shroom.detectors.nli import NLI
    from shroom.inference.run_settings import Run

    model = NLI(folder)
    run = Run(precision=precision, note=notes.append)

    def judge(triples: Sequence[Triple]) -> Any:
        pairs = [(f"{task}: {ref}", hyp) for task, ref, hyp in triples]
        return model.probabilities(pairs, run)[:, 2]

    return judge


def shipped_of(notes: list[str]) -> Judge:
    """Use the kit's own detector, whatever the folder: the graph that it ships with."""
    from shroom.core.datapoint import TASKS, Datapoint
    from shroom.detectors.cross_encoder.detector import CrossEncoder
    from shroom.inference.run_settings import Run

    model = CrossEncoder()
    run = Run(note=notes.append)

    def judge(triples: Sequence[Triple]) -> Any:
        points = [Datapoint(hyp=hyp, src="", tgt=ref, task=TASKS[t]) for t, ref, hyp in triples]
        return model.p(points, run)

    return judge


def main() -> None:
    """Judge the pairs, write p, and print how long it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "way", help="pipeline, pipeline-batched, sentence-transformers, onnx, or a precision"
    )
    parser.add_argument("model", help="the model's folder")
    parser.add_argument("pairs", type=Path)
    parser.add_argument("p", type=Path)
    options = parser.parse_args()
    triples = [tuple(row) for row in json.loads(options.pairs.read_text(encoding="utf-8"))]
    notes: list[str] = []
    began = time.perf_counter()
    if options.way.startswith("pipeline"):
        judge = pipeline_of(options.model, BATCH if options.way.endswith("batched") else None)
    elif options.way == "sentence-transformers":
        judge = sentence_transformers_of(options.model)
    elif options.way == "onnx":
        judge = shipped_of(notes)
    else:
        judge = engine_of(options.model, options.way, notes)
    judge(triples[:BATCH])
    loaded = time.perf_counter()
    p = judge(triples)
    seconds = time.perf_counter() - loaded
    np.save(options.p, np.asarray(p, np.float64))
    result = {"seconds": seconds, "loading": loaded - began, "notes": list(dict.fromkeys(notes))}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
