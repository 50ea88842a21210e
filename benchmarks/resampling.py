"""Speed of the kit's bootstrap of accuracy and rho beside scipy.stats.bootstrap.

Intervals of 1500 made-up items by the percentile method. scipy calls spearmanr once a resample, so
it runs with fewer resamples of rho and its time is scaled; the table shows how many. A second
peer gives scipy a vectorised rho (rankdata along an axis), which few people write.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Callable

import numpy as np
import scipy.stats
from common import Beside, progress, save, show

from shroom.metrics.bootstrap import bootstrap, percentile_interval
from shroom.metrics.classification import ACCURACY
from shroom.metrics.correlation import RHO
from shroom.scoring.display.text import align

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Interval = tuple[float, float]

CONFIDENCE = 0.95
SEED = 0
#: How many standard errors of the ends count as the same interval.
ERRORS = 4
KIT, SCIPY, VECTORISED = "shroom", "scipy", "scipy, vectorised"


def main() -> int:
    """Measure, print the table, and return 1 if intervals differ."""
    options = _options()
    rows = measure(options)
    show(_report(rows, options))
    figures = {"items": options.items, "resamples": options.resamples, "rows": rows}
    save(options.json, figures, _beside(rows, options))
    return 0 if all(row["agrees"] for row in rows) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--items", type=int, default=1500, help="(default 1500)")
    parser.add_argument("--resamples", type=int, default=10_000, help="(default 10000)")
    parser.add_argument(
        "--scipy-resamples",
        type=int,
        default=300,
        help="of rho by scipy, whose time is scaled (default 300; vectorised 1000)",
    )
    parser.add_argument(
        "--repeats", type=int, default=3, help="of which the best counts (default 3)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    options = parser.parse_args()
    if min(options.items, options.scipy_resamples) < 20 or options.resamples < 20:
        parser.error("items and resamples are at least 20")
    if options.repeats < 1:
        parser.error("repeats are at least 1")
    return options


def items(n: int) -> tuple[Array, Array, Array, Array]:
    """Return label, p, gold label and gold p of made-up items, as the task has them.

    Five annotators vote, so the gold's p has six values; p has six digits and knows a part of it.
    """
    generator = np.random.default_rng(SEED)
    leaning = generator.beta(0.8, 1.0, n)
    gold_p = generator.binomial(5, leaning) / 5
    p = np.round((leaning + generator.random(n)) / 2, 6)
    return (p > 0.5).astype(np.int8), p, (gold_p > 0.5).astype(np.int8), gold_p


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return a row for each metric and peer."""
    label, p, gold_label, gold_p = items(options.items)
    fewer = min(options.scipy_resamples, options.resamples)
    some = min(1000, options.resamples)
    rows = []
    for metric, peers in (
        (ACCURACY, ((SCIPY, (label, gold_label), _accuracy, options.resamples),)),
        (
            RHO,
            (
                (SCIPY, (p, gold_p), _spearmanr, fewer),
                (VECTORISED, (p, gold_p), _ranked, some),
            ),
        ),
    ):
        progress(f"{metric.name}: {KIT}, {options.resamples} resamples")
        seconds, scores = _timed(
            # The statistics (for rho, the sorting) belong to the work.
            lambda metric=metric: bootstrap(
                metric,
                metric.statistics(label, p, gold_label, gold_p),
                options.resamples,
                SEED,
            ),
            options.repeats,
        )
        interval = percentile_interval(scores, CONFIDENCE)
        spread = float(np.nanstd(scores))
        row = _row(metric.name, KIT, options.resamples, seconds, options.resamples)
        rows.append({**row, "interval": interval, "apart": 0.0, "agrees": True})
        for name, data, statistic, count in peers:
            progress(f"{metric.name}: {name}, {count} resamples")
            seconds, result = _timed(
                lambda data=data, statistic=statistic, count=count: _scipy(data, statistic, count),
                options.repeats,
            )
            apart = _apart(interval, result, spread, (options.resamples, count))
            row = _row(metric.name, name, count, seconds, options.resamples)
            rows.append({**row, "interval": result, "apart": apart, "agrees": apart <= ERRORS})
    return rows


