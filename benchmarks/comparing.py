"""Speed and memory of comparing 20 systems on 1500 items, beside scipy on the same work.

The work: for accuracy and rho the interval of each system and of each pair's difference from 10,000
resamples, and the p-value of each pair from 10,000 trials of the paired randomisation test. The kit
does it by two commands, each a fresh process that reads the submissions: `shroom compare`, and
`shroom leaderboard`, which adds the intervals of the ranks and the groups.

scipy.stats.bootstrap and scipy.stats.permutation_test run on one system or pair, with fewer
resamples of what is not vectorised; their time is scaled to all systems, pairs and resamples, and
leaves out reading, ranks and groups. Of rho they call spearmanr, as their users would write it; a
second peer gives them a vectorised rho (rankdata along an axis), which few people write.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

import numpy as np
import scipy.stats
from common import MIB, Beside, Run, progress, run, save, show

from shroom.scoring.display.text import align

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[Any]

SEED = 0
#: The aims: seconds, MiB, and how many times faster than scipy.
SECONDS, PEAK, RATIO = 20.0, 1500.0, 30.0
#: How many resamples scipy gets for what it does one by one, and for a vectorised rho.
FEWER, SOME = 200, 1000
#: How many standard errors of two Monte-Carlo figures count as the same.
ERRORS = 4
TRACK = "val.model-agnostic.json"


@dataclass(frozen=True)
class Job:
    """One thing that scipy does for a system or a pair, and how many of them there are."""

    name: str
    work: Callable[[int], Any]
    times: int
    count: int


def main() -> int:
    """Measure, print the tables, and return 1 if an aim is missed or the results differ."""
    options = _options()
    gold, systems = made_up(options)
    kit, found = measure_kit(options, gold, systems)
    peers = {name: measure(jobs) for name, jobs in peer_jobs(options, gold, systems).items()}
    apart = max(differences(options, found, gold, systems))
    seconds = sum(each.seconds for each in kit.values())
    peak = max(each.peak for each in kit.values()) / MIB
    show(_report(options, kit, peers, apart))
    figures = {name: {**vars(each), "out": ""} for name, each in kit.items()}
    totals = {name: sum(row["seconds"] for row in rows) for name, rows in peers.items()}
    work = f"comparing {options.systems} systems: intervals, differences, p-values"
    beside = [
        Beside(work, name.replace("scipy", "scipy.stats"), seconds, total, total / seconds)
        for name, total in totals.items()
    ]
    save(options.json, {"kit": figures, "peers": peers, "apart": apart}, beside)
    least = min(totals.values()) / seconds
    return 0 if seconds < SECONDS and peak < PEAK and least > RATIO and apart < ERRORS else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--systems", type=int, default=20, help="(default 20)")
    parser.add_argument("--items", type=int, default=1500, help="(default 1500)")
    parser.add_argument("--resamples", type=int, default=10_000, help="(default 10000)")
    parser.add_argument("--repeats", type=int, default=3, help="the best counts (default 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    options = parser.parse_args()
    if min(options.items, options.resamples) < 20 or options.systems < 2 or options.repeats < 1:
        parser.error("items and resamples are at least 20, systems 2, repeats 1")
    return options


def made_up(options: argparse.Namespace) -> tuple[Array, list[Array]]:
    """Return the annotators' proportions, and each system's p, the later the poorer."""
    generator = np.random.default_rng(SEED)
    leaning = generator.beta(0.8, 1.0, options.items)
    gold = generator.binomial(5, leaning) / 5
    noise = np.linspace(0.5, 0.9, options.systems)
    return gold, [
        np.round((1 - part) * leaning + part * generator.random(options.items), 6) for part in noise
    ]


def measure_kit(
    options: argparse.Namespace, gold: Array, systems: list[Array]
) -> tuple[dict[str, Run], dict[str, Any]]:
    """Return the best run of each command, and what the first one found."""
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / "gold.json"
        target.write_text(json.dumps([{"hyp": "h", "tgt": "t", **row} for row in _rows(gold)]))
        places = []
        for number, p in enumerate(systems):
            place = Path(scratch) / "submissions" / f"system{number:02}" / TRACK
            place.parent.mkdir(parents=True)
            place.write_text(json.dumps(_rows(p)))
            places.append(place)
        drawn = ("--resamples", str(options.resamples), "--format", "json")
        trials = ("--trials", str(options.resamples))
        shroom = (sys.executable, "-m", "shroom")
        kit = {}
        for name, command in {
            "shroom compare": (*shroom, "compare", *places, target, *drawn, *trials),
            "shroom leaderboard": (
                *shroom,
                "leaderboard",
                places[0].parent.parent,
                target,
                *drawn,
                *trials,
            ),
        }.items():
            progress(name)
            runs = [run(list(map(str, command))) for _ in range(options.repeats)]
            kit[name] = min(runs, key=lambda each: each.seconds)
    return kit, json.loads(kit["shroom compare"].out)


def _rows(p: Array) -> list[dict[str, Any]]:
    words = ("Not Hallucination", "Hallucination")
    return [{"label": words[value > 0.5], "p(Hallucination)": value} for value in p.tolist()]


def peer_jobs(
    options: argparse.Namespace, gold: Array, systems: list[Array]
) -> dict[str, list[Job]]:
    """Return what scipy has to do, as users write it and with a vectorised rho."""
    a, b, *_ = systems
    right, other = ((p > 0.5) == (gold > 0.5) for p in (a, b))
    ranks = [scipy.stats.rankdata(p) for p in (a, b)]
    count = len(systems)
    pairs = count * (count - 1) // 2
    every, few, some = (min(options.resamples, most) for most in (options.resamples, FEWER, SOME))
    accuracy = [
        Job("accuracy: bootstrap", _bootstrap((right,), _mean), count, every),
        Job("accuracy: bootstrap of a difference", _bootstrap((right, other), _gap), pairs, every),
        Job("accuracy: permutation_test", _permutation((right, other), _gap), pairs, every),
    ]

    def one_by_one(x: Array, y: Array, truth: Array = gold) -> float:
        return _spearman(x, truth) - _spearman(y, truth)

    def at_once(x: Array, y: Array, truth: Array = gold, axis: int = -1) -> Array:
        return _ranked(x, truth, axis) - _ranked(y, truth, axis)

    def exchanged(x: Array, y: Array, axis: int = -1) -> Array:
        # Ranks are exchanged, so they need not be made again.
        truth = np.moveaxis(scipy.stats.rankdata(gold)[None], -1, axis)
        return _pearson(x, truth, axis) - _pearson(y, truth, axis)

    slow, quick = {"vectorized": False}, {"vectorized": True}
    pair = (a, b, gold)
    return {
        "scipy": [
            *accuracy,
            Job("rho: bootstrap", _bootstrap((a, gold), _spearman, **slow), count, few),
            Job("rho: bootstrap of a difference", _bootstrap(pair, one_by_one, **slow), pairs, few),
            Job("rho: permutation_test", _permutation(ranks, one_by_one, **slow), pairs, few),
        ],
        "scipy, vectorised": [
            *accuracy,
            Job("rho: bootstrap", _bootstrap((a, gold), _ranked, **quick), count, some),
            Job("rho: bootstrap of a difference", _bootstrap(pair, at_once, **quick), pairs, some),
            Job("rho: permutation_test", _permutation(ranks, exchanged, **quick), pairs, every),
        ],
    }


def measure(jobs: list[Job]) -> list[dict[str, Any]]:
    """Return what each job takes for one system or pair, and scaled to all."""
    rows = []
    for job in jobs:
        progress(f"scipy: {job.name}, {job.count} resamples")
        start = time.perf_counter()
        job.work(job.count)
        taken = time.perf_counter() - start
        rows.append({"job": job.name, "resamples": job.count, "times": job.times, "taken": taken})
    whole = max(job.count for job in jobs)
    return [
        {**row, "seconds": row["taken"] * row["times"] * whole / row["resamples"]} for row in rows
    ]


def differences(
    options: argparse.Namespace, found: dict[str, Any], gold: Array, systems: list[Array]
) -> Iterator[float]:
    """Yield how far the kit and scipy are apart on one pair's p, in standard errors."""
    one, another = 0, min(3, len(systems) - 1)
    names = f"system{one:02}", f"system{another:02}"
    a, b = systems[one], systems[another]
    right = [(p > 0.5) == (gold > 0.5) for p in (a, b)]
    ranks = [scipy.stats.rankdata(p) for p in (a, b)]
    truth = scipy.stats.rankdata(gold)
    tests = {
        "accuracy": (right, _gap),
        "rho": (ranks, lambda x, y, axis: _pearson(x, truth, axis) - _pearson(y, truth, axis)),
    }
    for comparison in found["comparisons"]:
        if (comparison["a"], comparison["b"]) != names:
            continue
        data, statistic = tests[comparison["metric"]]
        p = _permutation(data, statistic)(options.resamples).pvalue
        mean = (p + comparison["p"]) / 2
        yield abs(p - comparison["p"]) / np.sqrt(2 * mean * (1 - mean) / options.resamples)


