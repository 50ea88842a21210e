"""Many pairs on many workers: the rate of one core, measured, and what a cluster makes of it.

With --measure DATA, the parts of a worker's work are measured on this machine: seconds of processor
time of one thread, which other work on the machine hardly touches. Without, runs over shards are
simulated: workers that fetch one shard after the other, some of them slow, some of them lost.
"""

from __future__ import annotations

import argparse
import heapq
import json
import math
import os
import random
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Callable

from common import save, show

from shroom.scoring.display.text import align


@dataclass(frozen=True)
class Plan:
    """A run over shards.

    Attributes
    ----------
    pairs : int
        How many pairs are to be judged.
    workers : int
        How many there are, each with one core or one GPU.
    rate : float
        Pairs that one judges in a second.
    shard : int
        Pairs of a shard.
    overhead : float
        Seconds that a shard costs beside: fetching it, telling its outcome.
    start : float
        Seconds from a worker's request to its first shard.
    slow : float
        The share of the workers that run at half the rate.
    life : float
        Hours after which a worker is lost, on average; at random, whatever its age.
    """

    pairs: int
    workers: int
    rate: float
    shard: int = 10_000
    overhead: float = 0.05
    start: float = 60.0
    slow: float = 0.0
    life: float = math.inf

    @property
    def ideal(self) -> float:
        """Seconds of a run without shards, starts, slow workers and losses."""
        return self.pairs / self.rate / self.workers


def simulate(plan: Plan, seed: int) -> tuple[float, int]:
    """Return the seconds of a run, and how many shards were begun again.

    A shard whose worker is lost is begun anew by the next one that is free; a new worker comes in
    its place.
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    shards = [plan.shard] * (plan.pairs // plan.shard)
    shards += [plan.pairs % plan.shard] * bool(plan.pairs % plan.shard)
    shards.reverse()

    def worker(now: float) -> tuple[float, float, float]:
        rate = plan.rate * (0.5 if chance.random() < plan.slow else 1)
        lost = math.inf if math.isinf(plan.life) else chance.expovariate(1 / plan.life / 3600)
        return now + plan.start, rate, now + plan.start + lost

    free = [worker(0.0) for _ in range(plan.workers)]
    heapq.heapify(free)
    ended, again = 0.0, 0
    returned: list[tuple[float, int]] = []  # of lost workers: from when on, and the pairs
    while shards or returned:
        now, rate, lost = heapq.heappop(free)
        if returned and (returned[0][0] <= now or not shards):
            since, pairs = heapq.heappop(returned)
            now = max(now, since)
        else:
            pairs = shards.pop()
        done = now + plan.overhead + pairs / rate
        if lost < done:
            at = max(now, lost)
            heapq.heappush(returned, (at, pairs))
            heapq.heappush(free, worker(at))
            again += lost > now
        else:
            ended = max(ended, done)
            heapq.heappush(free, (done, rate, lost))
    return ended, again


def main() -> int:
    """Measure or simulate, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", type=Path, metavar="DATA", help="measure a worker on a file")
    parser.add_argument("--items", type=int, default=600, help="datapoints (default 600)")
    parser.add_argument("--rate", type=float, default=26.0, help="a worker's (default 26)")
    parser.add_argument(
        "--price", type=float, default=0.04, help="of a worker's hour (default .04)"
    )
    parser.add_argument("--repeats", type=int, default=5, help="of a simulation (default 5)")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    options = parser.parse_args()
    if options.measure:
        save(options.json, measure(options.measure, options.items))
        return 0
    show([f"{options.rate:g} datapoints/s for each worker, {options.price:g} for its hour", ""])
    sizes(options.rate, options.price)
    show([""])
    figures = troubles(options.rate, options.repeats)
    save(options.json, {"rate": options.rate, "troubles": figures})
    return 0


def sizes(rate: float, price: float) -> None:
    """Print what a million and a billion cost, without any trouble."""
    rows: list[tuple[str, ...] | None] = [("pairs", "workers", "hours", "worker-hours", "price")]
    rows.append(None)
    for pairs, workers in ((10**6, 2), (10**6, 64), (10**9, 64), (10**9, 1024), (10**9, 8192)):
        hours = pairs / rate / 3600
        shown = (f"{hours / workers:,.2f}", f"{hours:,.0f}", f"{hours * price:,.2f}")
        rows.append((f"{pairs:,}", f"{workers:,}", *shown))
    show(align(rows))


