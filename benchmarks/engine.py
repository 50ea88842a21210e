"""Speed of the inference engine beside peers: one model, the same pairs, each way in turn.

The pairs are the 1500 of test.model-agnostic.json (the target or else the source, and the
hypothesis) where the real data are at hand, else those of the sample. Each way runs in a process
of its own; its seconds are those of the pairs alone, after loading and a first batch. Exit code 1
if p in float32 differs from that of transformers.pipeline by more than 1e-4.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from common import progress, run, save, show
from engine_tables import (
    ALONE,
    BATCHED,
    ENGINE,
    EXACT,
    NAMES,
    ONNX,
    PEERS,
    SINGLE,
    accuracy_table,
    beside,
    report,
    wrong,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

ROOT = Path(__file__).parent.parent
HERE = ROOT / "benchmarks"


@dataclass(frozen=True)
class Bench:
    """What all runs share.

    Attributes
    ----------
    scratch, models : Path
        The folders of pairs and results, and of models.
    description : dict
        What ``pair_models.py`` reports about the models and the machine.
    n, stride : int
        How many pairs there are; one of ``stride`` goes through the pipeline one by one.
    rounds : int
        How often each way is run.
    """

    scratch: Path
    models: Path
    description: dict[str, Any]
    n: int
    stride: int
    rounds: int

    def judged(self, way: str, model: str, pairs: str) -> tuple[dict[str, Any], NDArray[Any]]:
        """Return what one way of judging pairs took, and p."""
        progress(f"{model}: {NAMES[way]}, {pairs}")
        out = self.scratch / "p.npy"
        peer = HERE / "peers" / "pair_classifiers.py"
        one = run([sys.executable, peer, way, self.models / model, self.scratch / pairs, out])
        return {**json.loads(one.out.splitlines()[-1]), "peak": one.peak}, np.load(out)

    def alone(self, model: str, precision: str) -> dict[str, Any]:
        """Return the seconds of forward passes alone, and the rate of matrix products."""
        progress(f"{model}: matrix products and forward passes in {precision}")
        peer = HERE / "peers" / "matmul_peak.py"
        pairs = self.scratch / "all.json"
        found = run([sys.executable, peer, self.models / model, pairs, precision])
        return dict(json.loads(found.out.splitlines()[-1]))

    def step(self, way: str) -> int:
        """Return every which pair a way judges."""
        return self.stride if way == SINGLE else 1

    def ways(self, model: str) -> list[str]:
        """Return the ways of judging by a model; those of usual sizes are measured on CUDA."""
        sixteen = ["bfloat16"] * self.description["bfloat16"]
        if model.startswith("roberta"):
            return [BATCHED, *sixteen]
        return [*PEERS, "float32", *sixteen, *[ONNX] * (model == "shipped")]


def main() -> int:
    """Measure and print the tables; return 1 where a way finds something else."""
    options = _options()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        name, triples = _pairs()
        triples = triples[: options.pairs]
        stride = max(1, len(triples) // options.single)
        _write(scratch / "all.json", triples)
        _write(scratch / "some.json", triples[::stride])
        models = options.models or scratch / "models"
        progress("making the models")
        made = run([sys.executable, HERE / "pair_models.py", models, scratch / "all.json"])
        description = json.loads(made.out.splitlines()[-1])
        bench = Bench(scratch, models, description, len(triples), stride, options.rounds)
        show(_introduction(bench, name))
        figures = {}
        for model in description["models"]:
            figures[model] = measure(bench, model)
            show(["", *report(model, figures[model])])
        different = [text for model, found in figures.items() for text in wrong(model, found)]
        accuracy = accuracies(bench) if options.val else {}
        if accuracy:
            show(["", *accuracy_table(accuracy)])
    show(["", *(different or [f"in float32, p is the pipeline's to {EXACT:g}"])])
    description.pop("models")
    description = {
        "pairs": bench.n,
        "single": len(triples[::stride]),
        "rounds": bench.rounds,
        **description,
    }
    save(options.json, {**description, "models": figures, "accuracy": accuracy}, beside(figures))
    return 1 if different else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="(default 3)")
    parser.add_argument("--pairs", type=int, help="the first ones alone, for a quicker look")
    parser.add_argument("--single", type=int, default=300, help="one by one (default 300)")
    parser.add_argument("--val", action="store_true", help="the accuracy on the val split too")
    parser.add_argument("--models", type=Path, metavar="FOLDER", help="keep the models there")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    return parser.parse_args()


def measure(bench: Bench, model: str) -> dict[str, Any]:
    """Return for each way its seconds, rates, share of the machine's peak, and difference in p."""
    cost = bench.description["models"][model]["flop"]
    ways = bench.ways(model)
    kinds = ["float32", *["bfloat16"] * bench.description["bfloat16"]]
    runs: dict[str, list[dict[str, Any]]] = {way: [] for way in [*ways, ALONE]}
    peaks: dict[str, list[float]] = {kind: [] for kind in kinds}
    p: dict[str, NDArray[Any]] = {}
    for _ in range(bench.rounds):
        for kind in kinds:
            alone = bench.alone(model, kind)
            peaks[kind].append(alone["peak"])
            if kind == "float32":
                runs[ALONE].append(alone)
        for way in ways:
            one, p[way] = bench.judged(way, model, "some.json" if way == SINGLE else "all.json")
            runs[way].append(one)
    found = {}
    for way, taken in runs.items():
        step = bench.step(way)
        rates = [len(cost[::step]) / one["seconds"] for one in taken]
        flops = [sum(cost[::step]) / one["seconds"] for one in taken]
        kind = "bfloat16" if way == "bfloat16" else "float32"
        shares = [flop / peak for flop, peak in zip(flops, peaks[kind])]
        off = np.abs(p[way] - p[BATCHED][::step]) if way in p else None
        found[way] = {
            "rates": rates,
            "seconds": median(one["seconds"] for one in taken),
            "loading": median(one["loading"] for one in taken) if way != ALONE else None,
            "peak": max(one["peak"] for one in taken) if way != ALONE else None,
            "flops": median(flops),
            "share": None if way == ONNX else median(shares),
            "off": None if off is None else [float(off.max()), float(off.mean())],
            "notes": taken[-1].get("notes", []),
        }
    return {"ways": found, "peaks": {kind: median(each) for kind, each in peaks.items()}}


