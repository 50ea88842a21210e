"""Whether intervals, tests and ranks hold what they promise, on systems whose truth is known.

Each line of the tables is measured on many made-up data sets (see latent.py):

- coverage: how often a 95% interval of 500 items holds the true value;
- tests of equal systems: p must be uniform (Kolmogorov-Smirnov), or at least not too small;
- power: how often a difference between systems is found in 1500 items, beside what the normal
  approximation of `detectable_difference` promises;
- ranks: how often the interval of a rank holds the true one, and equal systems share a group.
"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import combinations
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import latent
import numpy as np
from common import progress, save, show
from scipy import stats

from shroom.metrics.bootstrap import bca_interval, jackknife, joint_bootstrap, percentile_interval
from shroom.metrics.classification import ACCURACY
from shroom.metrics.correlation import RHO
from shroom.metrics.paired_tests import detectable_difference, holm, randomisation
from shroom.metrics.rank_intervals import groups, rank_intervals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from shroom.metrics.base import Metric

    Array = NDArray[Any]
    Row = dict[str, Any]

SEED = 0
METRICS = (ACCURACY, RHO)
ALPHA, CONFIDENCE = 0.05, 0.95
COVERED = (0.93, 0.97)
UNIFORM = 0.01
#: The true accuracy of the poorer system of a pair, and its true rho.
BASE = {"accuracy": 0.75, "rho": 0.65}


def main() -> int:
    """Measure, print the tables, and return 1 if a promise is not held."""
    options = _options()
    start = time.perf_counter()
    tables = {
        "Coverage of 95% intervals": list(coverage(options)),
        "p-values of equal systems": list(null(options)),
        "Power": list(power(options)),
        "Ranks and groups": list(ranking(options)),
    }
    for title, rows in tables.items():
        show([title, "", *_markdown(rows), ""])
    show([f"{options.sets} data sets a line; {time.perf_counter() - start:.0f} s"])
    save(options.json, {"sets": options.sets, "tables": tables})
    return 0 if all(row["held"] != "no" for rows in tables.values() for row in rows) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=int, default=400, help="data sets a line (default 400)")
    parser.add_argument("--resamples", type=int, default=2000, help="(default 2000)")
    parser.add_argument("--trials", type=int, default=999, help="(default 999)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    options = parser.parse_args()
    if min(options.sets, options.resamples, options.trials) < 10:
        parser.error("sets, resamples and trials are at least 10")
    return options


def coverage(options: argparse.Namespace, n: int = 500) -> Iterator[Row]:
    """Yield how often intervals hold the true value of a metric, and of a difference."""
    for metric in METRICS:
        progress(f"coverage: {metric.name}")
        truth = [BASE[metric.name], BASE[metric.name] + 0.03]
        r = [latent.correlation_for(metric.name, value) for value in truth]
        held: dict[tuple[str, str], list[bool]] = {}
        for seed, (u, seen) in _data_sets(options.sets, n, r):
            rows = [latent.statistics(metric, u, z) for z in seen]
            scores = joint_bootstrap([(metric, part) for part in rows], options.resamples, seed)
            values = [float(metric(part) or 0.0) for part in rows]
            gone = [jackknife(metric, part) for part in rows]
            for what, true, value, drawn, left_out in (
                (metric.name, truth[0], values[0], scores[0], gone[0]),
                (
                    f"difference of {metric.name}",
                    truth[0] - truth[1],
                    values[0] - values[1],
                    scores[0] - scores[1],
                    gone[0] - gone[1],
                ),
            ):
                for kind, ci in (
                    ("percentile", percentile_interval(drawn, CONFIDENCE)),
                    ("BCa", bca_interval(drawn, value, left_out, CONFIDENCE)),
                ):
                    inside = ci is not None and ci[0] - 1e-12 <= true <= ci[1] + 1e-12
                    held.setdefault((what, kind), []).append(inside)
        for (what, kind), inside_all in held.items():
            share = float(np.mean(inside_all))
            yield {
                "interval of": what,
                "kind": kind,
                "n": n,
                "resamples": options.resamples,
                "covers": f"{100 * share:.1f}%",
                "held": _held(COVERED[0] <= share <= COVERED[1]),
            }


def null(options: argparse.Namespace) -> Iterator[Row]:
    """Yield how the p-values of equal systems are distributed."""
    alike = {metric: [latent.correlation_for(metric, BASE[metric])] * 2 for metric in BASE}
    same_rho = [alike["rho"][0], latent.correlation_for("rho", BASE["rho"], binary=True)]
    for what, metric, n, r, digits, judged in (
        # With few items p has few values: its steps are up to 0.1 wide, and no test is uniform.
        ("accuracy", ACCURACY, 500, alike["accuracy"], (None, None), False),
        ("accuracy", ACCURACY, 10_000, alike["accuracy"], (None, None), True),
        ("rho", RHO, 500, alike["rho"], (None, None), True),
        ("rho, p of 1 digit", RHO, 500, alike["rho"], (1, 1), True),
        ("rho, one p is 0 or 1 alone", RHO, 500, same_rho, (None, 0), False),
    ):
        progress(f"equal systems: {what}, {n} items")
        p = _p_values(metric, n, r, options, digits)
        uniform = float(stats.kstest(p, "uniform").pvalue)
        yield {
            "metric": what,
            "n": n,
            "KS p": f"{uniform:.3f}",
            "p ≤ 0.01": f"{100 * np.mean(p <= 0.01):.1f}%",
            "p ≤ 0.05": f"{100 * np.mean(p <= 0.05):.1f}%",
            "p ≤ 0.1": f"{100 * np.mean(p <= 0.1):.1f}%",
            "held": _held(uniform > UNIFORM) if judged else "–",
        }


def power(options: argparse.Namespace, n: int = 1500) -> Iterator[Row]:
    """Yield how often a difference is found, beside what the standard error promises."""
    for metric in METRICS:
        base = BASE[metric.name]
        least = _detectable(metric, base, n)
        before = -1.0
        for difference in sorted([0.0, 0.01, 0.02, 0.04, least]):
            progress(f"power: {metric.name}, {difference:.3f}")
            r = [latent.correlation_for(metric.name, base + more) for more in (0.0, difference)]
            found = float(np.mean(_p_values(metric, n, r, options) <= ALPHA))
            expected = _power(difference, _standard_error(metric, r, n))
            # Three standard errors of a share of so many data sets.
            error = 3 * np.sqrt(expected * (1 - expected) / options.sets)
            yield {
                "metric": metric.name,
                "n": n,
                "true difference": f"{difference:.4f}" + (" (detectable)" * (difference == least)),
                "found": f"{100 * found:.1f}%",
                "promised": f"{100 * expected:.1f}%",
                "held": _held(abs(found - expected) <= error and found >= before),
            }
            before = found


def ranking(options: argparse.Namespace, n: int = 1500, systems: int = 5) -> Iterator[Row]:
    """Yield how often intervals of ranks hold the true ranks, and groups keep equals together."""
    pairs = list(combinations(range(systems), 2))
    for metric in METRICS:
        progress(f"ranks: {metric.name}")
        values = [BASE[metric.name] - 0.02 * place for place in range(systems)]
        r = [latent.correlation_for(metric.name, value) for value in values]
        inside = []
        for seed, (u, seen) in _data_sets(options.sets, n, r):
            scored = [(metric, latent.statistics(metric, u, z)) for z in seen]
            scores = joint_bootstrap(scored, options.resamples // 4, seed).T
            low, high = rank_intervals(scores, scores, CONFIDENCE).T
            places = np.arange(1, systems + 1)
            inside.append(np.mean((low <= places) & (places <= high)))
        share = float(np.mean(inside))
        yield _ranking_row(metric, n, f"{systems} systems, 2 points apart", share, "true rank held")
        together = []
        for seed, (u, seen) in _data_sets(options.sets, n, r[:1] * systems):
            rows = [latent.statistics(metric, u, z) for z in seen]
            order = np.argsort([-float(metric(part) or 0.0) for part in rows], kind="stable")
            p = randomisation(metric, [rows[i] for i in order], pairs, options.trials, seed)
            table = np.ones((systems, systems))
            for (a, b), adjusted in zip(pairs, holm(p)):
                table[a, b] = adjusted
            together.append(groups(table, ALPHA).max() == 1)
        share = float(np.mean(together))
        yield _ranking_row(metric, n, f"{systems} equal systems", share, "all in one group")


def _ranking_row(metric: Metric, n: int, systems: str, share: float, what: str) -> Row:
    return {
        "metric": metric.name,
        "n": n,
        "systems": systems,
        "what": what,
        "share": f"{100 * share:.1f}%",
        "held": _held(share >= COVERED[0]),
    }


def _data_sets(count: int, n: int, r: Sequence[float]) -> Iterator[tuple[int, Any]]:
    """Yield data sets, each with a seed of its own."""
    for child in np.random.SeedSequence(SEED).spawn(count):
        generator = np.random.default_rng(child)
        yield int(generator.integers(1 << 31)), latent.draw(n, r, generator)


def _p_values(
    metric: Metric,
    n: int,
    r: Sequence[float],
    options: argparse.Namespace,
    digits: Sequence[int | None] = (None, None),
) -> Array:
    found = []
    for seed, (u, seen) in _data_sets(options.sets, n, r):
        rows = [latent.statistics(metric, u, z, places) for z, places in zip(seen, digits)]
        found.append(randomisation(metric, rows, [(0, 1)], options.trials, seed)[0])
    return np.array(found)


def _standard_error(metric: Metric, r: Sequence[float], n: int, large: int = 200_000) -> float:
    """Return the standard error of a difference, by the influences of one large sample."""
    assert metric.influence is not None  # noqa: S101 - for mypy
    u, seen = latent.draw(large, r, np.random.default_rng(SEED))
    one, other = (metric.influence(latent.statistics(metric, u, z)) for z in seen)
    return float(np.sqrt(np.sum((one - other) ** 2) * large / n))


def _detectable(metric: Metric, base: float, n: int) -> float:
    """Return the detectable difference, with the standard error that it has itself."""
    least = 0.0
    for _ in range(3):
        r = [latent.correlation_for(metric.name, base + more) for more in (0.0, least)]
        least = detectable_difference(_standard_error(metric, r, n))
    return least


def _power(difference: float, standard_error: float) -> float:
    """Return the chance that a difference is found, where the estimate is normal."""
    normal = NormalDist(difference / standard_error)
    limit = NormalDist().inv_cdf(1 - ALPHA / 2)
    return 1 - normal.cdf(limit) + normal.cdf(-limit)


def _held(true: Any) -> str:
    return "yes" if true else "no"


def _markdown(rows: Sequence[Row]) -> Iterator[str]:
    line: Callable[[Any], str] = lambda cells: "| " + " | ".join(map(str, cells)) + " |"  # noqa: E731
    yield line(rows[0])
    yield line(["---"] * len(rows[0]))
    for row in rows:
        yield line(row.values())


if __name__ == "__main__":
    sys.exit(main())