def troubles(rate: float, repeats: int) -> dict[str, float]:
    """Print what shards' sizes, slow workers and losses cost; return the shares of the ideal."""
    base = Plan(10**8, 256, rate)
    ideal = f"{base.ideal / 3600:.2f} hours"
    head = f"{base.pairs:,} pairs, {base.workers} workers: {ideal} if nothing were lost; medians"
    show([head, ""])
    cases: list[tuple[str, Callable[[Plan], Plan]]] = [
        ("no trouble", lambda plan: plan),
        ("1 worker of 10 at half the rate", lambda plan: replace(plan, slow=0.1)),
        ("a worker is lost every 24 hours", lambda plan: replace(plan, life=24)),
        ("a worker is lost every 2 hours", lambda plan: replace(plan, life=2)),
        ("both, every 2 hours", lambda plan: replace(plan, slow=0.1, life=2)),
    ]
    shards = (100, 1_000, 10_000, 100_000)
    heads = tuple(f"shards of {shard:,}" for shard in shards)
    rows: list[tuple[str, ...] | None] = [("hours (shards begun again)", *heads), None]
    found = {}
    for name, change in cases:
        shown = []
        for shard in shards:
            plan = change(replace(base, shard=shard))
            runs = [simulate(plan, seed) for seed in range(repeats)]
            seconds, again = (median(column) for column in zip(*runs))
            shown.append(f"{seconds / 3600:.2f} ({again:,.0f})")
            found[f"{name}, {shard}"] = plan.ideal / seconds
        rows.append((name, *shown))
    show(align(rows))
    return found


def measure(data: Path, n: int) -> dict[str, float]:
    """Print what the parts of a worker's work take of one core, in the order of the work."""
    os.environ["OMP_NUM_THREADS"] = "1"  # before anything is loaded that reads it
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from shroom.core.atomic_writing import encoded
    from shroom.core.problems import Problems
    from shroom.detectors.cross_encoder.detector import MODEL
    from shroom.detectors.cross_encoder.encoding import Encoding
    from shroom.detectors.cross_encoder.model_folder import ABOUT, TOKENIZER
    from shroom.detectors.pairs import Pairs
    from shroom.detectors.registry import detector
    from shroom.inference.run_settings import RUN
    from shroom.prediction.submission_rows import check_output, made_by
    from shroom.scoring.datapoint_files import DataFile, from_document, read_files
    from shroom.scoring.in_memory import row_of
    from shroom.scoring.input_files import Document

    (file,) = read_files(data)
    points = file.datapoints[:n]
    n = len(points)
    chosen = detector("cross-encoder")
    made_by(chosen, DataFile(file.base, points[:8]), RUN)  # loads the model
    about = json.loads((MODEL / ABOUT).read_text(encoding="utf-8"))
    encoding = Encoding(MODEL / TOKENIZER, about["padding"], about["room"])
    items = Pairs.of(points).items
    content = "".join(json.dumps(row_of(point)) + "\n" for point in points).encode()
    document = Document("shard.jsonl", "shard.jsonl", content)
    text = ""

    def judge() -> None:
        nonlocal text
        text = made_by(chosen, DataFile(file.base, points), RUN)

    def write() -> None:
        check_output({"part.jsonl": encoded("part.jsonl", text).decode()})

    parts: dict[str, Callable[[], object]] = {
        "reading JSON Lines": lambda: from_document(document, Problems()),
        "tokenizing": lambda: encoding(items),
        "judging, tokenizing included": judge,
        "checking and writing": write,
    }
    seconds = {}
    for name, work in parts.items():
        began = time.process_time()
        work()
        seconds[name] = time.process_time() - began
    tokens = sum(pair.shape[1] for pair in encoding(items)[0]) / len(items)
    table: list[tuple[str, ...] | None] = [("of one core", "seconds", "datapoints/s"), None]
    table += [(name, f"{took:.3f}", f"{n / took:,.1f}") for name, took in seconds.items()]
    show([f"{n} datapoints, {len(items)} pairs of {tokens:.1f} tokens on average"])
    show(align(table))
    return {"items": n, **seconds}


if __name__ == "__main__":
    sys.exit(main())