def accuracies(bench: Bench) -> dict[str, Any]:
    """Return the shipped model's accuracy on both tracks of val in each way, where there is val."""
    from shroom.core.datapoint import Label
    from shroom.detectors.pairs import Pairs
    from shroom.metrics.classification import accuracy
    from shroom.scoring.datapoint_files import read_files

    found: dict[str, Any] = {}
    for name in ("val.model-agnostic.json", "val.model-aware.v2.json"):
        if not (_data() / name).is_file():
            continue
        (file,) = read_files(_data() / name)
        points = file.datapoints
        gold = np.array([point.label is Label.HALLUCINATION for point in points])
        pairs = Pairs.of(points)
        _write(bench.scratch / name, pairs.items)
        found[name] = {}
        for way in [*(way for way in bench.ways("shipped") if way in ENGINE), ONNX]:
            p = pairs.best(bench.judged(way, "shipped", name)[1])
            found[name][way] = accuracy(p > 0.5, gold)
    return found


def _introduction(bench: Bench, name: str) -> Iterator[str]:
    description = bench.description
    single = -(-bench.n // bench.stride)
    tokens = description["tokens"]
    yield f"{bench.n} pairs of {name}, {tokens} tokens; medians of {bench.rounds} rounds"
    yield f"one by one: {single} of them, evenly spaced, and the seconds scaled to all"
    if description["cut"]:
        yield f"{description['cut']} pairs are longer than the models read"
    if description["cuda"]:
        yield f"on {description['cuda']}"
    off = f"{description['shipped_off']:.1g}"
    yield f"shipped, in torch: p is at most {off} off the shipped graph's with float32 products"


def _data() -> Path:
    return Path(os.environ.get("SHROOM_DATA") or ROOT.parent / "shared" / "data") / "semeval2024"


def _pairs() -> tuple[str, list[tuple[str, str, str]]]:
    """Return the name of the file of pairs, and task, reference and hypothesis of each."""
    path = _data() / "test.model-agnostic.json"
    if not path.is_file():
        path = ROOT / "shroom" / "sample" / "val.model-agnostic.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    return path.name, [(row["task"], row["tgt"] or row["src"], row["hyp"]) for row in rows]


def _write(path: Path, triples: Sequence[tuple[str, str, str]]) -> None:
    path.write_text(json.dumps(triples), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