def _bootstrap(data: tuple[Array, ...], statistic: Any, **how: Any) -> Callable[[int], Any]:
    return lambda count: scipy.stats.bootstrap(
        data,
        statistic,
        paired=True,
        n_resamples=count,
        method="percentile",
        batch=1000,
        random_state=np.random.default_rng(SEED),
        **how,
    )


def _permutation(data: Any, statistic: Any, **how: Any) -> Callable[[int], Any]:
    return lambda count: scipy.stats.permutation_test(
        data,
        statistic,
        permutation_type="samples",
        n_resamples=count,
        batch=1000,
        random_state=np.random.default_rng(SEED),
        **how,
    )


def _mean(correct: Array, axis: int = -1) -> Array:
    return np.asarray(np.mean(correct, axis=axis))


def _gap(correct: Array, other: Array, axis: int = -1) -> Array:
    return np.asarray(np.mean(correct, axis=axis) - np.mean(other, axis=axis))


def _spearman(x: Array, y: Array) -> float:
    return float(scipy.stats.spearmanr(x, y).correlation)


def _ranked(x: Array, y: Array, axis: int = -1) -> Array:
    return _pearson(*(scipy.stats.rankdata(side, axis=axis) for side in (x, y)), axis)


def _pearson(x: Array, y: Array, axis: int = -1) -> Array:
    dx, dy = (side - side.mean(axis=axis, keepdims=True) for side in (x, y))
    squares = np.sum(dx * dx, axis=axis) * np.sum(dy * dy, axis=axis)
    return np.asarray(np.sum(dx * dy, axis=axis) / np.sqrt(squares))


