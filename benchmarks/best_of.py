"""How well the optimism of a team's best submission is estimated, where the truth is known.

On many made-up data sets (see latent.py) the best of several systems is chosen by its score. What
it scores more than it would on new items is the true optimism; beside it stand the estimates by
halves of the items, which `shroom leaderboard --best-of` uses, and by the usual bootstrap.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

import latent
import numpy as np

from shroom.evaluation.best_of import optimism
from shroom.metrics.bootstrap import joint_bootstrap
from shroom.metrics.classification import ACCURACY
from shroom.metrics.correlation import RHO

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shroom.metrics.base import Metric

    Array = NDArray[Any]

METRICS = {"accuracy": ACCURACY, "rho": RHO}
#: By how much each system is worse than the best one.
FIELDS = {
    "1 alone": [0.0],
    "2 equal": [0.0] * 2,
    "10 equal": [0.0] * 10,
    "30 equal": [0.0] * 30,
    "3 equal, 10 worse by .13": [0.0] * 3 + [0.13] * 10,
    "5 within .02": [0.005 * place for place in range(5)],
    "20 within .10": [0.1 * place / 19 for place in range(20)],
    "1, and 9 worse by .03": [0.0] + [0.03] * 9,
    "1, and 9 worse by .10": [0.0] + [0.1] * 9,
}
BEST = {"accuracy": 0.78, "rho": 0.68}
SEED, SPLITS, RESAMPLES = 0, 200, 400


def main() -> int:
    """Measure, and print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--metric", choices=METRICS, default="accuracy")
    options = parser.parse_args()
    metric = METRICS[options.metric]
    print("| submissions | score less truth | by halves | corrected | by bootstrap | corrected |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, worse in FIELDS.items():
        rows = np.array(trials(metric, np.array(worse), options.items, options.trials))
        true, halves, bootstrap = rows.mean(axis=0)
        cells = (true, halves, true - halves, bootstrap, true - bootstrap)
        print(f"| {name} | {' | '.join(f'{cell:.4f}' for cell in cells)} |", flush=True)
    return 0


def trials(metric: Metric, worse: Array, n: int, count: int) -> list[tuple[float, float, float]]:
    """Return the true optimism, and both estimates of it, on each data set."""
    truth = BEST[metric.name] - worse
    by_truth = {value: latent.correlation_for(metric.name, value) for value in set(truth)}
    generator = np.random.default_rng(SEED)
    rows = []
    for trial in range(count):
        u, seen = latent.draw(n, [by_truth[value] for value in truth], generator)
        systems = [latent.statistics(metric, u, z) for z in seen]
        scores = metric.scores(systems, np.ones((1, n)))[:, 0]
        best = scores.argmax()
        # What all systems score too much in a sample is no optimism; taking it away leaves the
        # mean as it is, and halves its error.
        true = scores[best] - truth[best] - (scores - truth).mean()
        drawn = joint_bootstrap([(metric, rows) for rows in systems], RESAMPLES, trial)
        chosen = drawn.argmax(axis=0)
        bootstrap = np.mean(drawn[chosen, np.arange(RESAMPLES)] - scores[chosen])
        halves = optimism(metric, systems, SPLITS, trial) or 0.0
        rows.append((float(true), halves, float(bootstrap)))
    return rows


if __name__ == "__main__":
    sys.exit(main())
