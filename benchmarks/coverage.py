"""Measure intervals, tests and ranks on simulated systems with known true scores.

    python benchmarks/coverage.py

prints the tables of docs/uncertainty.md and of benchmarks/results/coverage.md; `--only shares`
prints one of them. Each line is measured on many made-up data sets (latent.py). The table `rate`,
of docs/rate.md, draws its items from SHROOM val.
"""

from __future__ import annotations

import argparse
import math
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import latent
import numpy as np
from run import DATA, progress
from scipy import stats

from shroom.core.datapoint import Label
from shroom.detectors.registry import detector
from shroom.metrics.bootstrap import (
    bca_interval,
    bootstrap,
    jackknife,
    joint_bootstrap,
    percentile_interval,
)
from shroom.metrics.classification import ACCURACY, MACRO_F1, counts
from shroom.metrics.cluster_bootstrap import clustered
from shroom.metrics.correlation import RHO
from shroom.metrics.intervals import DEFAULT_INTERVALS, FEWEST, estimates, wilson_interval
from shroom.metrics.paired_tests import detectable_difference, holm, randomisation
from shroom.metrics.prediction_powered import prediction_powered_mean
from shroom.metrics.rank_intervals import groups, rank_intervals
from shroom.scoring.datapoint_files import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from shroom.metrics.base import Metric

    Array = NDArray[Any]
    Row = dict[str, str]

METRICS = (ACCURACY, RHO)
ALPHA, CONFIDENCE = 0.05, 0.95
#: The true accuracy of the poorer system of a pair, and its true rho.
BASE = {"accuracy": 0.75, "rho": 0.65}


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sets", type=int, default=400, help="number of data sets for each line (default 400)"
    )
    parser.add_argument(
        "--resamples", type=int, default=2000, help="number of bootstrap resamples (default 2000)"
    )
    parser.add_argument(
        "--trials", type=int, default=999, help="number of trials of a test (default 999)"
    )
    parser.add_argument(
        "--draws", type=int, default=1000, help="number of draws of a share (default 1000)"
    )
    tables = {it.__name__: it for it in (shares, units, rare, coverage, null, power, ranking, rate)}
    parser.add_argument("--only", choices=tables, help="print only this table")
    options = parser.parse_args()
    for table in [tables[options.only]] if options.only else tables.values():
        progress(table.__name__)
        rows = list(table(options))
        for line in (rows[0], ["---"] * len(rows[0]), *(row.values() for row in rows)):
            print(f"| {' | '.join(line)} |")
        print(flush=True)


def shares(options: argparse.Namespace) -> Iterator[Row]:
    """Yield how often intervals of accuracy hold the true one, and their mean width.

    In brackets, how often percentiles of the bootstrap do.
    """
    generator = np.random.default_rng(0)
    for truth in (0.8, 0.85, 0.9, 0.95, 0.98):
        row = {"accuracy": f"{truth:.2f}"}
        for n in (15, 25, 30, 60, 500):
            right = generator.binomial(n, truth, options.draws)
            ends = [wilson_interval(np.column_stack((np.arange(n) < k, np.ones(n)))) for k in right]
            wilson = np.array(ends)
            # Percentiles of an unlimited number of resamples.
            levels = [[(1 - CONFIDENCE) / 2], [(1 + CONFIDENCE) / 2]]
            percentile = stats.binom.ppf(levels, n, right / n) / n
            shown = f"{share(holds(wilson.T, truth))}, {np.mean(wilson @ [-1, 1]):.3f}"
            row[f"n = {n}"] = f"{shown} ({share(holds(percentile, truth))})"
        yield row


