"""What engine.py tells: its tables, what differs too much, and the figures for the first table."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from common import MIB, Beside

from shroom.scoring.display.text import align

if TYPE_CHECKING:
    from collections.abc import Iterator

    Table = list["tuple[str, ...] | None"]

#: What people use, and its name in the tables; p of the others are compared with the first one's.
BATCHED, SINGLE = "pipeline-batched", "pipeline"
PEERS = {
    SINGLE: "pipeline, one by one",
    BATCHED: "pipeline, batches of 32",
    "sentence-transformers": "CrossEncoder.predict",
}
ENGINE = {name: f"engine, {name}" for name in ("float32", "bfloat16")}
ONNX, ALONE = "onnx", "alone"
NAMES = {**PEERS, **ENGINE, ONNX: "the shipped ONNX graph", ALONE: "forward passes alone, float32"}
#: The most that p may differ by from the pipeline's.
EXACT = 1e-4


def report(model: str, found: dict[str, Any]) -> Iterator[str]:
    """Yield the tables of one model."""
    ways, peaks = found["ways"], found["peaks"]
    shown = ", ".join(f"{rate / 1e9:.0f} GFLOP/s in {kind}" for kind, rate in peaks.items())
    yield f"{model}: torch.matmul reaches {shown}"
    head = (
        "",
        "seconds",
        "pairs/s",
        "loading, s",
        "MiB",
        "GFLOP/s",
        "of matmul",
        "max |dp|",
        "mean",
    )
    rows: Table = [head, None]
    n = ways[BATCHED]["seconds"] * median(ways[BATCHED]["rates"])
    for way, one in ways.items():
        rate = median(one["rates"])
        rows.append(
            (
                NAMES[way],
                f"{n / rate:.1f}",
                f"{rate:.1f}",
                "" if one["loading"] is None else f"{one['loading']:.1f}",
                "" if one["peak"] is None else f"{one['peak'] / MIB:.0f}",
                f"{one['flops'] / 1e9:.0f}",
                "" if one["share"] is None else f"{one['share']:.0%}",
                *(("", "") if one["off"] is None else (f"{value:.1e}" for value in one["off"])),
            )
        )
    yield from align(rows)
    peers = [way for way in ways if way in PEERS]
    rows = [("pairs/s beside", *(PEERS[peer] for peer in peers)), None]
    for way in [way for way in ways if way in ENGINE or way == ONNX]:
        rows.append((NAMES[way], *(f"{_ratio(ways, way, peer):.2f}" for peer in peers)))
    yield from ("", *align(rows))


def _ratio(ways: dict[str, Any], way: str, peer: str) -> float:
    """Return how many times as fast a way is as a peer: the median of the rounds."""
    return float(median(a / b for a, b in zip(ways[way]["rates"], ways[peer]["rates"])))


def wrong(model: str, found: dict[str, Any]) -> Iterator[str]:
    """Yield a sentence for each way in float32 that is not the pipeline's."""
    for way, one in found["ways"].items():
        exact = way in PEERS or way == "float32"
        if exact and one["off"] is not None and one["off"][0] > EXACT:
            yield f"DIFFERENT: {model}, {NAMES[way]}: p is up to {one['off'][0]:.2g} off"


def accuracy_table(found: dict[str, Any]) -> Iterator[str]:
    """Yield the table of accuracies on the val split."""
    rows: Table = [("shipped: accuracy on", *found), None]
    exact = {name: ways["float32"] for name, ways in found.items()}
    for way in next(iter(found.values())):
        cells = [f"{ways[way]:.4f}*" for ways in found.values()]
        if way != "float32":
            change = [100 * (ways[way] - exact[name]) for name, ways in found.items()]
            cells = [f"{cell} ({points:+.1f})" for cell, points in zip(cells, change)]
        rows.append((NAMES[way], *cells))
    yield from align(rows)
    yield "in brackets: points more than in float32"
    yield "*: in-sample, as the model was fitted on val; they show what a precision changes alone"


def beside(figures: dict[str, Any]) -> Iterator[Beside]:
    """Yield the shipped graph, and the engine in float32, beside each peer."""
    for model, found in figures.items():
        ways = found["ways"]
        works = {
            ONNX: "pairs through the kit's own model",
            "float32": f"pairs through {model}, float32",
        }
        for way in [way for way in works if way in ways]:
            for peer in [peer for peer in PEERS if peer in ways]:
                ours, theirs = (median(ways[one]["rates"]) for one in (way, peer))
                yield Beside(
                    works[way], PEERS[peer], ours, theirs, _ratio(ways, way, peer), "pairs/s"
                )
