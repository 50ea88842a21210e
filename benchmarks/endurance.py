"""The benchmark compares an uninterrupted run with a run that is killed and resumed three times.

Both runs must return the same p to six decimals. After the first minute, the memory use of a
process may differ from its median by at most 10%.
"""

from __future__ import annotations

import gzip
import json
import math
import random
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from run import DATA, MIB, SAMPLE, check, figure, main, progress, watch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: How far the memory may be off its median, in percent.
ALLOWED = 10.0
#: The last tenth of a run is not killed, since the second run may be that much faster.
LAST = 0.9


def measure(
    n: int = 100_000,
    kills: int = 3,
    settle: float = 60.0,
    detector: Sequence[str] = (),
    data: Sequence[str | Path] = (),
) -> Iterator[dict[str, Any]]:
    """Yield the seconds of both runs, and the memory; ``settle`` is when that counts."""
    train = sorted((DATA / "semeval2024").glob("train.*.json*"))
    files = data or train or [SAMPLE / "val.model-agnostic.json"]
    with tempfile.TemporaryDirectory(prefix="shroom-bench-") as scratch:
        folder = Path(scratch)
        write_data(folder / "data.json", files, n)
        command = [sys.executable, "-m", "shroom", "predict", *detector, folder / "data.json"]
        command = [*map(str, command), "--no-cache", "-o"]
        whole = pieces([*command, str(folder / "whole.json")], [], settle)
        seconds = sum(each["seconds"] for each in whole)
        killed = pieces([*command, str(folder / "killed.json")], moments(kills, seconds), settle)
        check_runs(killed, kills, folder)
    lost = sum(each["seconds"] for each in killed)
    times = "once" if kills == 1 else f"{kills} times"
    yield figure(f"{n:,} datapoints, killed {times}", lost, seconds, "uninterrupted run")
    off = [each["off"] for each in (*whole, *killed) if each["off"] is not None]
    if off:
        check(max(off) <= ALLOWED, f"memory is not constant: {max(off):.1f}% off its median")
        yield figure("largest deviation of memory from its median", max(off), ALLOWED, "limit", "%")
    yield figure("peak memory", max(each["peak"] for each in (*whole, *killed)), None, "", "MiB")


def pieces(command: list[str], kills: list[float], settle: float) -> list[dict[str, Any]]:
    """Return the figures of each process of a run that is killed at moments of its time."""
    found: list[dict[str, Any]] = []
    spent = 0.0
    for number, moment in enumerate([*kills, math.inf]):
        resume = ["--resume"] if number else []
        watched = watch([*command, *resume], every=1.0, kill=moment - spent)
        held = [size / MIB for second, size in watched.memory if second >= settle]
        off = None
        if held:
            off = max(max(held) - median(held), median(held) - min(held)) / median(held) * 100
        peak = max((size / MIB for _, size in watched.memory), default=0.0)
        found.append(
            {"seconds": watched.seconds, "killed": watched.killed, "off": off, "peak": peak}
        )
        progress(f"process {number + 1}: {watched.seconds:.0f} s, at most {peak:.0f} MiB")
        spent += watched.seconds
        if not watched.killed:
            break
    return found


def moments(kills: int, seconds: float, seed: int = 0) -> list[float]:
    """Return when to kill a run of this length: one random moment in each equal part of it."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    return [(part + chance.random()) / kills * LAST * seconds for part in range(kills)]


def check_runs(killed: list[dict[str, Any]], kills: int, folder: Path) -> None:
    """Check that a run was killed as often as asked, and found what the uninterrupted run found."""
    times = sum(each["killed"] for each in killed)
    check(times == kills, f"killed only {times} of {kills} times, because the run ended earlier")
    runs = [json.loads((folder / name).read_text()) for name in ("whole.json", "killed.json")]
    one, other = ([row["p(Hallucination)"] for row in rows] for rows in runs)
    same = len(one) == len(other) and all(abs(a - b) < 1.5e-6 for a, b in zip(one, other))
    check(same, "the resumed run returned a different p")


def write_data(place: Path, files: Sequence[str | Path], n: int) -> int:
    """Write ``n`` datapoints whose texts are all different; return how many are real.

    If there are too few, each stands beside the hypothesis of the next row of its task as well,
    then of the next but one.
    """
    real: dict[tuple[str, ...], dict[str, str]] = {}
    for path in map(Path, files):
        content = path.read_bytes()
        for row in json.loads(gzip.decompress(content) if path.suffix == ".gz" else content):
            kept = {key: row[key] for key in ("hyp", "src", "tgt", "ref", "task") if key in row}
            for key in ("hyp", "src", "tgt"):  # a row of the train split has NaN as its source
                kept[key] = kept[key] if isinstance(kept.get(key), str) else ""
            src, tgt, hyp = kept["src"], kept["tgt"], kept["hyp"]
            if hyp.strip() and (src.strip() or tgt.strip()):
                real.setdefault((src, tgt, hyp), kept)
    rows = list(real.values())
    found = dict(real)
    for row in _mixed(rows):
        if len(found) >= n:
            break
        found.setdefault((row["src"], row["tgt"], row["hyp"]), row)
    check(len(found) >= n, f"the data makes {len(found)} different datapoints, not {n}")
    count = min(n, len(rows))
    spread = [rows[number * len(rows) // count] for number in range(count)]
    made = [*spread, *list(found.values())[len(rows) :]][:n]
    place.write_text(json.dumps(made), encoding="utf-8")
    return count


def _mixed(rows: Sequence[dict[str, str]]) -> Iterator[dict[str, str]]:
    """Yield the rows with another hypothesis of their task, until each stood beside each."""
    by_task = sorted(rows, key=lambda row: row["task"])
    tasks = [list(group) for _, group in groupby(by_task, key=lambda row: row["task"])]
    for step in range(1, max(map(len, tasks), default=0)):
        for group in tasks:
            for row, other in zip(group, group[step:] + group[:step]):
                yield {**row, "hyp": other["hyp"]}


if __name__ == "__main__":
    sys.exit(main("endurance"))
