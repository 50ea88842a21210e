"""The benchmark measures the time to compare and rank 20 made-up systems on 1500 items.

The kit runs `shroom compare` and `shroom leaderboard`, with 10,000 resamples and trials. The peer
runs scipy's bootstrap on one system and on one pair, and scipy's permutation test on one pair. It
does not read files or rank systems. Its time is multiplied to cover all systems, pairs and
resamples. For one pair, the p-values of the kit and of the peer must agree to within four standard
errors.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.stats
from resampling import (
    SCIPY,
    SOME,
    VECTORISED,
    bootstrap_of,
    mean,
    pearson,
    ranked,
    spearman,
    timed,
)
from run import check, figure, main, progress, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Job = tuple[Callable[[], Any], int, int]  # the work, its resamples, how often it is done

#: How many resamples scipy gets for a rho that is not vectorised.
FEWER = 200
TRACK = "val.model-agnostic.json"


def measure(
    systems: int = 20, items: int = 1500, resamples: int = 10_000, repeats: int = 3
) -> Iterator[dict[str, Any]]:
    """Yield the seconds of both commands beside those of scipy."""
    gold, p = made_systems(systems, items)
    runs = commands(gold, p, resamples, repeats)
    check_p(json.loads(runs[0].out)["comparisons"], gold, p, resamples)
    seconds = sum(each.seconds for each in runs)
    for peer, jobs in peer_jobs(gold, p, resamples).items():
        total = 0.0
        for work, count, times in jobs:
            progress(f"{peer}: {count} resamples")
            total += timed(work)[0] * times * resamples / count
        yield figure(f"comparing {systems} systems", seconds, total, peer)


def made_systems(systems: int, items: int) -> tuple[Array, list[Array]]:
    """Return the annotators' proportions, and each system's p, the later the poorer."""
    generator = np.random.default_rng(0)
    leaning = generator.beta(0.8, 1.0, items)
    gold = generator.binomial(5, leaning) / 5
    noise = np.linspace(0.5, 0.9, systems)
    return gold, [
        np.round((1 - part) * leaning + part * generator.random(items), 6) for part in noise
    ]


def commands(gold: Array, systems: list[Array], resamples: int, repeats: int) -> list[Any]:
    """Return the best run of each command."""
    with tempfile.TemporaryDirectory() as folder:
        target, submissions = Path(folder) / "gold.json", Path(folder) / "submissions"
        target.write_text(json.dumps([{"hyp": "h", "tgt": "t", **row} for row in _rows(gold)]))
        places = []
        for number, p in enumerate(systems):
            place = submissions / f"system{number:02}" / TRACK
            place.parent.mkdir(parents=True)
            place.write_text(json.dumps(_rows(p)))
            places.append(place)
        best = []
        for words in (["compare", *places, target], ["leaderboard", submissions, target]):
            progress(f"shroom {words[0]}")
            drawn = ["--resamples", resamples, "--trials", resamples, "--format", "json"]
            command = [sys.executable, "-m", "shroom", *words, *map(str, drawn)]
            best.append(min(run(command) for _ in range(repeats)))
    return best


def _rows(p: Array) -> list[dict[str, Any]]:
    words = ("Not Hallucination", "Hallucination")
    return [{"label": words[value > 0.5], "p(Hallucination)": value} for value in p.tolist()]


def peer_jobs(gold: Array, systems: list[Array], resamples: int) -> dict[str, list[Job]]:
    """Return what scipy has to do, as users write it and with a vectorised rho."""
    a, b, *_ = systems
    right = tuple((p > 0.5) == (gold > 0.5) for p in (a, b))
    ranks = tuple(scipy.stats.rankdata(p) for p in (a, b))
    few, some = min(FEWER, resamples), min(SOME, resamples)
    count = len(systems)
    pairs = count * (count - 1) // 2

    def one_by_one(x: Array, y: Array, truth: Array = gold) -> float:
        return spearman(x, truth) - spearman(y, truth)

    def at_once(x: Array, y: Array, truth: Array, axis: int = -1) -> Array:
        return ranked(x, truth, axis) - ranked(y, truth, axis)

    accuracy: list[Job] = [
        (bootstrap_of(right[:1], mean, resamples), resamples, count),
        (bootstrap_of(right, gap, resamples), resamples, pairs),
        (permutation(right, gap, resamples), resamples, pairs),
    ]
    return {
        SCIPY: [
            *accuracy,
            (bootstrap_of((a, gold), spearman, few), few, count),
            (bootstrap_of((a, b, gold), one_by_one, few), few, pairs),
            (permutation(ranks, one_by_one, few), few, pairs),
        ],
        VECTORISED: [
            *accuracy,
            (bootstrap_of((a, gold), ranked, some), some, count),
            (bootstrap_of((a, b, gold), at_once, some), some, pairs),
            (permutation(ranks, exchanged(gold), resamples), resamples, pairs),
        ],
    }


def check_p(found: list[dict[str, Any]], gold: Array, systems: list[Array], trials: int) -> None:
    """Check that p of a pair of systems is scipy's."""
    one, another = 0, min(3, len(systems) - 1)
    chosen = systems[one], systems[another]
    tests: dict[str, tuple[Any, Any]] = {
        "accuracy": ([(p > 0.5) == (gold > 0.5) for p in chosen], gap),
        "rho": ([scipy.stats.rankdata(p) for p in chosen], exchanged(gold)),
    }
    for row in found:
        if (row["a"], row["b"]) == (f"system{one:02}", f"system{another:02}"):
            theirs = permutation(*tests.pop(row["metric"]), trials)().pvalue
            middle = (theirs + row["p"]) / 2
            error = np.sqrt(2 * middle * (1 - middle) / trials)
            off = abs(theirs - row["p"]) <= 4 * error
            check(off, f"p of {row['metric']}: {row['p']} by the kit, {theirs} by scipy")
    check(not tests, f"no p of {', '.join(tests)} was found")


def permutation(data: Sequence[Array], statistic: Any, count: int) -> Callable[[], Any]:
    """Return scipy's paired randomisation test."""
    return lambda: scipy.stats.permutation_test(
        data,
        statistic,
        permutation_type="samples",
        n_resamples=count,
        batch=1000,
        random_state=np.random.default_rng(0),
    )


def gap(correct: Array, other: Array, axis: int = -1) -> Array:
    """Return the difference of two accuracies along an axis."""
    return mean(correct, axis) - mean(other, axis)


def exchanged(gold: Array) -> Callable[..., Array]:
    """Return the difference of rho for exchanged ranks, which need not be made again."""

    def statistic(x: Array, y: Array, axis: int = -1) -> Array:
        truth = np.moveaxis(scipy.stats.rankdata(gold)[None], -1, axis)
        return pearson(x, truth, axis) - pearson(y, truth, axis)

    return statistic


if __name__ == "__main__":
    sys.exit(main("comparing"))