def units(options: argparse.Namespace, count: int = 30, size: int = 8) -> Iterator[Row]:
    """Yield how often intervals hold the true accuracy on the answers to questions.

    Each question has a chance to be answered correctly, drawn from a beta distribution; the
    correlation is that of two answers to one question.
    """
    generator = np.random.default_rng(0)
    unit = np.repeat(np.arange(count), size)
    for truth in (0.6, 0.8, 0.95):
        for correlation in (0.02, 0.2):
            beta = np.array([truth, 1 - truth]) * (1 / correlation - 1)
            held: dict[str, list[bool]] = {}
            for seed in range(options.sets):
                chance = generator.beta(*beta, count)
                right = (generator.random(len(unit)) < chance[unit]).astype(np.float64)[:, None]
                scored = clustered(ACCURACY, right, unit)
                drawn = joint_bootstrap([scored], options.resamples // 4, seed)[0]
                for kind, ci in {
                    "Wilson, by question": estimates([scored], DEFAULT_INTERVALS)[1]["accuracy"],
                    "Wilson, by answer": estimates([(ACCURACY, right)], DEFAULT_INTERVALS)[1][
                        "accuracy"
                    ],
                    "percentile, by question": percentile_interval(drawn, CONFIDENCE),
                }.items():
                    held.setdefault(kind, []).append(bool(ci and holds(ci, truth)))
            row = {"accuracy": f"{truth:.2f}", "correlation": f"{correlation:.2f}"}
            yield {**row, **{kind: share(inside) for kind, inside in held.items()}}


def rare(options: argparse.Namespace) -> Iterator[Row]:
    """Yield how often intervals of macro-F1 hold the true one if few items are positive."""
    for n, positive, recall, specificity in (
        (240, 7, 0.3, 0.97),
        (240, 7, 0.7, 0.95),
        (20, 2, 0.5, 0.9),
        (60, 6, 0.6, 0.9),
        (240, 15, 0.6, 0.9),
        (60, 12, 0.6, 0.9),
        (240, 30, 0.6, 0.9),
    ):
        part = positive / n
        cells = (
            part * recall,
            (1 - part) * (1 - specificity),
            part * (1 - recall),
            (1 - part) * specificity,
        )
        truth = float(MACRO_F1.score(np.eye(4), np.array([cells]))[0])
        generator = np.random.default_rng(0)
        held: dict[str, list[bool]] = {"percentile": [], "BCa": [], "marked": []}
        for seed in range(options.sets):
            gold = generator.random(n) < part
            said = generator.random(n) < np.where(gold, recall, 1 - specificity)
            rows = counts(said, gold)
            drawn = bootstrap(MACRO_F1, rows, options.resamples // 2, seed)
            value = float(MACRO_F1(rows) or 0.0)
            for kind, ci in {
                "percentile": percentile_interval(drawn, CONFIDENCE),
                "BCa": bca_interval(drawn, value, jackknife(MACRO_F1, rows), CONFIDENCE),
            }.items():
                held[kind].append(bool(ci and holds(ci, truth)))
            held["marked"].append(min(gold.sum(), n - gold.sum()) < FEWEST)
        row = {"positive": f"{positive} of {n}", "macro-F1": f"{truth:.2f}"}
        yield {**row, **{kind: share(inside) for kind, inside in held.items()}}


def holds(ends: Any, truth: float) -> Any:
    """Return whether intervals, given as their lower and upper ends, hold the true value."""
    low, high = ends
    return (low <= truth + 1e-12) & (truth <= high + 1e-12)


def coverage(options: argparse.Namespace, n: int = 500) -> Iterator[Row]:
    """Yield how often intervals hold the true value of a metric, and of a difference."""
    for metric in METRICS:
        truth = [BASE[metric.name], BASE[metric.name] + 0.03]
        r = [latent.correlation_for(metric.name, value) for value in truth]
        held: dict[tuple[str, str], list[bool]] = {}
        for seed, (u, seen) in data_sets(options.sets, n, r):
            rows = [latent.statistics(metric, u, z) for z in seen]
            scores = joint_bootstrap([(metric, part) for part in rows], options.resamples, seed)
            values = [float(metric(part) or 0.0) for part in rows]
            gone = [jackknife(metric, part) for part in rows]
            sides = [truth, values, scores, gone]
            for name, (true, value, drawn, left_out) in {
                metric.name: [first for first, _ in sides],
                f"difference of {metric.name}": [first - other for first, other in sides],
            }.items():
                intervals = {
                    "percentile": percentile_interval(drawn, CONFIDENCE),
                    "BCa": bca_interval(drawn, value, left_out, CONFIDENCE),
                }
                for kind, ci in intervals.items():
                    inside = ci is not None and ci[0] - 1e-12 <= true <= ci[1] + 1e-12
                    held.setdefault((name, kind), []).append(inside)
        for (name, kind), inside_all in held.items():
            yield {
                "interval of": name,
                "kind": kind,
                "n": str(n),
                "resamples": str(options.resamples),
                "coverage": share(inside_all),
            }


def null(options: argparse.Namespace) -> Iterator[Row]:
    """Yield how the p-values of equal systems are distributed."""
    alike = {metric: [latent.correlation_for(metric, BASE[metric])] * 2 for metric in BASE}
    same_rho = [alike["rho"][0], latent.correlation_for("rho", BASE["rho"], binary=True)]
    for name, metric, n, r, digits in (
        ("accuracy", ACCURACY, 500, alike["accuracy"], (None, None)),
        ("accuracy", ACCURACY, 10_000, alike["accuracy"], (None, None)),
        ("rho", RHO, 500, alike["rho"], (None, None)),
        ("rho, p of 1 digit", RHO, 500, alike["rho"], (1, 1)),
        ("rho, one p is only 0 or 1", RHO, 500, same_rho, (None, 0)),
    ):
        p = p_values(metric, n, r, options, digits)
        uniform = float(stats.kstest(p, "uniform").pvalue)
        small = {f"p ≤ {limit:g}": share(p <= limit) for limit in (0.01, 0.05, 0.1)}
        yield {"metric": name, "n": f"{n:,}", "KS p": f"{uniform:.3f}", **small}


def power(options: argparse.Namespace, n: int = 1500) -> Iterator[Row]:
    """Yield how often a difference is found, beside what the standard error promises."""
    limit = NormalDist().inv_cdf(1 - ALPHA / 2)
    for metric in METRICS:
        base = BASE[metric.name]
        least = 0.0
        for _ in range(3):  # the standard error depends on the difference itself
            r = [latent.correlation_for(metric.name, base + more) for more in (0.0, least)]
            least = detectable_difference(standard_error(metric, r, n))
        for difference in sorted([0.0, 0.01, 0.02, 0.04, least]):
            r = [latent.correlation_for(metric.name, base + more) for more in (0.0, difference)]
            normal = NormalDist(difference / standard_error(metric, r, n))
            predicted = 1 - normal.cdf(limit) + normal.cdf(-limit)
            yield {
                "metric": metric.name,
                "true difference": f"{difference:.4f}" + " (detectable)" * (difference == least),
                "found": share(p_values(metric, n, r, options) <= ALPHA),
                "predicted": share(predicted),
            }


def ranking(options: argparse.Namespace, n: int = 1500, systems: int = 5) -> Iterator[Row]:
    """Yield how often intervals of ranks hold the true ranks, and groups keep equals together."""
    pairs = list(combinations(range(systems), 2))
    places = np.arange(1, systems + 1)
    for metric in METRICS:
        values = [BASE[metric.name] - 0.02 * place for place in range(systems)]
        r = [latent.correlation_for(metric.name, value) for value in values]
        inside = []
        for seed, (u, seen) in data_sets(options.sets, n, r):
            scored = [(metric, latent.statistics(metric, u, z)) for z in seen]
            scores = joint_bootstrap(scored, options.resamples // 4, seed).T
            low, high = rank_intervals(scores, scores, CONFIDENCE).T
            inside.append(np.mean((low <= places) & (places <= high)))
        row = {"metric": metric.name, "systems": "2 points apart"}
        yield {**row, "what": "the rank's interval holds the true rank", "share": share(inside)}
        together = []
        for seed, (u, seen) in data_sets(options.sets, n, r[:1] * systems):
            rows = [latent.statistics(metric, u, z) for z in seen]
            order = np.argsort([-float(metric(part) or 0.0) for part in rows], kind="stable")
            p = randomisation(metric, [rows[i] for i in order], pairs, options.trials, seed)
            table = np.ones((systems, systems))
            for (a, b), adjusted in zip(pairs, holm(p)):
                table[a, b] = adjusted
            together.append(groups(table, ALPHA).max() == 1)
        row = {"metric": metric.name, "systems": "equal"}
        yield {**row, "what": "all are in one group", "share": share(together)}


def data_sets(count: int, n: int, r: Sequence[float]) -> Iterator[tuple[int, Any]]:
    """Yield data sets, each with a seed of its own."""
    for child in np.random.SeedSequence(0).spawn(count):
        generator = np.random.default_rng(child)
        yield int(generator.integers(1 << 31)), latent.draw(n, r, generator)


def p_values(
    metric: Metric,
    n: int,
    r: Sequence[float],
    options: argparse.Namespace,
    digits: Sequence[int | None] = (None, None),
) -> Array:
    """Return p of the difference of two systems in each data set."""
    found = []
    for seed, (u, seen) in data_sets(options.sets, n, r):
        rows = [latent.statistics(metric, u, z, places) for z, places in zip(seen, digits)]
        found.append(randomisation(metric, rows, [(0, 1)], options.trials, seed)[0])
    return np.array(found)


def standard_error(metric: Metric, r: Sequence[float], n: int, large: int = 200_000) -> float:
    """Return the standard error of a difference, by the influences of one large sample."""
    assert metric.influence is not None  # noqa: S101 - for mypy
    u, seen = latent.draw(large, r, np.random.default_rng(0))
    one, other = (metric.influence(latent.statistics(metric, u, z)) for z in seen)
    return math.sqrt(float(np.sum((one - other) ** 2)) * large / n)


def share(values: Any) -> str:
    """Return the mean in percent."""
    return f"{100 * np.mean(values):.1f}%"


def rate(options: argparse.Namespace, outputs: int = 3000, draws: int = 1000) -> Iterator[Row]:
    """Yield how often intervals of ``shroom rate`` hold the share of hallucinations in outputs.

    The outputs are items of SHROOM val, drawn by label so that they have this share, with the
    lexical detector's out-of-fold p. n of them are labelled at random.
    """
    del options
    names = ("val.model-agnostic.json", "val.model-aware.v2.json")
    points = [point for name in names for point in read(DATA / "semeval2024" / name)]
    label = np.array([point.label is Label.HALLUCINATION for point in points], float)
    p_of_point = detector("lexical").p(points)
    task_of_point = np.array([point.task.name for point in points])
    for share_of_ones in (0.01, 0.02, 0.05, 0.24, 0.95):
        generator = np.random.default_rng(1)
        ones = round(share_of_ones * outputs)
        counts = {1: ones, 0: outputs - ones}
        places = [generator.choice(np.flatnonzero(label == k), counts[k]) for k in counts]
        y, p, task = (
            values[np.concatenate(places)] for values in (label, p_of_point, task_of_point)
        )
        for n in (30, 50, 100):
            held, width, refused = [], [], 0
            for _ in range(draws):
                few, others = np.split(generator.permutation(outputs), [n])
                strata = task[few], task[others]
                if min(np.count_nonzero(strata[0] == name) for name in np.unique(task)) < 2:
                    refused += 1
                    continue
                low, high = prediction_powered_mean(
                    y[few], p[few], p[others], CONFIDENCE, strata
                ).interval
                held.append(low <= share_of_ones <= high)
                width.append(high - low)
            yield {
                "rate": f"{share_of_ones:g}",
                "labels": str(n),
                "coverage": share(held),
                "mean width": f"{np.mean(width):.3f}",
                "refused": str(refused),
            }


if __name__ == "__main__":
    main()
