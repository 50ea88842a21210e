"""The benchmark measures the speed of the kit's own model on `test.model-agnostic.json`.

`int8` is the ONNX model in the package, which `shroom predict` uses by default. `float32` and
`bfloat16` are the same weights in torch, run by the detector `nli`. The peers run these weights
with `transformers.pipeline`, or with `CrossEncoder.predict` of sentence-transformers. Each speed is
the median of three rounds on the 1500 pairs (on 300 pairs for "one by one"), and excludes the time
to load the model. In float32, the kit's p and the peer's p must agree to within 0.0001.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from run import DATA, HERE, MIB, SAMPLE, check, figure, main, progress, run

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The peers, and their names; p of the first is what others are compared with.
PEERS = {
    "batches": "pipeline, batches of 32",
    "pipeline": "pipeline, one by one",
    "CrossEncoder": "CrossEncoder.predict",
}
KIT = ("int8", "float32", "bfloat16")
_BFLOAT16 = """
import torch
cpu = torch.cpu.get_capabilities()
print(torch.cuda.is_available() or cpu.get("avx512_bf16") or cpu.get("amx_bf16") or False)
"""


def measure(pairs: int = 1500, single: int = 300, rounds: int = 3) -> Iterator[dict[str, Any]]:
    """Yield the rate of each way of the kit beside each peer, and the memory."""
    path = DATA / "semeval2024" / "test.model-agnostic.json"
    path = path if path.exists() else SAMPLE / "val.model-agnostic.json"
    rows = json.loads(path.read_text(encoding="utf-8"))[:pairs]
    triples = [(row["task"], row["tgt"] or row["src"], row["hyp"]) for row in rows]
    step = max(1, len(triples) // single)
    has_bfloat16 = run([sys.executable, "-c", _BFLOAT16]).out.strip() == "True"
    ways = [*PEERS, *(way for way in KIT if way != "bfloat16" or has_bfloat16)]
    rates: dict[str, list[float]] = {way: [] for way in ways}
    peaks: dict[str, float] = {}
    p: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        progress("writing the model")
        run([sys.executable, HERE / "shipped.py", folder / "model"])
        for name, chosen in (("all", triples), ("some", triples[::step])):
            (folder / name).write_text(json.dumps(chosen), encoding="utf-8")
        for number in range(rounds):
            for way in ways:
                progress(f"round {number + 1} of {rounds}: {way}")
                few = way == "pipeline"
                script, out = HERE / "peers" / "pair_classifiers.py", folder / "p.npy"
                data = folder / ("some" if few else "all")
                found = run([sys.executable, script, way, folder / "model", data, out])
                p[way] = np.load(out)
                rates[way].append(len(p[way]) / float(found.out.split()[-1]))
                peaks[way] = max(found.peak / MIB, peaks.get(way, 0.0))
    for way in ("pipeline", "CrossEncoder", "float32"):
        reference = p["batches"][:: step if way == "pipeline" else 1]
        off = float(np.abs(p[way] - reference).max())
        check(off <= 1e-4, f"{way}: p differs by up to {off:.2g} from p of the pipeline")
    for way in (way for way in ways if way in KIT):
        if way != "float32":
            off = float(np.abs(p[way] - p["batches"]).max())
            yield figure(f"{way}, largest difference in p from the pipeline", off, None, "", "")
        for peer, name in PEERS.items():
            ratio = median(a / b for a, b in zip(rates[way], rates[peer]))
            ours, theirs = median(rates[way]), median(rates[peer])
            yield figure(way, ours, theirs, name, "pairs/s", ratio)
    yield figure("int8, peak memory", peaks["int8"], peaks["pipeline"], PEERS["pipeline"], "MiB")


if __name__ == "__main__":
    sys.exit(main("engine"))