def _report(
    options: argparse.Namespace,
    kit: dict[str, Run],
    peers: dict[str, list[dict[str, Any]]],
    apart: float,
) -> Iterator[str]:
    yield (
        f"{options.systems} systems, {options.items} items, {options.resamples} resamples and "
        f"trials; best of {options.repeats}"
    )
    whole = sum(each.seconds for each in kit.values())
    table: list[tuple[str, ...] | None] = [("", "seconds", "cpu s", "MiB"), None]
    for name, each in kit.items():
        figures = (f"{each.seconds:.1f}", f"{each.cpu:.1f}", f"{each.peak / MIB:.0f}")
        table.append((name, *figures))
    table.append(("both", f"{whole:.1f}", f"{sum(each.cpu for each in kit.values()):.1f}", ""))
    yield from align(table)
    for name, rows in peers.items():
        yield ""
        table = [(name, "one, s", "resamples", "times", "all, s"), None]
        for row in rows:
            counts = (str(row["resamples"]), str(row["times"]))
            table.append((row["job"], f"{row['taken']:.2f}", *counts, f"{row['seconds']:.0f}"))
        total = sum(row["seconds"] for row in rows)
        table.append(("all", "", "", "", f"{total:.0f}"))
        yield from align(table)
        yield f"{name} / shroom: {total / whole:.0f}"
    yield ""
    yield f"p-values of kit and scipy on one pair: at most {apart:.1f} standard errors apart"


if __name__ == "__main__":
    sys.exit(main())