def _row(metric: str, name: str, count: int, seconds: float, resamples: int) -> dict[str, Any]:
    scaled = seconds * resamples / count
    return {"metric": metric, "by": name, "run": count, "measured": seconds, "seconds": scaled}


def _timed(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the best time of some runs, and the result."""
    times, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def _scipy(data: tuple[Array, Array], statistic: Callable[..., Any], count: int) -> Interval:
    result = scipy.stats.bootstrap(
        data,
        statistic,
        paired=True,
        vectorized=statistic is not _spearmanr,
        n_resamples=count,
        confidence_level=CONFIDENCE,
        method="percentile",
        random_state=np.random.default_rng(SEED + 1),
    ).confidence_interval
    return float(result.low), float(result.high)


def _accuracy(label: Array, gold_label: Array, axis: int) -> Array:
    return np.asarray(np.mean(label == gold_label, axis=axis))


def _spearmanr(p: Array, gold_p: Array) -> float:
    return float(scipy.stats.spearmanr(p, gold_p).correlation)


def _ranked(p: Array, gold_p: Array, axis: int) -> Array:
    """Return Spearman's rho along an axis."""
    x, y = (scipy.stats.rankdata(values, axis=axis) for values in (p, gold_p))
    dx, dy = (ranks - ranks.mean(axis=axis, keepdims=True) for ranks in (x, y))
    sxy, sxx, syy = ((a * b).sum(axis=axis) for a, b in ((dx, dy), (dx, dx), (dy, dy)))
    return np.asarray(sxy / np.sqrt(sxx * syy))


def _apart(ours: Interval, theirs: Interval, spread: float, counts: tuple[int, int]) -> float:
    """Return how far two intervals are apart, in Monte-Carlo standard errors of an end.

    The q-quantile of B draws has the standard error sqrt(q (1 - q) / B) / density(q); the density
    is taken as normal, with the spread of the resamples.
    """
    q = (1 - CONFIDENCE) / 2
    density = NormalDist().pdf(NormalDist().inv_cdf(q)) / spread
    error = math.sqrt(sum(q * (1 - q) / count for count in counts)) / density
    return max(abs(a - b) for a, b in zip(ours, theirs)) / error


def _report(rows: list[dict[str, Any]], options: argparse.Namespace) -> Iterator[str]:
    yield (
        f"{options.resamples} resamples of {options.items} items, "
        f"{CONFIDENCE:.0%} percentile intervals; best of {options.repeats}"
    )
    ours = {row["metric"]: row["seconds"] for row in rows if row["by"] == KIT}
    table: list[tuple[str, ...] | None] = [
        ("", "seconds", "it / shroom", "resamples run", "interval", "apart"),
        None,
    ]
    for row in rows:
        is_kit = row["by"] == KIT
        low, high = row["interval"]
        table.append(
            (
                f"{row['metric']}: {row['by']}",
                f"{row['seconds']:.3f}" + ("*" if row["run"] != options.resamples else " "),
                "" if is_kit else f"{row['seconds'] / ours[row['metric']]:.1f}",
                str(row["run"]),
                f"[{low:.4f}, {high:.4f}]",
                "" if is_kit else f"{row['apart']:.1f}",
            )
        )
    yield from align(table)
    if any(row["run"] != options.resamples for row in rows):
        yield f"* from fewer resamples, scaled to {options.resamples}"
    how = "agree" if all(row["agrees"] for row in rows) else "DIFFER"
    yield f"apart: Monte-Carlo standard errors between the ends; the intervals {how} (to {ERRORS})"


def _beside(rows: list[dict[str, Any]], options: argparse.Namespace) -> Iterator[Beside]:
    ours = {row["metric"]: row["seconds"] for row in rows if row["by"] == KIT}
    for row in rows:
        if row["by"] != KIT:
            work = f"{options.resamples:,} bootstrap resamples of {row['metric']}"
            kit, peer = ours[row["metric"]], row["seconds"]
            yield Beside(work, row["by"].replace(SCIPY, "scipy.stats"), kit, peer, peer / kit)


if __name__ == "__main__":
    sys.exit(main())
