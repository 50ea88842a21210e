"""The benchmark measures the speed of one core, and simulates a run on a cluster.

The speed is the number of datapoints per second of processor time, for `shroom predict` with one
thread and without start-up. In the simulation, 256 workers judge 100,000,000 pairs. One in ten
workers has half the speed, and each worker is lost after two hours on average. Another worker then
starts the shard of the lost worker again. See [Many machines](running.md#many-machines).
"""

from __future__ import annotations

import heapq
import json
import math
import random
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from run import DATA, SAMPLE, figure, main, progress, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAIRS, WORKERS = 10**8, 256
#: Seconds that a shard costs beside, and from a worker's request to its first shard.
OVERHEAD, START = 0.05, 60.0
#: The share of workers at half the rate, and the hours after which a worker is lost, on average.
TROUBLES = {
    "1 of 10 workers slow": (0.1, math.inf),
    "workers lost": (0.0, 2.0),
    "slow and lost workers": (0.1, 2.0),
}


def measure(
    items: int = 400,
    rate: float = 0.0,
    shards: Sequence[int] = (10_000, 100_000),
    repeats: int = 5,
) -> Iterator[dict[str, Any]]:
    """Yield the rate of a core, unless it is given, and the hours of simulated runs."""
    rate = rate or rate_of_a_core(items)
    yield figure("one core", rate, None, "", "datapoints/s")
    ideal = PAIRS / rate / WORKERS / 3600
    for name, (slow, life) in TROUBLES.items():
        for shard in shards:
            runs = [simulate(rate, shard, slow, life, seed) for seed in range(repeats)]
            work = f"{name}, shards of {shard:,}"
            yield figure(work, median(runs) / 3600, ideal, "no slow or lost worker", "hours")


def rate_of_a_core(items: int, few: int = 8) -> float:
    """Return the datapoints that one core judges in a second."""
    path = DATA / "semeval2024" / "test.model-agnostic.json"
    path = path if path.exists() else SAMPLE / "val.model-agnostic.json"
    rows = json.loads(path.read_text(encoding="utf-8"))[:items]
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        for part in (rows, rows[:few]):
            progress(f"judging {len(part)} datapoints with one thread")
            data = Path(folder) / "data.json"
            data.write_text(json.dumps(part), encoding="utf-8")
            words = ["predict", data, "-o", Path(folder) / "p.json", "--no-cache"]
            one = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
            seconds.append(run([sys.executable, "-m", "shroom", *words], **one).cpu)
    return (len(rows) - few) / (seconds[0] - seconds[1])


def simulate(rate: float, shard: int, slow: float, life: float, seed: int) -> float:
    """Return the seconds of a run over shards.

    The shard of a lost worker is begun again by the next free worker, and a new worker comes.
    """
    chance = random.Random(seed)  # noqa: S311 - no secret
    shards = [shard] * (PAIRS // shard)

    def worker(now: float) -> tuple[float, float, float]:
        speed = rate * (0.5 if chance.random() < slow else 1)
        lost = math.inf if math.isinf(life) else chance.expovariate(1 / life / 3600)
        return now + START, speed, now + START + lost

    free = [worker(0.0) for _ in range(WORKERS)]
    heapq.heapify(free)
    ended = 0.0
    returned: list[tuple[float, int]] = []  # of lost workers: from when on, and the pairs
    while shards or returned:
        now, speed, lost = heapq.heappop(free)
        if returned and (returned[0][0] <= now or not shards):
            since, pairs = heapq.heappop(returned)
            now = max(now, since)
        else:
            pairs = shards.pop()
        done = now + OVERHEAD + pairs / speed
        if lost < done:
            at = max(now, lost)
            heapq.heappush(returned, (at, pairs))
            heapq.heappush(free, worker(at))
        else:
            ended = max(ended, done)
            heapq.heappush(free, (done, speed, lost))
    return ended


if __name__ == "__main__":
    sys.exit(main("scale"))
